// Turns a block's weights into compact rows: drops small weights, rounds the others, and chooses the smallest form for
// each row and for the index.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "labelgrove/calibration.hpp"
#include "labelgrove/compact_rows.hpp"
#include "labelgrove/node_block.hpp"

namespace labelgrove {

struct Compaction {
  WeightType type = WeightType::float32;
  // Drops weights that contribute less than this to the linear score of a feature of value 1; never drops a bias.
  float threshold = 0.0F;

  // Whether nothing is dropped or rounded: predictions stay the same to the last bit.
  bool lossless() const { return type == WeightType::float32 && threshold == 0.0F; }
};

struct CompactedBlock {
  Link link = Link::logistic;
  float link_scale = 1.0F;  // the factor of scores before the link
  std::uint32_t features = 0;
  std::uint32_t multiplier = kBitmap;
  std::vector<CompactRows::Pair> index;
  std::vector<std::uint32_t> offsets;
  std::vector<std::uint8_t> rows;
  std::vector<float> bias;
  std::vector<float> scale;
  std::shared_ptr<const Calibration> calibration = {};  // if the link is `calibrated`
  std::vector<std::uint8_t> rarities;                   // by child; empty if unknown
};

// A LinearBlock without zero weights.
struct SparseBlock {
  Link link = Link::logistic;
  float scale = 1.0F;
  std::vector<float> bias;              // by child
  std::vector<FeatureId> features;      // their rows are 0, 1, …
  std::vector<std::uint64_t> ends{0};   // row i has the weights from ends[i] to ends[i + 1]
  std::vector<std::uint32_t> children;  // by weight, increasing within a row
  std::vector<float> weights;
  std::shared_ptr<const Calibration> calibration = {};
  std::vector<std::uint8_t> rarities = {};  // by child; empty if unknown
};
SparseBlock sparse(const LinearBlock& block);

// Throws std::length_error if the rows would take 4 GiB or more.
CompactedBlock compacted(const SparseBlock& block, const Compaction& how);
// An upper bound on the bytes of such a block's arrays, except biases, scales and rarities, which are never dropped.
std::uint64_t compacted_bytes(const SparseBlock& block, const Compaction& how);

// Rounds to IEEE half precision, ties to even; values that are too large become the largest finite number, NaN becomes
// 0.
std::uint16_t to_half(float value);

inline constexpr float kMostInt8 = 127.0F;
// A number as it is stored: of this type, and if that is int8, multiplied by `factor` and rounded, NaN and infinities
// to 0.
std::uint32_t stored_bits(float number, WeightType type, float factor);

}  // namespace labelgrove
