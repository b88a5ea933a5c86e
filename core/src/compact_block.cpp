#include "labelgrove/compact_block.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "labelgrove/archive_check.hpp"
#include "labelgrove/hash.hpp"

namespace labelgrove {
namespace {

// Calls take(feature, offset) for every row, in the order of the index.
template <typename Take>
void for_each_row(const CompactRows& block, Take&& take) {
  for (std::uint32_t i = 0; i < block.pairs; ++i) {
    const CompactRows::Pair& pair = block.index[i];
    if (block.multiplier != kBitmap) {
      if (pair.first != kNone) take(pair.first, pair.second);
      continue;
    }
    std::uint32_t rank = pair.second;
    for (std::uint32_t bits = pair.first; bits != 0; bits &= bits - 1) {
      take(32 * i + static_cast<std::uint32_t>(std::countr_zero(bits)), block.offsets[rank++]);
    }
  }
}

}  // namespace

void CompactBlock::predict(const Features& x, Workspace& work, float* probabilities) const {
  locate(x, work);
  predict_located(x, work, probabilities);
}

void CompactBlock::prefetch(const Features& x) const {
  for (std::uint32_t j = 0; j < x.size; ++j) {
    const FeatureId feature = x.ids[j];
    std::uint32_t at = 0;
    if (rows_.multiplier == kBitmap) at = std::min(feature / 32, rows_.pairs);
    else if (rows_.multiplier != kSortedList)
      at = home_of(hash_of(feature, rows_.multiplier), rows_.pairs - kPlacesBehind);
    __builtin_prefetch(rows_.index + at);
  }
}

void CompactBlock::locate(const Features& x, Workspace& work) const {
  work.compact_rows.resize(std::max<std::size_t>(work.compact_rows.size(), x.size));
  work.values.resize(std::max<std::size_t>(work.values.size(), x.size));
  work.located = compact_kernels().locate(rows_, x, work.compact_rows.data(), work.values.data());
}

void CompactBlock::predict_located(const Features&, Workspace& work, float* probabilities) const {
  const std::size_t columns = rows_.columns;
  work.margins.resize(std::max(work.margins.size(), columns));
  work.sums.resize(std::max(work.sums.size(), sums_size(columns)));
  float* margins = work.margins.data();
  work.bytes += compact_kernels().margins(rows_, work.compact_rows.data(), work.values.data(), work.located,
                                          work.sums.data(), margins);
  for (std::size_t c = 0; c < columns; ++c) margins[c] *= scale_;
  if (calibration_) calibration_->apply(margins, rarities_, rows_.columns, probabilities);
  else apply_link(link_, margins, rows_.columns, probabilities);
}

float CompactBlock::contributions(const Features& x, std::uint32_t child, float* added) const {
  std::vector<float> weights(rows_.columns);
  std::vector<float> sums;
  for (std::uint32_t j = 0; j < x.size; ++j) {
    added[j] = row(x.ids[j], sums, weights.data()) ? weights[child] * x.values[j] * scale_ : 0.0F;
  }
  return scale_ * rows_.bias[child];
}

bool CompactBlock::row(FeatureId feature, std::vector<float>& sums, float* weights) const {
  const float one = 1.0F;
  const std::uint8_t* row = nullptr;
  float value = 0.0F;
  if (compact_kernels().locate(rows_, {&feature, &one, 1}, &row, &value) == 0) return false;
  sums.resize(std::max(sums.size(), sums_size(rows_.columns)));
  compact_kernels().expand(rows_, row, sums.data(), weights);
  return true;
}

std::vector<FeatureId> CompactBlock::features() const {
  std::vector<FeatureId> all;
  all.reserve(features_);
  for_each_row(rows_, [&](FeatureId feature, std::uint32_t) { all.push_back(feature); });
  return all;
}

LinearBlock CompactBlock::linear() const {
  LinearBlock all{link_, scale_, rows_.columns, {}, {rows_.bias, rows_.bias + rows_.columns}, calibration_};
  if (rarities_ != nullptr) all.rarities.assign(rarities_, rarities_ + rows_.columns);
  all.features.reserve(features_);
  all.weights.resize((std::size_t{features_} + 1) * rows_.columns);
  std::vector<float> sums(sums_size(rows_.columns));
  float* next = all.weights.data() + rows_.columns;
  for_each_row(rows_, [&](FeatureId feature, std::uint32_t offset) {
    all.features.push_back(feature);
    compact_kernels().expand(rows_, rows_.rows + offset, sums.data(), next);
    next += rows_.columns;
  });
  return all;
}

// --- checks of what a file says --------------------------------------------------------------------------------------

namespace {

void check_bitmap(const CompactRows& block, std::uint32_t features, const std::string& where) {
  std::uint64_t rank = 0;
  for (std::uint32_t i = 0; i < block.pairs; ++i) {
    require(block.index[i].second == rank, where, ": the index has a wrong number of rows");
    rank += static_cast<std::uint64_t>(std::popcount(block.index[i].first));
  }
  require(rank == features && block.pairs <= kNone / 64, where, ": the index has a wrong number of rows");
}

// Every feature must be found when searching from its home: no slot in between is vacant, and hashes increase.
void check_table(const CompactRows& block, std::uint32_t features, const std::string& where) {
  require(block.multiplier % 2 == 1 && block.pairs > kPlacesBehind && block.index[block.pairs - 1].first == kNone,
          where, ": the index is not a valid hash table");
  std::uint64_t rows = 0;
  std::uint64_t least = 0;  // the smallest hash that may come next
  std::uint32_t run = 0;    // the beginning of the current run of occupied slots
  for (std::uint32_t i = 0; i < block.pairs; ++i) {
    const FeatureId feature = block.index[i].first;
    if (feature == kNone) {
      run = i + 1;
      continue;
    }
    const std::uint32_t hash = hash_of(feature, block.multiplier);
    const std::uint32_t home = home_of(hash, block.pairs - kPlacesBehind);
    require(feature < kNone / 2 && hash >= least && run <= home && home <= i && i - home <= kFarthestProbe, where,
            ": a feature is in the wrong place in the index");
    least = std::uint64_t{hash} + 1;
    ++rows;
  }
  require(rows == features, where, ": the index has a wrong number of rows");
}

void check_list(const CompactRows& block, std::uint32_t features, const std::string& where) {
  const std::span<const CompactRows::Pair> index(block.index, block.pairs);
  require(index.size() == features, where, ": the index has a wrong number of rows");
  require(std::ranges::adjacent_find(index, std::ranges::greater_equal(), &CompactRows::Pair::first) == index.end() &&
              (index.empty() || index.back().first < kNone / 2),
          where, ": a feature is in the wrong place in the index");
}

std::uint32_t read_column(const std::uint8_t* from, std::size_t size) {
  std::uint32_t column = 0;
  std::memcpy(&column, from, size);
  return column;
}

struct RowLength {
  std::uint64_t bytes;
  std::uint64_t weights;
};

std::uint32_t count_bits(const std::uint8_t* mask, std::uint32_t columns, const std::string& where) {
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < mask_bytes(columns); ++i) count += static_cast<std::uint32_t>(std::popcount(mask[i]));
  require(columns % 8 == 0 || mask[columns / 8] >> columns % 8 == 0, where, ": a mask is wider than the block");
  return count;
}

void check_columns(const std::uint8_t* at, std::uint32_t count, std::uint32_t columns, const std::string& where) {
  const std::size_t wide = column_bytes(columns);
  std::uint32_t least = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t column = read_column(at + wide * i, wide);
    require(column >= least && column < columns, where, ": a column occurs twice or does not exist");
    least = column + 1;
  }
}

