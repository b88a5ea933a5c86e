// Compiled once per CPU variant: see vector_kernels.hpp.
#include "labelgrove/vector_kernels.hpp"

#include "lanes.hpp"

namespace labelgrove {
namespace {

using Lanes = V<kVectorLanes>;

inline Lanes load(const float* p) { return load<kVectorLanes>(p); }
inline void store(float* p, Lanes v) { store<kVectorLanes>(p, v); }

inline Lanes bounded(Lanes v) {
  const Lanes most = kLargestCoordinate - Lanes{};
  v = v > most ? most : v;
  return v < -most ? -most : v;
}

template <typename Value>
inline float dot_of(const std::uint8_t* a, const float* b, std::size_t n) {
  const auto numbers = [a](std::size_t i) { return Value::template many<kVectorLanes>(a + i * Value::kBytes); };
  Lanes even{};
  Lanes odd{};
  std::size_t i = 0;
  for (; i + 2 * kVectorLanes <= n; i += 2 * kVectorLanes) {
    even += numbers(i) * load(b + i);
    odd += numbers(i + kVectorLanes) * load(b + i + kVectorLanes);
  }
  if (i < n) even += numbers(i) * load(b + i);
  even += odd;
  return ((even[0] + even[4]) + (even[2] + even[6])) + ((even[1] + even[5]) + (even[3] + even[7]));
}

inline const std::uint8_t* bytes_of(const float* p) { return reinterpret_cast<const std::uint8_t*>(p); }

float dot(const float* a, const float* b, std::size_t n) { return dot_of<Float32>(bytes_of(a), b, n); }

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

template <std::size_t M, typename Value>
inline void combine_columns(const std::uint8_t* table, const std::uint32_t* rows, const float* s, const float* scale,
                            std::size_t count, float* out, std::size_t n, std::size_t at) {
  constexpr std::size_t kLineBytes = 64;
  const std::size_t stride = n * Value::kBytes;
  Lanes sums[M]{};
  for (std::size_t j = 0; j < count; ++j) {
    if (at == 0 && j + kAhead < count) {
      for (std::size_t i = 0; i < stride; i += kLineBytes) __builtin_prefetch(table + rows[j + kAhead] * stride + i);
    }
    const std::uint8_t* row = table + rows[j] * stride + at * Value::kBytes;
    const float share = scale == nullptr ? s[j] : s[j] * scale[rows[j]];
    for (std::size_t k = 0; k < M; ++k) {
      sums[k] += share * Value::template many<kVectorLanes>(row + k * kVectorLanes * Value::kBytes);
    }
  }
  for (std::size_t k = 0; k < M; ++k) store(out + at + k * kVectorLanes, sums[k]);
}

template <typename Value>
void combine_of(const std::uint8_t* table, const std::uint32_t* rows, const float* s, const float* scale,
                std::size_t count, float* out, std::size_t n) {
  std::size_t at = 0;
  for (; at + 8 * kVectorLanes <= n; at += 8 * kVectorLanes)
    combine_columns<8, Value>(table, rows, s, scale, count, out, n, at);
  for (; at + 4 * kVectorLanes <= n; at += 4 * kVectorLanes)
    combine_columns<4, Value>(table, rows, s, scale, count, out, n, at);
  for (; at < n; at += kVectorLanes) combine_columns<1, Value>(table, rows, s, scale, count, out, n, at);
}

void combine(const float* table, const std::uint32_t* rows, const float* s, std::size_t count, float* out,
             std::size_t n) {
  combine_of<Float32>(bytes_of(table), rows, s, nullptr, count, out, n);
}

}  // namespace

extern const VectorKernels LABELGROVE_CONCAT(vector_kernels_, LABELGROVE_KERNEL_VARIANT);
const VectorKernels LABELGROVE_CONCAT(vector_kernels_, LABELGROVE_KERNEL_VARIANT){
    dot,
    add,
    move,
    add_then_move,
    combine,
    {{dot_of<Float32>, combine_of<Float32>}, {dot_of<Float16>, combine_of<Float16>}, {dot_of<Int8>, combine_of<Int8>}}};

}  // namespace labelgrove
