// Compiled once per CPU variant with LABELGROVE_KERNEL_VARIANT set to its name; see kernels.hpp for the contracts.
#include "labelgrove/kernels.hpp"

#include <cstdint>
#include <cstring>

#include "lanes.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <xmmintrin.h>
#else
#include <cmath>
#endif

#define LABELGROVE_STRING_(a) #a
#define LABELGROVE_STRING(a) LABELGROVE_STRING_(a)

namespace labelgrove {
namespace {

// 1 / sqrt(v): the CPU's estimate, refined by one Newton step to about the last bit of a float.
template <int N>
inline V<N> inverse_sqrt(V<N> v) {
#if defined(__SSE2__)
  V<N> r;
#if defined(__AVX512VL__)
  if constexpr (N == 16) r = (V<N>)_mm512_maskz_rsqrt14_ps(0xffff, (__m512)v);
  if constexpr (N == 8) r = (V<N>)_mm256_rsqrt14_ps((__m256)v);
  if constexpr (N <= 4) r = (V<N>)_mm_rsqrt14_ps((__m128)v);
#else
#if defined(__AVX2__)
  if constexpr (N == 8) r = (V<N>)_mm256_rsqrt_ps((__m256)v);
#endif
  if constexpr (N <= 4) r = (V<N>)_mm_rsqrt_ps((__m128)v);
#endif
  return r * plus_product<N>(all<N>(1.5F), -0.5F * v * r, r);
#else
  for (int i = 0; i < N; ++i) v[i] = 1.0F / std::sqrt(v[i]);
  return v;
#endif
}

// Rows that are numbered, side by side in one table.
template <typename Float>
struct TableRows {
  Float* table;
  std::size_t stride;
  const std::uint32_t* numbers;
  Float* operator[](std::size_t j) const { return table + numbers[j] * stride; }
};

struct AdaGrad {
  float* const* rows;
  const float* x;
  std::size_t n;
  std::size_t state;
  const float* gradient;
  float rate;
  float epsilon;

  template <int N, int M>
  void run(std::size_t at) const {
    V<N> g[M];
    for (int k = 0; k < M; ++k) g[k] = load<N>(gradient + at + k * N);
    const V<N> eps = all<N>(epsilon);
    const V<N> most = all<N>(kLargestSquareSum);
    for (std::size_t j = 0; j < n; ++j) {
      const V<N> xj = all<N>(x[j]);
      for (int k = 0; k < M; ++k) {
        float* w = rows[j] + at + k * N;
        const V<N> gx = g[k] * xj;
        const V<N> grown = plus_product<N>(load<N>(w + state), gx, gx);
        const V<N> sum = grown < most ? grown : most;
        store<N>(w + state, sum);
        store<N>(w, plus_product<N>(load<N>(w), -rate * gx, inverse_sqrt<N>(eps + sum)));
      }
    }
  }
};

template <typename Rows>
struct AddScaled {
  Rows rows;
  const float* x;
  std::size_t n;
  const float* step;

  template <int N, int M>
  void run(std::size_t at) const {
    V<N> s[M];
    for (int k = 0; k < M; ++k) s[k] = load<N>(step + at + k * N);
    for (std::size_t j = 0; j < n; ++j) {
      float* w = rows[j] + at;
      for (int k = 0; k < M; ++k) store<N>(w + k * N, plus_product<N>(load<N>(w + k * N), s[k], all<N>(x[j])));
    }
  }
};

// The sum of all lanes, in halves.
template <int N>
inline float sum_of(V<N> v) {
  float lanes[Pack<N>::kBytes / sizeof(float)];
  std::memcpy(lanes, &v, sizeof v);
  for (int half = N / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

struct RunMargin {
  const float* weights;
  const float* x;
  float* sum;

  template <int N, int M>
  void run(std::size_t at) const {
    V<N> products{};
    for (int k = 0; k < M; ++k)
      products = plus_product<N>(products, load<N>(x + at + k * N), load<N>(weights + at + k * N));
    *sum += sum_of<N>(products);
  }
};

struct RunMarginAndVariance {
  const float* weights;
  const float* x;
  std::size_t state;
  float* margin;
  float* variance;

  template <int N, int M>
  void run(std::size_t at) const {
    V<N> products{};
    V<N> variances{};
    for (int k = 0; k < M; ++k) {
      const V<N> xs = load<N>(x + at + k * N);
      products = plus_product<N>(products, xs, load<N>(weights + at + k * N));
      variances = plus_product<N>(variances, xs * xs, load<N>(weights + state + at + k * N));
    }
    *margin += sum_of<N>(products);
    *variance += sum_of<N>(variances);
  }
};

struct RunArow {
  float* weights;
  const float* x;
  std::size_t state;
  float step;
  float inverse_r;

  template <int N, int M>
  void run(std::size_t at) const {
    for (int k = 0; k < M; ++k) {
      float* w = weights + at + k * N;
      const V<N> xs = load<N>(x + at + k * N);
      const V<N> variance = load<N>(w + state);
      const V<N> sx = variance * xs;
      store<N>(w, plus_product<N>(load<N>(w), all<N>(step), sx));
      store<N>(w + state, variance / plus_product<N>(all<N>(1.0F), sx * xs, all<N>(inverse_r)));
    }
  }
};

void margins(const float* const* rows, const float* x, std::size_t n, std::size_t columns, float* out) {
  for_each_tile(columns, Margins<const float* const*>{rows, x, n, out});
}
void adagrad(float* const* rows, const float* x, std::size_t n, std::size_t columns, std::size_t state,
             const float* gradient, float rate, float epsilon) {
  for_each_tile(columns, AdaGrad{rows, x, n, state, gradient, rate, epsilon});
}
void add_scaled(float* const* rows, const float* x, std::size_t n, std::size_t columns, const float* step) {
  for_each_tile(columns, AddScaled<float* const*>{rows, x, n, step});
}
void table_margins(const float* table, std::size_t stride, const std::uint32_t* rows, const float* x, std::size_t n,
                   std::size_t columns, float* out) {
  for_each_tile(columns, Margins<TableRows<const float>>{{table, stride, rows}, x, n, out});
}
void table_add_scaled(float* table, std::size_t stride, const std::uint32_t* rows, const float* x, std::size_t n,
                      std::size_t columns, const float* step) {
  for_each_tile(columns, AddScaled<TableRows<float>>{{table, stride, rows}, x, n, step});
}
float run_margin(const float* weights, const float* x, std::size_t n) {
  float sum = 0.0F;
  for_each_tile(n, RunMargin{weights, x, &sum});
  return sum;
}
void run_margin_and_variance(const float* weights, const float* x, std::size_t n, std::size_t state, float* margin,
                             float* variance) {
  *margin = *variance = 0.0F;
  for_each_tile(n, RunMarginAndVariance{weights, x, state, margin, variance});
}
void run_arow(float* weights, const float* x, std::size_t n, std::size_t state, float step, float inverse_r) {
  for_each_tile(n, RunArow{weights, x, state, step, inverse_r});
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
                                                                     run_arow};

}  // namespace labelgrove
