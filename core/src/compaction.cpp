#include "labelgrove/compaction.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "labelgrove/hash.hpp"

namespace labelgrove {
namespace {

// Unless features were chosen to collide, fewer than one table in a thousand fails.
constexpr std::uint32_t kMostMultipliers = 16;

// Converts weights to their stored form.
class Encoder {
 public:
  Encoder(const SparseBlock& block, const Compaction& how)
      : block_(block), how_(how), columns_(static_cast<std::uint32_t>(block.bias.size())), inverse_(columns_) {
    if (how.type != WeightType::int8) return;
    // One scale per column: siblings are learnt separately, and their weights differ more than those of one classifier.
    std::vector<float> most(columns_, 0.0F);
    for (std::size_t i = 0; i < block.weights.size(); ++i) {
      float& column = most[block.children[i]];
      if (std::isfinite(block.weights[i])) column = std::max(column, std::abs(block.weights[i]));
    }
    for (std::uint32_t c = 0; c < columns_; ++c) {
      scale_.push_back(most[c] / kMostInt8);
      inverse_[c] = scale_[c] > 0.0F ? 1.0F / scale_[c] : 0.0F;
    }
  }

  std::uint32_t columns() const { return columns_; }
  const std::vector<float>& scale() const { return scale_; }

  // Calls take(column, bits) for the weights of a row that are stored.
  template <typename Take>
  void for_each(std::size_t row, Take&& take) const {
    for (std::uint64_t i = block_.ends[row]; i < block_.ends[row + 1]; ++i) {
      const std::uint32_t bits = bits_of(block_.weights[i], block_.children[i]);
      if (bits != 0) take(block_.children[i], bits);
    }
  }

 private:
  // 0 for a weight that is not stored.
  std::uint32_t bits_of(float w, std::uint32_t c) const {
    if (std::abs(block_.scale * w) < how_.threshold) return 0;
    const std::uint32_t bits = stored_bits(w, how_.type, inverse_[c]);
    return how_.type == WeightType::float16 && (bits & 0x7FFF) == 0 ? 0 : bits;
  }

