// Compiled once per CPU variant, without fused products: see exact_kernels.hpp.
#include "labelgrove/exact_kernels.hpp"

#include "lanes.hpp"

namespace labelgrove {
namespace {

struct MarginsAndVariances {
  const BFloat16* const* rows;
  const float* x;
  std::size_t n;
  std::size_t state;
  float* margins;
  float* variances;

  template <int N, int M>
  void run(std::size_t at) const {
    V<N> even[M]{};
    V<N> odd[M]{};
    V<N> even_variance[M]{};
    V<N> odd_variance[M]{};
    std::size_t j = 0;
    for (; j + 1 < n; j += 2) {
      const V<N> x0 = all<N>(x[j]);
      const V<N> x1 = all<N>(x[j + 1]);
      for (int k = 0; k < M; ++k) {
        const BFloat16* w0 = rows[j] + at + k * N;
        const BFloat16* w1 = rows[j + 1] + at + k * N;
        even[k] += x0 * load<N>(w0);
        odd[k] += x1 * load<N>(w1);
        even_variance[k] += (x0 * x0) * load<N>(w0 + state);
        odd_variance[k] += (x1 * x1) * load<N>(w1 + state);
      }
    }
    if (j < n) {
      const V<N> x0 = all<N>(x[j]);
      for (int k = 0; k < M; ++k) {
        const BFloat16* w0 = rows[j] + at + k * N;
        even[k] += x0 * load<N>(w0);
        even_variance[k] += (x0 * x0) * load<N>(w0 + state);
      }
    }
    for (int k = 0; k < M; ++k) {
      store<N>(margins + at + k * N, even[k] + odd[k]);
      store<N>(variances + at + k * N, even_variance[k] + odd_variance[k]);
    }
  }
};

struct Arow {
  BFloat16* const* rows;
  const float* x;
  const std::uint32_t* noise;
  std::size_t n;
  std::size_t state;
  const float* step;
  float inverse_r;

  template <int N, int M>
  void run(std::size_t at) const {
    // One vector at a time: most tiles hold no column that learns, and those that do hold few.
    for (int k = 0; k < M; ++k) {
      const V<N> s = load<N>(step + at + k * N);
      const auto learns = s != 0.0F;
      bool any = false;
      for (int i = 0; i < N; ++i) any = any || learns[i];
      if (!any) continue;
      const V<N> weight = (V<N>)(learns & (typename Pack<N>::Int)all<N>(inverse_r));  // 0 where nothing is learnt
      for (std::size_t j = 0; j < n; ++j) {
        const V<N> xj = all<N>(x[j]);
        BFloat16* w = rows[j] + at + k * N;
        const V<N> variance = load<N>(w + state);
        const V<N> sx = variance * xj;
        store<N>(w, load<N>(w) + s * sx, noise[j] & 0xFFFFU);
        store<N>(w + state, variance / (1.0F + (sx * xj) * weight), noise[j] >> 16);
      }
    }
  }
};

// exp(v) for |v| <= 87: 2^k times a polynomial on [-ln2/2, ln2/2], relative error below 3e-7.
template <int N>
inline V<N> exponential(V<N> v) {
  const V<N> rounder = all<N>(12582912.0F);  // 1.5 * 2^23: adding it rounds to an integer
  const V<N> shifted = v * 1.44269504F + rounder;
  const V<N> k = shifted - rounder;
  const V<N> r = (v - k * 0.693359375F) - k * -2.12194440e-4F;
  V<N> p = all<N>(1.9875691500e-4F);
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  const auto bits = (__builtin_convertvector(k, typename Pack<N>::Int) + 127) << 23;
  return p * (V<N>)bits;
}

struct Sigmoid {
  const float* in;
  float* out;

  template <int N, int M>
  void run(std::size_t at) const {
    for (int k = 0; k < M; ++k) {
      const V<N> z = load<N>(in + at + k * N);
      const V<N> low = all<N>(-87.0F);
      const V<N> high = all<N>(87.0F);
      const V<N> clipped = z > high ? high : (z < low ? low : z);
      store<N>(out + at + k * N, 1.0F / (1.0F + exponential<N>(-clipped)));
    }
  }
};

struct Exponential {
  const float* in;
  float* out;

  template <int N, int M>
  void run(std::size_t at) const {
    for (int k = 0; k < M; ++k) {
      const V<N> z = load<N>(in + at + k * N);
      const V<N> low = all<N>(-87.0F);
      store<N>(out + at + k * N, exponential<N>(z < low ? low : z));
    }
  }
};

void margins(const BFloat16* const* rows, const float* x, std::size_t n, std::size_t columns, float* out) {
  for_each_tile(columns, Margins<const BFloat16* const*>{rows, x, n, out});
}
void margins_and_variances(const BFloat16* const* rows, const float* x, std::size_t n, std::size_t columns,
                           std::size_t state, float* margins, float* variances) {
  for_each_tile(columns, MarginsAndVariances{rows, x, n, state, margins, variances});
}
void arow(BFloat16* const* rows, const float* x, const std::uint32_t* noise, std::size_t n, std::size_t columns,
          std::size_t state, const float* step, float inverse_r) {
  for_each_tile(columns, Arow{rows, x, noise, n, state, step, inverse_r});
}
void sigmoid(const float* in, std::size_t n, float* out) { for_each_tile(n, Sigmoid{in, out}); }
void exponential(const float* in, std::size_t n, float* out) { for_each_tile(n, Exponential{in, out}); }

}  // namespace

extern const ExactKernels LABELGROVE_CONCAT(exact_kernels_, LABELGROVE_KERNEL_VARIANT);
const ExactKernels LABELGROVE_CONCAT(exact_kernels_, LABELGROVE_KERNEL_VARIANT){margins, margins_and_variances, arow,
                                                                                sigmoid, exponential};

}  // namespace labelgrove
