// Vectors of floats, and loops over them, for sources that are compiled once per CPU variant. All names have internal
// linkage: a copy compiled for one CPU must not be linked into code for another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "labelgrove/bfloat16.hpp"
#include "labelgrove/variance.hpp"

#define LABELGROVE_CONCAT_(a, b) a##b
#define LABELGROVE_CONCAT(a, b) LABELGROVE_CONCAT_(a, b)

namespace labelgrove {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

// N floats, in a vector of at least four: narrower ones would be kept in memory.
template <int N>
struct Pack {
  static constexpr std::size_t kBytes = (N < 4 ? 4 : N) * sizeof(float);
  typedef float Type __attribute__((vector_size(kBytes)));
  typedef std::int32_t Int __attribute__((vector_size(kBytes)));
  typedef std::uint32_t Bits __attribute__((vector_size(kBytes)));
  typedef std::uint16_t Halves __attribute__((vector_size(kBytes / 2)));
  typedef std::uint8_t Quarters __attribute__((vector_size(kBytes / 4)));
};
template <int N>
using V = typename Pack<N>::Type;
typedef double Pair __attribute__((vector_size(16)));  // holds two floats in its first half

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

template <int N>
inline V<N> load(const BFloat16* p) {
  typename Pack<N>::Halves halves{};
  std::memcpy(&halves, p, N * sizeof *p);
  return (V<N>)(__builtin_convertvector(halves, typename Pack<N>::Bits) << 16);
}
// Like `rounded`.
template <int N>
inline void store(BFloat16* p, V<N> v, typename Pack<N>::Bits noise) {
  using Bits = typename Pack<N>::Bits;
  const Bits bits = ((Bits)v + noise) >> 16;
  const Bits signed_if_any = bits & (Bits)((bits & 0x7FFFU) != 0U);
  const auto halves = __builtin_convertvector(signed_if_any, typename Pack<N>::Halves);
  std::memcpy(p, &halves, N * sizeof *p);
}

template <int N>
inline V<N> square_root(V<N> v) {
#if defined(__AVX512F__)
  if constexpr (N == 16) return (V<N>)_mm512_maskz_sqrt_ps(0xFFFF, (__m512)v);
#endif
#if defined(__AVX2__)
  if constexpr (N == 8) return (V<N>)_mm256_sqrt_ps((__m256)v);
#endif
#if defined(__SSE2__)
  if constexpr (N <= 4) return (V<N>)_mm_sqrt_ps((__m128)v);
#endif
  for (std::size_t i = 0; i < sizeof v / sizeof(float); ++i) v[i] = __builtin_sqrtf(v[i]);
  return v;
}

// Converts bytes to numbers in steps if there is no single instruction: compilers convert number by number unless the
// result is exactly twice as wide, and eight bytes even then.
template <int N>
inline V<N> load(const std::uint8_t* p) {
  using Int = typename Pack<N>::Int;
#if defined(__AVX512F__)
  if constexpr (N == 16) {
    return __builtin_convertvector((Int)_mm512_maskz_cvtepu8_epi32(0xFFFF, _mm_loadu_si128((const __m128i*)p)), V<N>);
  }
#endif
#if defined(__AVX2__)
  if constexpr (N == 8) return __builtin_convertvector((Int)_mm256_cvtepu8_epi32(_mm_loadu_si64(p)), V<N>);
#endif
  typename Pack<N>::Quarters bytes{};
  std::memcpy(&bytes, p, N * sizeof *p);
  const auto wide = __builtin_convertvector(__builtin_convertvector(bytes, typename Pack<N>::Halves), Int);
  return __builtin_convertvector(wide, V<N>);
}

// Like `widened` and `rounded_variance`.
template <int N>
inline V<N> load(const Variance* p) {
  const V<N> root = (load<N>(&p->root) + 1.0F) * 0x1p-8F;
  return root * root;
}
template <int N>
inline void store(Variance* p, V<N> v, float up) {
  using Int = typename Pack<N>::Int;
  const Int rounded = __builtin_convertvector(square_root<N>(v) * 256.0F + up, Int) - 1;
  const Int root = rounded & ~(rounded >> 31);  // 0 if it is negative
#if defined(__AVX512F__)
  if constexpr (N == 16) return _mm_storeu_si128((__m128i*)p, _mm512_maskz_cvtepi32_epi8(0xFFFF, (__m512i)root));
#endif
  const auto halves = __builtin_convertvector(root, typename Pack<N>::Halves);
  const auto quarters = __builtin_convertvector(halves, typename Pack<N>::Quarters);
  std::memcpy(p, &quarters, N * sizeof *p);
}

// --- numbers as compact models store them: compact_rows.hpp names the types ------------------------------------------

template <typename T>
inline T read(const std::uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <typename T, int N>
using Numbers [[gnu::vector_size(N * sizeof(T))]] = T;

struct Float32 {
  static constexpr std::size_t kBytes = 4;
  static float one(const std::uint8_t* from) { return read<float>(from); }
  template <int N = kLanes>
  static V<N> many(const std::uint8_t* from) {
    return read<V<N>>(from);
  }
};

// IEEE half precision without infinities: exponent and fraction are moved to their positions in a float, and multiplied
// by the difference of the biases, which also handles subnormal numbers.
struct Float16 {
  static constexpr std::size_t kBytes = 2;
  static constexpr float kBiases = 0x1p112F;
  static float one(const std::uint8_t* from) {
    const std::uint32_t half = read<std::uint16_t>(from);
    const float size = __builtin_bit_cast(float, (half & 0x7FFF) << 13) * kBiases;
    return __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, size) | (half & 0x8000) << 16);
  }
  template <int N = kLanes>
  static V<N> many(const std::uint8_t* from) {
    using Bits = typename Pack<N>::Bits;
    const auto half = __builtin_convertvector(read<Numbers<std::uint16_t, N>>(from), Bits);
    const V<N> size = (V<N>)((half & 0x7FFF) << 13) * kBiases;
    return (V<N>)((Bits)size | (half & 0x8000) << 16);
  }
};