// Whether the bits of all values, without the sign, are those of a number of at most `most`: non-negative floats are
// ordered as their bits are. Values need not be aligned. Branchless, so that compilers vectorise it.
template <typename Bits>
bool none_exceeds(Bits most, const std::uint8_t* values, std::uint64_t n) {
  constexpr auto kSize = static_cast<Bits>(static_cast<Bits>(-1) >> 1);
  Bits found = 0;
  for (std::uint64_t i = 0; i < n; ++i) {
    Bits bits;
    std::memcpy(&bits, values + i * sizeof bits, sizeof bits);
    found = static_cast<Bits>(found | ((bits & kSize) > most ? 1 : 0));
  }
  return found == 0;
}

// Whether learning can resume from these weights.
bool are_learnable(const std::uint8_t* values, std::uint64_t n, WeightType type) {
  if (type == WeightType::float32) return none_exceeds(std::bit_cast<std::uint32_t>(kLargestWeight), values, n);
  if (type == WeightType::float16) return none_exceeds<std::uint16_t>(0x7bffU, values, n);
  return true;
}

RowLength checked_row(const CompactRows& block, const std::uint8_t* at, std::uint64_t left, const std::string& where) {
  const std::size_t wide = column_bytes(block.columns);
  RowLength row{wide, block.columns};
  const auto require_bytes = [&] { require(left >= row.bytes, where, ": a row is cut short"); };
  require_bytes();
  const std::uint32_t count = read_column(at, wide);
  const auto most = static_cast<std::uint32_t>((std::uint64_t{1} << (8 * wide)) - 1);
  if (count == most - 1) {
    row.bytes += mask_bytes(block.columns);
    require_bytes();
    row.weights = count_bits(at + wide, block.columns, where);
  } else if (count != most) {
    row.bytes += count * std::uint64_t{wide};
    require_bytes();
    check_columns(at + wide, count, block.columns, where);
    row.weights = count;
  }
  const std::uint8_t* values = at + row.bytes;
  row.bytes += row.weights * value_bytes(block.type);
  require_bytes();
  require(are_learnable(values, row.weights, block.type), where,
          ": a weight is not finite, or is larger than any that can be learnt");
  return row;
}

}  // namespace

std::uint64_t check_compact_rows(const CompactRows& block, std::uint32_t features, std::uint64_t bytes,
                                 const std::string& where) {
  if (block.multiplier == kBitmap) check_bitmap(block, features, where);
  else if (block.multiplier == kSortedList) check_list(block, features, where);
  else check_table(block, features, where);
  std::uint64_t at = 0;
  std::uint64_t weights = 0;
  for_each_row(block, [&](FeatureId, std::uint32_t offset) {
    require(offset == at, where, ": the index does not lead to a row");
    const RowLength row = checked_row(block, block.rows + at, bytes - at, where);
    at += row.bytes;
    weights += row.weights;
  });
  require(at == bytes, where, ": the rows do not take up their stated size");
  return weights;
}

}  // namespace labelgrove
