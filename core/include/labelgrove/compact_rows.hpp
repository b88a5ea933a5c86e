// The weights of a node's children in as few bytes as possible, in a format that is read in place, from a mapped file
// or elsewhere. docs/format.md describes every byte; changing anything here changes the model file format.
//
//   index     finds the beginning of a feature's row: a bitmap with ranks or a table sorted by hash, whichever is
//             smaller; or a list sorted by feature, if features collide in a way that only chosen ones do
//   row       sparse: a count, the columns, their values; masked: a mark, a bit for every column, the values of the set
//             bits; or dense: another mark, the values of all columns
//   bias      the weights of the constant feature, always floats
//
// Each row is written in the form that takes the fewest bytes. Columns and counts are written in 1, 2 or 4 bytes,
// depending on the block's width.
#pragma once

#include <cstddef>
#include <cstdint>

#include "labelgrove/base.hpp"

namespace labelgrove {

enum class WeightType : std::uint8_t { float32 = 0, float16 = 1, int8 = 2 };

constexpr std::size_t value_bytes(WeightType type) {
  return type == WeightType::float32 ? 4 : type == WeightType::float16 ? 2 : 1;
}

// The bytes of a column number. The two largest numbers of that size mark rows that are not sparse.
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

// Kernels read whole vectors, so this many bytes after the last row must be readable. Their values do not matter.
inline constexpr std::size_t kBytesBehind = 64;

// Values of `multiplier` for an index that is not a hash table.
inline constexpr std::uint32_t kBitmap = 0;
inline constexpr std::uint32_t kSortedList = 2;

struct CompactRows {
  // In a bitmap: for features 32 i, …, 32 i + 31, which of them have a row (bits), and the number of rows before them
  // (rank). Otherwise: a feature and the beginning of its row; kNone marks a vacant slot of a table.
  struct Pair {
    std::uint32_t first = 0;
    std::uint32_t second = 0;
  };

  std::uint32_t columns = 0;
  WeightType type = WeightType::float32;
  std::uint32_t multiplier = kBitmap;  // the odd multiplier of the hash, or kBitmap or kSortedList
  std::uint32_t pairs = 0;
  const Pair* index = nullptr;
  const std::uint32_t* offsets = nullptr;  // bitmap: the beginning of each row
  const std::uint8_t* rows = nullptr;
  const float* bias = nullptr;   // (columns)
  const float* scale = nullptr;  // (columns), factors of int8 values; null for floats
};

// The slot of a table at which the search for a feature starts. Slots are sorted by `hash`.
inline std::uint32_t hash_of(FeatureId feature, std::uint32_t multiplier) { return feature * multiplier; }
inline std::uint32_t home_of(std::uint32_t hash, std::uint32_t places) {
  return static_cast<std::uint32_t>((std::uint64_t{hash} * places) >> 32);
}
// The slots of a table that are not homes, at its end: they take displaced entries, and the last is vacant.
inline constexpr std::uint32_t kPlacesBehind = 17;

struct CompactKernels {
  // Finds the rows and values of the features that have a row; returns their number.
  std::size_t (*locate)(const CompactRows& block, const Features& x, const std::uint8_t** rows, float* values);

  // margins[c] = bias[c] + sum_j values[j] * rows[j][c], to the last bit as in Kernels::margins. `sums` has room for
  // sums_size(columns) numbers. Returns the bytes of weights read.
  std::uint64_t (*margins)(const CompactRows& block, const std::uint8_t* const* rows, const float* values,
                           std::size_t n, float* sums, float* margins);

  // All weights of a row; 0 if none is stored.
  void (*expand)(const CompactRows& block, const std::uint8_t* row, float* sums, float* weights);
};

constexpr std::size_t sums_size(std::size_t columns) { return 2 * ((columns + 15) / 16 * 16); }

// The variant that belongs to kernels().
const CompactKernels& compact_kernels();

}  // namespace labelgrove