struct Int8 {
  static constexpr std::size_t kBytes = 1;
  static float one(const std::uint8_t* from) { return static_cast<float>(read<std::int8_t>(from)); }
  template <int N = kLanes>
  static V<N> many(const std::uint8_t* from) {
#if defined(__AVX2__)
    if constexpr (N == 8) return (V<N>)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadu_si64(from)));
#endif
    // In steps: compilers convert number by number unless the result is exactly twice as wide, and eight bytes even
    // then.
    const auto wider = __builtin_convertvector(read<Numbers<std::int8_t, N>>(from), Numbers<std::int16_t, N>);
    const auto wide = __builtin_convertvector(wider, Numbers<std::int32_t, N>);
    return __builtin_convertvector(wide, V<N>);
  }
};

// Calls body.template operator()<lanes, vectors>(first column) for tiles that cover all columns: wide ones first, then
// halves of the rest. Four vectors per tile keep enough additions in flight to hide their latency.
template <int kWidest = kLanes, typename Body>
inline void for_each_tile(std::size_t columns, Body&& body) {
  std::size_t at = 0;
  for (; columns - at >= 4 * kWidest; at += 4 * kWidest) body.template operator()<kWidest, 4>(at);
  if (columns - at >= 2 * kWidest) body.template operator()<kWidest, 2>(at), at += 2 * kWidest;
  if (columns - at >= kWidest) body.template operator()<kWidest, 1>(at), at += kWidest;
  if constexpr (kWidest > 8) {
    if (columns - at >= 8) body.template operator()<8, 1>(at), at += 8;
  }
  if constexpr (kWidest > 4) {
    if (columns - at >= 4) body.template operator()<4, 1>(at), at += 4;
  }
  if (columns - at >= 2) body.template operator()<2, 1>(at), at += 2;
  if (columns - at >= 1) body.template operator()<1, 1>(at);
}

// out[c] = sum_j x[j] * rows[j][c]. Even and odd features are summed separately, to halve the chain of dependent
// additions in narrow blocks. The division depends only on a feature's position in the example, not on the width of the
// block.
template <typename Rows>
inline void margins_of(Rows rows, const float* x, std::size_t n, std::size_t columns, float* out) {
  for_each_tile(columns, [=]<int N, int M>(std::size_t at) {
    V<N> even[M]{};
    V<N> odd[M]{};
    std::size_t j = 0;
    for (; j + 1 < n; j += 2) {
      const auto* w0 = rows[j] + at;
      const auto* w1 = rows[j + 1] + at;
      const V<N> x0 = all<N>(x[j]);
      const V<N> x1 = all<N>(x[j + 1]);
      for (int k = 0; k < M; ++k) even[k] += x0 * load<N>(w0 + k * N);
      for (int k = 0; k < M; ++k) odd[k] += x1 * load<N>(w1 + k * N);
    }
    if (j < n) {
      for (int k = 0; k < M; ++k) even[k] += all<N>(x[j]) * load<N>(rows[j] + at + k * N);
    }
    for (int k = 0; k < M; ++k) store<N>(out + at + k * N, even[k] + odd[k]);
  });
}

}  // namespace
}  // namespace labelgrove
