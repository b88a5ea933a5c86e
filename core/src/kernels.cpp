// Compiled once per CPU variant with LABELGROVE_KERNEL_VARIANT set to its name; see kernels.hpp for the contracts.
#include "labelgrove/kernels.hpp"

#include <cstdint>
#include <cstring>

#include "lanes.hpp"

#define LABELGROVE_STRING_(a) #a
#define LABELGROVE_STRING(a) LABELGROVE_STRING_(a)

namespace labelgrove {
namespace {

// Rows given by number, in one table.
template <typename Float>
struct TableRows {
  Float* table;
  std::size_t stride;
  const std::uint32_t* numbers;
  Float* operator[](std::size_t j) const { return table + numbers[j] * stride; }
};

// Sums along a run use this many lanes on every processor.
constexpr int kRunLanes = 8;

// The sum of all lanes, by repeated halving.
template <int N>
inline float sum_of(V<N> v) {
  float lanes[Pack<N>::kBytes / sizeof(float)];
  std::memcpy(lanes, &v, sizeof v);
  for (int half = N / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

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

void margins(const float* const* rows, const float* x, std::size_t n, std::size_t columns, float* out) {
  margins_of(rows, x, n, columns, out);
}

void adagrad(float* const* rows, const float* x, std::size_t n, std::size_t columns, std::size_t state,
             const float* gradient, float rate, float epsilon) {
  for_each_tile(columns, [=]<int N, int M>(std::size_t at) {
    V<N> g[M];
    for (int k = 0; k < M; ++k) g[k] = load<N>(gradient + at + k * N);
    const V<N> eps = all<N>(epsilon);
    const V<N> most = all<N>(kLargestSquareSum);
    for (std::size_t j = 0; j < n; ++j) {
      const V<N> xj = all<N>(x[j]);
      for (int k = 0; k < M; ++k) {
        float* w = rows[j] + at + k * N;
        const V<N> gx = g[k] * xj;
        const V<N> grown = load<N>(w + state) + gx * gx;
        const V<N> sum = grown < most ? grown : most;
        store<N>(w + state, sum);
        store<N>(w, load<N>(w) - rate * gx / square_root<N>(eps + sum));
      }
    }
  });
}

template <typename Rows>
inline void add_to_rows(Rows rows, const float* x, std::size_t n, std::size_t columns, const float* step) {
  for_each_tile(columns, [=]<int N, int M>(std::size_t at) {
    V<N> s[M];
    for (int k = 0; k < M; ++k) s[k] = load<N>(step + at + k * N);
    for (std::size_t j = 0; j < n; ++j) {
      float* w = rows[j] + at;
      for (int k = 0; k < M; ++k) store<N>(w + k * N, load<N>(w + k * N) + s[k] * all<N>(x[j]));
    }
  });
}

void add_scaled(float* const* rows, const float* x, std::size_t n, std::size_t columns, const float* step) {
  add_to_rows(rows, x, n, columns, step);
}

void table_margins(const float* table, std::size_t stride, const std::uint32_t* rows, const float* x, std::size_t n,
                   std::size_t columns, float* out) {
  margins_of(TableRows<const float>{table, stride, rows}, x, n, columns, out);
}

void table_add_scaled(float* table, std::size_t stride, const std::uint32_t* rows, const float* x, std::size_t n,
                      std::size_t columns, const float* step) {
  add_to_rows(TableRows<float>{table, stride, rows}, x, n, columns, step);
}

float run_margin(const float* weights, const float* x, std::size_t n) {
  float sum = 0.0F;
  for_each_tile<kRunLanes>(n, [weights, x, &sum]<int N, int M>(std::size_t at) {
    V<N> products{};
    for (int k = 0; k < M; ++k) products += load<N>(x + at + k * N) * load<N>(weights + at + k * N);
    sum += sum_of<N>(products);
  });
  return sum;
}

void run_margin_and_variance(const float* weights, const float* x, std::size_t n, std::size_t state, float* margin,
                             float* variance) {
  *margin = *variance = 0.0F;
  for_each_tile<kRunLanes>(n, [=]<int N, int M>(std::size_t at) {
    V<N> products{};
    V<N> variances{};
    for (int k = 0; k < M; ++k) {
      const V<N> xs = load<N>(x + at + k * N);
      products += xs * load<N>(weights + at + k * N);
      variances += xs * xs * load<N>(weights + state + at + k * N);
    }
    *margin += sum_of<N>(products);
    *variance += sum_of<N>(variances);
  });
}

void run_arow(float* weights, const float* x, std::size_t n, std::size_t state, float step, float inverse_r) {
  for_each_tile(n, [=]<int N, int M>(std::size_t at) {
    for (int k = 0; k < M; ++k) {
      float* w = weights + at + k * N;
      const V<N> xs = load<N>(x + at + k * N);
      const V<N> variance = load<N>(w + state);
      const V<N> sx = variance * xs;
      store<N>(w, load<N>(w) + step * sx);
      store<N>(w + state, variance / (1.0F + sx * xs * inverse_r));
    }
  });
}

void sigmoid(const float* in, std::size_t n, float* out) {
  for_each_tile(n, [=]<int N, int M>(std::size_t at) {
    for (int k = 0; k < M; ++k) {
      const V<N> z = load<N>(in + at + k * N);
      const V<N> low = all<N>(-87.0F);
      const V<N> high = all<N>(87.0F);
      const V<N> clipped = z > high ? high : (z < low ? low : z);
      store<N>(out + at + k * N, 1.0F / (1.0F + exponential<N>(-clipped)));
    }
  });
}

float hinge_steps(const float* margins, const float* targets, const float* softness, const float* duals, float square,
                  std::size_t columns, float* changes, float* steps) {
  float worst = 0.0F;
  for_each_tile(columns, [=, &worst]<int N, int M>(std::size_t at) {
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
    worst = found > worst ? found : worst;
  });
  return worst;
}

void exponential(const float* in, std::size_t n, float* out) {
  for_each_tile(n, [=]<int N, int M>(std::size_t at) {
    for (int k = 0; k < M; ++k) {
      const V<N> z = load<N>(in + at + k * N);
      const V<N> low = all<N>(-87.0F);
      store<N>(out + at + k * N, exponential<N>(z < low ? low : z));
    }
  });
}

}  // namespace

extern const Kernels LABELGROVE_CONCAT(kernels_, LABELGROVE_KERNEL_VARIANT);
const Kernels LABELGROVE_CONCAT(kernels_, LABELGROVE_KERNEL_VARIANT){LABELGROVE_STRING(LABELGROVE_KERNEL_VARIANT),
                                                                     margins,
                                                                     adagrad,
                                                                     add_scaled,
                                                                     table_margins,
                                                                     table_add_scaled,
                                                                     run_margin,
                                                                     run_margin_and_variance,
                                                                     run_arow,
                                                                     sigmoid,
                                                                     hinge_steps,
                                                                     exponential};

}  // namespace labelgrove