  const SparseBlock& block_;
  Compaction how_;
  std::uint32_t columns_;
  std::vector<float> scale_;
  std::vector<float> inverse_;
};

enum class RowForm : std::uint8_t { sparse, masked, dense };

struct RowSize {
  std::uint32_t weights;
  RowForm form;
  std::uint64_t bytes;
};

// Among forms of equal size, chooses the one that is faster to read.
RowSize size_of_row(std::uint32_t weights, std::uint32_t columns, WeightType type) {
  const std::size_t wide = column_bytes(columns);
  const std::size_t value = value_bytes(type);
  const std::uint64_t dense = std::uint64_t{columns} * value;
  const std::uint64_t masked = mask_bytes(columns) + std::uint64_t{weights} * value;
  const std::uint64_t sparse = std::uint64_t{weights} * (wide + value);
  if (dense <= std::min(masked, sparse)) return {weights, RowForm::dense, wide + dense};
  if (masked <= sparse) return {weights, RowForm::masked, wide + masked};
  return {weights, RowForm::sparse, wide + sparse};
}

// The size of every row. A row without weights is dropped unless the compaction is lossless: whether a feature is even
// or odd decides how sums are rounded.
struct KeptRow {
  FeatureId feature;
  std::uint32_t row;
  RowSize size;
};
std::vector<KeptRow> kept_rows(const SparseBlock& block, const Compaction& how, const Encoder& encoder) {
  std::vector<KeptRow> kept;
  kept.reserve(block.features.size());
  for (std::uint32_t i = 0; i < block.features.size(); ++i) {
    std::uint32_t weights = 0;
    encoder.for_each(i, [&](std::uint32_t, std::uint32_t) { ++weights; });
    if (weights == 0 && !how.lossless()) continue;
    kept.push_back({block.features[i], i, size_of_row(weights, encoder.columns(), how.type)});
  }
  return kept;
}

std::uint64_t bitmap_pairs(FeatureId largest) { return largest / 32 + std::uint64_t{1}; }
std::uint64_t table_homes(std::uint64_t features) { return features + features / 4 + 1; }

std::uint64_t bitmap_bytes(std::uint64_t features, FeatureId largest) {
  if (features == 0) return 0;
  return sizeof(CompactRows::Pair) * bitmap_pairs(largest) + sizeof(std::uint32_t) * features;
}

std::uint64_t table_bytes(std::uint64_t features) {
  return sizeof(CompactRows::Pair) * (table_homes(features) + kPlacesBehind);
}

// Little-endian.
void write(std::uint32_t value, std::size_t size, std::uint8_t* to) {
  for (std::size_t i = 0; i < size; ++i) to[i] = static_cast<std::uint8_t>(value >> (8 * i));
}

void append_row(const KeptRow& row, const Encoder& encoder, WeightType type, std::vector<std::uint8_t>& bytes) {
  const std::size_t wide = column_bytes(encoder.columns());
  const std::size_t size = value_bytes(type);
  const std::size_t begin = bytes.size();
  bytes.resize(begin + row.size.bytes);
  std::uint8_t* const at = bytes.data() + begin + wide;
  std::size_t i = 0;
  switch (row.size.form) {
    case RowForm::sparse:
      write(row.size.weights, wide, at - wide);
      return encoder.for_each(row.row, [&](std::uint32_t c, std::uint32_t bits) {
        write(c, wide, at + i * wide);
        write(bits, size, at + row.size.weights * wide + i++ * size);
      });
    case RowForm::masked:
      write(masked_row<std::uint32_t>(), wide, at - wide);
      return encoder.for_each(row.row, [&](std::uint32_t c, std::uint32_t bits) {
        at[c / 8] = static_cast<std::uint8_t>(at[c / 8] | 1U << c % 8);
        write(bits, size, at + mask_bytes(encoder.columns()) + i++ * size);
      });
    case RowForm::dense:
      write(dense_row<std::uint32_t>(), wide, at - wide);
      return encoder.for_each(row.row, [&](std::uint32_t c, std::uint32_t bits) { write(bits, size, at + c * size); });
  }
}

// Places rows sorted by hash, each as close after its home as the previous ones allow. Returns false if one would be
// too far from its home, or beyond the end.
bool place(std::vector<KeptRow>& kept, std::uint32_t multiplier, std::uint32_t homes,
           std::vector<std::uint32_t>& places) {
  std::ranges::sort(kept, {}, [=](const KeptRow& row) { return hash_of(row.feature, multiplier); });
  places.clear();
  std::uint32_t next = 0;
  for (const KeptRow& row : kept) {
    const std::uint32_t home = home_of(hash_of(row.feature, multiplier), homes);
    places.push_back(std::max(next, home));
    if (places.back() - home > kFarthestProbe) return false;
    next = places.back() + 1;
  }
  return next < homes + kPlacesBehind;
}

// Sorts the rows in the order of the index, and returns their slots in it.
std::vector<std::uint32_t> start_index(std::vector<KeptRow>& kept, CompactedBlock& block) {
  std::vector<std::uint32_t> places;
  const auto by_feature = [](const KeptRow& row) { return row.feature; };
  const FeatureId largest = kept.empty() ? 0 : std::ranges::max(kept, {}, by_feature).feature;
  if (bitmap_bytes(kept.size(), largest) <= table_bytes(kept.size())) {
    std::ranges::sort(kept, {}, by_feature);
    block.index.resize(kept.empty() ? 0 : bitmap_pairs(largest));
    return places;
  }
  const auto homes = static_cast<std::uint32_t>(table_homes(kept.size()));
  for (std::uint32_t i = 0; i < kMostMultipliers; ++i) {
    block.multiplier = static_cast<std::uint32_t>(mix(i)) | 1U;
    if (!place(kept, block.multiplier, homes, places)) continue;
    block.index.resize(homes + std::size_t{kPlacesBehind}, {kNone, 0});
    return places;
  }
  block.multiplier = kSortedList;
  std::ranges::sort(kept, {}, by_feature);
  places.resize(kept.size());
  std::iota(places.begin(), places.end(), 0U);
  block.index.resize(kept.size());
  return places;
}

}  // namespace

SparseBlock sparse(const LinearBlock& block) {
  SparseBlock out{block.link, block.scale, {}, block.features, {0}, {}, {}, block.calibration, block.rarities};
  out.bias.assign(block.weights.begin(), block.weights.begin() + block.children);
  for (std::size_t i = 1; i <= block.features.size(); ++i) {
    for (std::uint32_t c = 0; c < block.children; ++c) {
      const float weight = block.weights[i * block.children + c];
      if (weight == 0.0F) continue;
      out.children.push_back(c);
      out.weights.push_back(weight);
    }
    out.ends.push_back(out.weights.size());
  }
  return out;
}

CompactedBlock compacted(const SparseBlock& block, const Compaction& how) {
  const Encoder encoder(block, how);
  std::vector<KeptRow> kept = kept_rows(block, how, encoder);
  CompactedBlock out;
  out.link = block.link;
  out.link_scale = block.scale;
  out.calibration = block.calibration;
  out.rarities = block.rarities;
  out.features = static_cast<std::uint32_t>(kept.size());
  out.bias = block.bias;
  out.scale = encoder.scale();
  const std::vector<std::uint32_t> places = start_index(kept, out);
  std::uint64_t bytes = 0;
  for (const KeptRow& row : kept) bytes += row.size.bytes;
  out.rows.reserve(bytes);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (out.rows.size() + kept[i].size.bytes >= kNone)
      throw std::length_error("the rows of a block would take 4 GiB or more");
    const FeatureId feature = kept[i].feature;
    const auto offset = static_cast<std::uint32_t>(out.rows.size());
    if (!places.empty()) {
      out.index[places[i]] = {feature, offset};
    } else {
      out.index[feature / 32].first |= 1U << (feature % 32);
      out.offsets.push_back(offset);
    }
    append_row(kept[i], encoder, how.type, out.rows);
  }
  if (out.multiplier == kBitmap) {
    std::uint32_t rank = 0;
    for (CompactRows::Pair& group : out.index) {
      group.second = rank;
      rank += static_cast<std::uint32_t>(std::popcount(group.first));
    }
  }
  return out;
}

