// Compiled once per CPU variant: see exact_kernels.hpp.
#include "labelgrove/exact_kernels.hpp"

#include "lanes.hpp"

namespace labelgrove {
namespace {

// Whether any of the N numbers at p is not 0. Most tiles hold no column that learns, and those that do hold few.
template <int N>
inline bool any(const float* p) {
  bool found = false;
  for (int i = 0; i < N; ++i) found |= p[i] != 0.0F;
  return found;
}

// Row j's variances, from column `at` on.
inline const Variance* variances_of(const BFloat16* row, std::size_t state, std::size_t at) {
  return reinterpret_cast<const Variance*>(row + state) + at;
}

struct Variances {
  const BFloat16* const* rows;
  const float* x;
  std::size_t n;
  std::size_t state;
  const float* wanted;
  float* out;

  template <int N, int M>
  void run(std::size_t at) const {
    for (const std::size_t end = at + N * M; at < end; at += N) {
      if (!any<N>(wanted + at)) continue;
      V<N> even{};
      V<N> odd{};
      std::size_t j = 0;
      for (; j + 1 < n; j += 2) {
        even += all<N>(x[j] * x[j]) * load<N>(variances_of(rows[j], state, at));
        odd += all<N>(x[j + 1] * x[j + 1]) * load<N>(variances_of(rows[j + 1], state, at));
      }
      if (j < n) even += all<N>(x[j] * x[j]) * load<N>(variances_of(rows[j], state, at));
      store<N>(out + at, even + odd);
    }
  }
};

template <bool kShrinks>  // whether variances do
struct Arow {
  BFloat16* const* rows;
  const float* x;
  const std::uint32_t* noise;
  std::size_t n;
  std::size_t state;
  const float* step;
  const float* evidence;

  template <int N, int M>
  void run(std::size_t at) const {
    for (const std::size_t end = at + N * M; at < end; at += N) {
      if (!any<N>(step + at)) continue;
      const V<N> s = load<N>(step + at);
      V<N> weight = {};  // 0 where nothing is learnt
      if constexpr (kShrinks) weight = (V<N>)((s != 0.0F) & (typename Pack<N>::Int)load<N>(evidence + at));
      for (std::size_t j = 0; j < n; ++j) {
        const V<N> xj = all<N>(x[j]);
        BFloat16* w = rows[j] + at;
        auto* its = const_cast<Variance*>(variances_of(rows[j], state, at));
        const V<N> variance = load<N>(its);
        const V<N> sx = variance * xj;
        const typename Pack<N>::Bits drawn = noise[j] - typename Pack<N>::Bits{};
        store<N>(w, load<N>(w) + s * sx, drawn & 0xFFFFU);
        if constexpr (kShrinks) store<N>(its, variance / (1.0F + (sx * xj) * weight), rounding_up(noise[j] >> 16));
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

// The largest lane.
template <int N>
inline float largest_of(V<N> v) {
  float lanes[Pack<N>::kBytes / sizeof(float)];
  std::memcpy(lanes, &v, sizeof v);
  for (int half = N / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lanes[i] = lanes[i + half] > lanes[i] ? lanes[i + half] : lanes[i];
  }
  return lanes[0];
}

struct HingeSteps {
  const float* margins;
  const float* targets;
  const float* softness;
  const float* duals;
  float square;
  float* changes;
  float* steps;
  float* worst;

  template <int N, int M>
  void run(std::size_t at) const {
    V<N> most{};
    for (const std::size_t end = at + N * M; at < end; at += N) {
      const V<N> y = load<N>(targets + at);
      const V<N> soft = load<N>(softness + at);
      const V<N> a = load<N>(duals + at);
      const V<N> gain = (1.0F - y * load<N>(margins + at)) - a * soft;
      const V<N> towards = gain / (square + soft);
      const V<N> change = -a < towards ? towards : -a;
      store<N>(changes + at, change);
      store<N>(steps + at, change * y);
      const V<N> size = (V<N>)((typename Pack<N>::Int)gain & 0x7FFFFFFF);
      const V<N> violation = a > 0.0F ? size : gain;
      most = violation > most ? violation : most;
    }
    const float found = largest_of<N>(most);
    *worst = found > *worst ? found : *worst;
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
void variances(const BFloat16* const* rows, const float* x, std::size_t n, std::size_t columns, std::size_t state,
               const float* wanted, float* out) {
  for_each_tile(columns, Variances{rows, x, n, state, wanted, out});
}
void arow(BFloat16* const* rows, const float* x, const std::uint32_t* noise, std::size_t n, std::size_t columns,
          std::size_t state, const float* step, const float* evidence) {
  if (evidence != nullptr) for_each_tile(columns, Arow<true>{rows, x, noise, n, state, step, evidence});
  else for_each_tile(columns, Arow<false>{rows, x, noise, n, state, step, evidence});
}
void sigmoid(const float* in, std::size_t n, float* out) { for_each_tile(n, Sigmoid{in, out}); }
float hinge_steps(const float* margins, const float* targets, const float* softness, const float* a, float square,
                  std::size_t columns, float* changes, float* steps) {
  float worst = 0.0F;
  for_each_tile(columns, HingeSteps{margins, targets, softness, a, square, changes, steps, &worst});
  return worst;
}
void exponential(const float* in, std::size_t n, float* out) { for_each_tile(n, Exponential{in, out}); }

}  // namespace

extern const ExactKernels LABELGROVE_CONCAT(exact_kernels_, LABELGROVE_KERNEL_VARIANT);
const ExactKernels LABELGROVE_CONCAT(exact_kernels_, LABELGROVE_KERNEL_VARIANT){margins, variances,   arow,
                                                                                sigmoid, hinge_steps, exponential};

}  // namespace labelgrove
