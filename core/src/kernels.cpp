// Compiled once per CPU variant with LABELGROVE_KERNEL_VARIANT set to its name; see kernels.hpp for the contracts.
#include "labelgrove/kernels.hpp"

#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <xmmintrin.h>
#else
#include <cmath>
#endif

#define LABELGROVE_CONCAT_(a, b) a##b
#define LABELGROVE_CONCAT(a, b) LABELGROVE_CONCAT_(a, b)
#define LABELGROVE_STRING_(a) #a
#define LABELGROVE_STRING(a) LABELGROVE_STRING_(a)

namespace labelgrove {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

// N floats, in a vector of at least four: narrower ones would live in memory.
template <int N>
struct Pack {
  static constexpr std::size_t kBytes = (N < 4 ? 4 : N) * sizeof(float);
  typedef float Type __attribute__((vector_size(kBytes)));
  typedef std::int32_t Int __attribute__((vector_size(kBytes)));
};
template <int N>
using V = typename Pack<N>::Type;
typedef double Pair __attribute__((vector_size(16)));  // carries two floats in its first half

template <int N>
inline V<N> load(const float* p) {
  if constexpr (N == 1) {
    return V<N>{p[0], 0.0F, 0.0F, 0.0F};
  } else if constexpr (N == 2) {
    double two;
    std::memcpy(&two, p, sizeof two);
    return (V<N>)Pair{two, 0.0};
  } else {
    V<N> v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
}
template <int N>
inline void store(float* p, V<N> v) {
  if constexpr (N == 1) {
    p[0] = v[0];
  } else if constexpr (N == 2) {
    const double two = ((Pair)v)[0];
    std::memcpy(p, &two, sizeof two);
  } else {
    std::memcpy(p, &v, sizeof v);
  }
}
template <int N>
inline V<N> all(float x) {
  return x - V<N>{};  // x - (+0) is x for every x, -0 included
}

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
  return r * (1.5F - (0.5F * v * r) * r);
#else
  for (int i = 0; i < N; ++i) v[i] = 1.0F / std::sqrt(v[i]);
  return v;
#endif
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

// Calls body.template run<lanes, vectors>(first column) over tiles that cover all columns: wide ones first, then the
// rest in halves. Four vectors a tile keep enough additions in flight to hide their latency.
template <typename Body>
inline void for_each_tile(std::size_t columns, Body&& body) {
  std::size_t at = 0;
  for (; columns - at >= 4 * kLanes; at += 4 * kLanes) body.template run<kLanes, 4>(at);
  if (columns - at >= 2 * kLanes) body.template run<kLanes, 2>(at), at += 2 * kLanes;
  if (columns - at >= kLanes) body.template run<kLanes, 1>(at), at += kLanes;
  if constexpr (kLanes > 8) {
    if (columns - at >= 8) body.template run<8, 1>(at), at += 8;
  }
  if constexpr (kLanes > 4) {
    if (columns - at >= 4) body.template run<4, 1>(at), at += 4;
  }
  if (columns - at >= 2) body.template run<2, 1>(at), at += 2;
  if (columns - at >= 1) body.template run<1, 1>(at);
}

// Rows that are numbered, side by side in one table.
template <typename Float>
struct TableRows {
  Float* table;
  std::size_t stride;
  const std::uint32_t* numbers;
  Float* operator[](std::size_t j) const { return table + numbers[j] * stride; }
};

// Sums run over even and odd features apart, to halve the chain of dependent additions in narrow blocks; the split
// depends on a feature's place in the example alone, hence not on the width of the block.
template <typename Rows>
struct Margins {
  Rows rows;
  const float* x;
  std::size_t n;
  float* out;

  template <int N, int M>
  void run(std::size_t at) const {
    V<N> even[M]{};
    V<N> odd[M]{};
    std::size_t j = 0;
    for (; j + 1 < n; j += 2) {
      const float* w0 = rows[j] + at;
      const float* w1 = rows[j + 1] + at;
      const V<N> x0 = all<N>(x[j]);
      const V<N> x1 = all<N>(x[j + 1]);
      for (int k = 0; k < M; ++k) even[k] += x0 * load<N>(w0 + k * N);
      for (int k = 0; k < M; ++k) odd[k] += x1 * load<N>(w1 + k * N);
    }
    if (j < n) {
      for (int k = 0; k < M; ++k) even[k] += all<N>(x[j]) * load<N>(rows[j] + at + k * N);
    }
    for (int k = 0; k < M; ++k) store<N>(out + at + k * N, even[k] + odd[k]);
  }
};

struct MarginsAndVariances {
  const float* const* rows;
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
        const float* w0 = rows[j] + at + k * N;
        const float* w1 = rows[j + 1] + at + k * N;
        even[k] += x0 * load<N>(w0);
        odd[k] += x1 * load<N>(w1);
        even_variance[k] += (x0 * x0) * load<N>(w0 + state);
        odd_variance[k] += (x1 * x1) * load<N>(w1 + state);
      }
    }
    if (j < n) {
      const V<N> x0 = all<N>(x[j]);
      for (int k = 0; k < M; ++k) {
        const float* w0 = rows[j] + at + k * N;
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
        store<N>(w, load<N>(w) - (rate * gx) * inverse_sqrt<N>(eps + sum));
      }
    }
  }
};

struct Arow {
  float* const* rows;
  const float* x;
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
        float* w = rows[j] + at + k * N;
        const V<N> variance = load<N>(w + state);
        const V<N> sx = variance * xj;
        store<N>(w, load<N>(w) + s * sx);
        store<N>(w + state, variance / (1.0F + (sx * xj) * weight));
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
      variances += (xs * xs) * load<N>(weights + state + at + k * N);
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
      store<N>(w + state, variance / (1.0F + (sx * xs) * inverse_r));
    }
  }
};

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

void margins(const float* const* rows, const float* x, std::size_t n, std::size_t columns, float* out) {
  for_each_tile(columns, Margins<const float* const*>{rows, x, n, out});
}
void margins_and_variances(const float* const* rows, const float* x, std::size_t n, std::size_t columns,
                           std::size_t state, float* margins, float* variances) {
  for_each_tile(columns, MarginsAndVariances{rows, x, n, state, margins, variances});
}
void adagrad(float* const* rows, const float* x, std::size_t n, std::size_t columns, std::size_t state,
             const float* gradient, float rate, float epsilon) {
  for_each_tile(columns, AdaGrad{rows, x, n, state, gradient, rate, epsilon});
}
void arow(float* const* rows, const float* x, std::size_t n, std::size_t columns, std::size_t state, const float* step,
          float inverse_r) {
  for_each_tile(columns, Arow{rows, x, n, state, step, inverse_r});
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
void exponential(const float* in, std::size_t n, float* out) { for_each_tile(n, Exponential{in, out}); }
void sigmoid(const float* in, std::size_t n, float* out) { for_each_tile(n, Sigmoid{in, out}); }

}  // namespace

extern const Kernels LABELGROVE_CONCAT(kernels_, LABELGROVE_KERNEL_VARIANT);
const Kernels LABELGROVE_CONCAT(kernels_, LABELGROVE_KERNEL_VARIANT){LABELGROVE_STRING(LABELGROVE_KERNEL_VARIANT),
                                                                     margins,
                                                                     margins_and_variances,
                                                                     adagrad,
                                                                     arow,
                                                                     add_scaled,
                                                                     table_margins,
                                                                     table_add_scaled,
                                                                     run_margin,
                                                                     run_margin_and_variance,
                                                                     run_arow,
                                                                     sigmoid,
                                                                     exponential};

}  // namespace labelgrove