std::uint64_t compacted_bytes(const SparseBlock& block, const Compaction& how) {
  const Encoder encoder(block, how);
  const std::vector<KeptRow> kept = kept_rows(block, how, encoder);
  FeatureId largest = 0;
  std::uint64_t bytes = 0;
  for (const KeptRow& row : kept) {
    largest = std::max(largest, row.feature);
    bytes += row.size.bytes;
  }
  return bytes + std::min(bitmap_bytes(kept.size(), largest), table_bytes(kept.size()));
}

std::uint16_t to_half(float value) {
  constexpr float kLargest = 65504.0F;
  if (std::isnan(value)) return 0;
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const float size = std::min(std::abs(value), kLargest);
  // A half has 11 binary digits, and none below 2^-24.
  const float unit = std::ldexp(0x1p-10F, std::ilogb(std::max(size, 0x1p-14F)));
  const float rounded = std::nearbyint(size / unit) * unit;
  if (rounded < 0x1p-14F) return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(rounded * 0x1p24F));
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(rounded);
  return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>((bits >> 13) - ((127 - 15) << 10)));
}

std::uint32_t stored_bits(float number, WeightType type, float factor) {
  if (type == WeightType::float32) return std::bit_cast<std::uint32_t>(number);
  if (type == WeightType::float16) return to_half(number);
  if (number == 0.0F || !std::isfinite(number)) return 0;  // 0 times an infinite factor would be NaN
  const float rounded = std::nearbyint(std::clamp(number * factor, -kMostInt8, kMostInt8));
  return static_cast<std::uint8_t>(static_cast<std::int8_t>(rounded));
}

}  // namespace labelgrove
