// The weights of a node's children in as few bytes as they need, in an order that can be read where it lies, in a
// mapped file or elsewhere. docs/format.md describes every byte.
//
//   index     finds where a feature's row begins: a bitmap with ranks, or a table sorted by hash, whichever is smaller;
//             or, where features collide as only chosen ones do, a list sorted by feature
//   row       sparse: how many, their columns, their values; masked: a mark, a bit for every column, the values of
//             those that are set; or dense: another mark, the values of all columns
//   bias      the weights of the constant feature, always whole floats
//
// Each row is written in the way that takes the fewest bytes. Columns, and how many there are, are written in 1, 2 or
// 4 bytes, as many as the block's width needs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "labelgrove/base.hpp"

namespace labelgrove {

enum class WeightType : std::uint8_t { float32 = 0, float16 = 1, int8 = 2 };

constexpr std::size_t value_bytes(WeightType type) {
  return type == WeightType::float32 ? 4 : type == WeightType::float16 ? 2 : 1;
}

// Bytes of a column's number. The two largest numbers of that size mark rows that are not sparse.
constexpr std::size_t column_bytes(std::uint32_t columns) { return columns < 0xFE ? 1 : columns < 0xFFFE ? 2 : 4; }
template <typename Column>
constexpr Column dense_row() {
  return static_cast<Column>(-1);
}
template <typename Column>
constexpr Column masked_row() {
  return static_cast<Column>(-2);
}
constexpr std::size_t mask_bytes(std::uint32_t columns) { return (columns + std::size_t{7}) / 8; }

// Kernels read whole vectors, so this many bytes past the last row must be readable; their contents do not matter.
inline constexpr std::size_t kBytesBehind = 64;

// What stands for a multiplier where the index is no table.
inline constexpr std::uint32_t kBitmap = 0;
inline constexpr std::uint32_t kSortedList = 2;

struct CompactRows {
  // Either features 32 i, …, 32 i + 31: which of them have a row (bits), and how many rows there are before (rank).
  // Or a feature and where its row begins; kNone is an empty place of a table.
  struct Pair {
    std::uint32_t first = 0;
    std::uint32_t second = 0;
  };

  std::uint32_t columns = 0;
  WeightType type = WeightType::float32;
  std::uint32_t multiplier = kBitmap;  // of the hash, an odd number; or kBitmap, or kSortedList
  std::uint32_t pairs = 0;
  const Pair* index = nullptr;
  const std::uint32_t* offsets = nullptr;  // bitmap: where each row begins
  const std::uint8_t* rows = nullptr;
  const float* bias = nullptr;   // (columns)
  const float* scale = nullptr;  // (columns), what int8 values are multiplied by; null for floats
};

// The place in a table from which on a feature is looked for. Places are sorted by `hash`.
inline std::uint32_t hash_of(FeatureId feature, std::uint32_t multiplier) { return feature * multiplier; }
inline std::uint32_t home_of(std::uint32_t hash, std::uint32_t places) {
  return static_cast<std::uint32_t>((std::uint64_t{hash} * places) >> 32);
}
// How many of a table's places are homes: what lies behind takes those that were pushed on, the last is empty.
inline constexpr std::uint32_t kPlacesBehind = 17;

struct CompactKernels {
  // rows[i] and values[i] are those of the i-th feature that has a row; returns how many have.
  std::size_t (*locate)(const CompactRows& block, const Features& x, const std::uint8_t** rows, float* values);

  // margins[c] = bias[c] + sum_j values[j] * rows[j][c], to the last bit as Kernels::margins has it. `sums` is room for
  // sums_size(columns). Returns how many bytes of weights were read.
  std::uint64_t (*margins)(const CompactRows& block, const std::uint8_t* const* rows, const float* values,
                           std::size_t n, float* sums, float* margins);

  // All weights of a row; 0 where none is stored.
  void (*expand)(const CompactRows& block, const std::uint8_t* row, float* sums, float* weights);
};

constexpr std::size_t sums_size(std::size_t columns) { return 2 * ((columns + 15) / 16 * 16); }

// The variant that goes with kernels().
const CompactKernels& compact_kernels();

}  // namespace labelgrove
