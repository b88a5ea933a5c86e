// Compiled once per CPU variant with LABELGROVE_KERNEL_VARIANT set to its name; see kernels.hpp for the contracts.
#include "labelgrove/kernels.hpp"

#include <cstdint>
#include <cstring>

#include "lanes.hpp"

#define LABELGROVE_STRING_(a) #a
#define LABELGROVE_STRING(a) LABELGROVE_STRING_(a)

namespace labelgrove {
namespace {

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
        const V<N> grown = load<N>(w + state) + gx * gx;
        const V<N> sum = grown < most ? grown : most;
        store<N>(w + state, sum);
        store<N>(w, load<N>(w) - rate * gx / square_root<N>(eps + sum));
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
      for (int k = 0; k < M; ++k) store<N>(w + k * N, load<N>(w + k * N) + s[k] * all<N>(x[j]));
    }
  }
};

// Sums along a run are taken by so many lanes, on every processor.
constexpr int kRunLanes = 8;

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
    for (int k = 0; k < M; ++k) products += load<N>(x + at + k * N) * load<N>(weights + at + k * N);
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
      products += xs * load<N>(weights + at + k * N);
      variances += xs * xs * load<N>(weights + state + at + k * N);
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
      store<N>(w, load<N>(w) + step * sx);
      store<N>(w + state, variance / (1.0F + sx * xs * inverse_r));
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
  for_each_tile<kRunLanes>(n, RunMargin{weights, x, &sum});
  return sum;
}
void run_margin_and_variance(const float* weights, const float* x, std::size_t n, std::size_t state, float* margin,
                             float* variance) {
  *margin = *variance = 0.0F;
  for_each_tile<kRunLanes>(n, RunMarginAndVariance{weights, x, state, margin, variance});
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
