// Loops over whole vectors, with the same bits on every CPU, like those of kernels.hpp: sums use eight lanes in an
// order fixed by the source.
#pragma once

#include <cstddef>
#include <cstdint>

namespace labelgrove {

// Vectors are padded with zeros to a multiple of this many numbers.
inline constexpr std::size_t kVectorLanes = 8;
constexpr std::size_t padded(std::size_t n) { return (n + kVectorLanes - 1) / kVectorLanes * kVectorLanes; }

// Scattered vectors are prefetched this many iterations before they are used.
inline constexpr std::size_t kAhead = 6;
inline void prefetch_vector(const float* vector, std::size_t n) {
  constexpr std::size_t kLineFloats = 16;
  for (std::size_t i = 0; i < n; i += kLineFloats) __builtin_prefetch(vector + i);
}

// Coordinates are clamped to this, so that no product of two vectors overflows, whatever the steps.
inline constexpr float kLargestCoordinate = 1e6F;

// REQUIRES: n is a multiple of kVectorLanes; vectors do not overlap.
struct VectorKernels {
  // sum_i a[i] b[i]
  float (*dot)(const float* a, const float* b, std::size_t n);
  // y += s x
  void (*add)(float s, const float* x, float* y, std::size_t n);
  // w += s x, kept within kLargestCoordinate
  void (*move)(float s, const float* x, float* w, std::size_t n);
  // y += t w, followed by move(s, x, w)
  void (*add_then_move)(float t, float* y, float s, const float* x, float* w, std::size_t n);
  // out = sum_j s[j] table[rows[j]]
  void (*combine)(const float* table, const std::uint32_t* rows, const float* s, std::size_t count, float* out,
                  std::size_t n);
  // The same for vectors of another type, whose numbers are multiplied by scale[row] if there is a scale; dot() leaves
  // that to its caller.
  struct Stored {
    float (*dot)(const std::uint8_t* a, const float* b, std::size_t n);
    void (*combine)(const std::uint8_t* table, const std::uint32_t* rows, const float* s, const float* scale,
                    std::size_t count, float* out, std::size_t n);
  };
  Stored stored[3];  // by WeightType
};

// The variant that belongs to kernels().
const VectorKernels& vector_kernels();

}  // namespace labelgrove
