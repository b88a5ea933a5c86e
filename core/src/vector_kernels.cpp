// Compiled once per CPU variant, and unlike the other kernels without fused products: see vector_kernels.hpp.
#include "labelgrove/vector_kernels.hpp"

#include <cstring>

#define LABELGROVE_CONCAT_(a, b) a##b
#define LABELGROVE_CONCAT(a, b) LABELGROVE_CONCAT_(a, b)

namespace labelgrove {
namespace {

typedef float Lanes __attribute__((vector_size(kVectorLanes * sizeof(float))));

inline Lanes load(const float* p) {
  Lanes v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline void store(float* p, Lanes v) { std::memcpy(p, &v, sizeof v); }

inline Lanes bounded(Lanes v) {
  const Lanes most = kLargestCoordinate - Lanes{};
  v = v > most ? most : v;
  return v < -most ? -most : v;
}

float dot(const float* a, const float* b, std::size_t n) {
  Lanes even{};
  Lanes odd{};
  std::size_t i = 0;
  for (; i + 2 * kVectorLanes <= n; i += 2 * kVectorLanes) {
    even += load(a + i) * load(b + i);
    odd += load(a + i + kVectorLanes) * load(b + i + kVectorLanes);
  }
  if (i < n) even += load(a + i) * load(b + i);
  even += odd;
  return ((even[0] + even[4]) + (even[2] + even[6])) + ((even[1] + even[5]) + (even[3] + even[7]));
}

void add(float s, const float* x, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; i += kVectorLanes) store(y + i, load(y + i) + s * load(x + i));
}

void move(float s, const float* x, float* w, std::size_t n) {
  for (std::size_t i = 0; i < n; i += kVectorLanes) store(w + i, bounded(load(w + i) + s * load(x + i)));
}

void add_then_move(float t, float* y, float s, const float* x, float* w, std::size_t n) {
  for (std::size_t i = 0; i < n; i += kVectorLanes) {
    const Lanes before = load(w + i);
    store(y + i, load(y + i) + t * before);
    store(w + i, bounded(before + s * load(x + i)));
  }
}

template <std::size_t M>
inline void combine_columns(const float* table, const std::uint32_t* rows, const float* s, std::size_t count,
                            float* out, std::size_t n, std::size_t at) {
  Lanes sums[M]{};
  for (std::size_t j = 0; j < count; ++j) {
    if (at == 0 && j + kAhead < count) {
      for (std::size_t i = 0; i < n; i += 16) __builtin_prefetch(table + rows[j + kAhead] * n + i);
    }
    const float* row = table + rows[j] * n + at;
    for (std::size_t k = 0; k < M; ++k) sums[k] += s[j] * load(row + k * kVectorLanes);
  }
  for (std::size_t k = 0; k < M; ++k) store(out + at + k * kVectorLanes, sums[k]);
}

void combine(const float* table, const std::uint32_t* rows, const float* s, std::size_t count, float* out,
             std::size_t n) {
  std::size_t at = 0;
  for (; at + 8 * kVectorLanes <= n; at += 8 * kVectorLanes) combine_columns<8>(table, rows, s, count, out, n, at);
  for (; at + 4 * kVectorLanes <= n; at += 4 * kVectorLanes) combine_columns<4>(table, rows, s, count, out, n, at);
  for (; at < n; at += kVectorLanes) combine_columns<1>(table, rows, s, count, out, n, at);
}

}  // namespace

extern const VectorKernels LABELGROVE_CONCAT(vector_kernels_, LABELGROVE_KERNEL_VARIANT);
const VectorKernels LABELGROVE_CONCAT(vector_kernels_, LABELGROVE_KERNEL_VARIANT){dot, add, move, add_then_move,
                                                                                  combine};

}  // namespace labelgrove
