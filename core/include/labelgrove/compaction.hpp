// Makes compact rows of a block's weights: drops the small ones, rounds the others, and chooses the smaller of two
// ways to write each row and each index.
#pragma once

#include <cstdint>
#include <vector>

#include "labelgrove/compact_rows.hpp"
#include "labelgrove/node_block.hpp"

namespace labelgrove {

struct Compaction {
  WeightType type = WeightType::float32;
  // A weight is dropped if what it adds to the linear score of a feature of value 1 is smaller; a bias never is.
  float threshold = 0.0F;

  // Nothing is dropped or rounded: predictions stay what they are, to the last bit.
  bool lossless() const { return type == WeightType::float32 && threshold == 0.0F; }
};

struct CompactedBlock {
  Link link = Link::logistic;
  float link_scale = 1.0F;  // what scores are multiplied by before they become probabilities
  std::uint32_t features = 0;
  std::uint32_t multiplier = kBitmap;
  std::vector<CompactRows::Pair> index;
  std::vector<std::uint32_t> offsets;
  std::vector<std::uint8_t> rows;
  std::vector<float> bias;
  std::vector<float> scale;
};

// A LinearBlock without the weights that are 0.
struct SparseBlock {
  Link link = Link::logistic;
  float scale = 1.0F;
  std::vector<float> bias;              // by child
  std::vector<FeatureId> features;      // of rows 0, 1, …
  std::vector<std::uint64_t> ends{0};   // the i-th row has the weights from ends[i] to ends[i + 1]
  std::vector<std::uint32_t> children;  // of the weights, increasing within a row
  std::vector<float> weights;
};
SparseBlock sparse(const LinearBlock& block);

// Throws std::length_error if the rows would take 4 GiB.
CompactedBlock compacted(const SparseBlock& block, const Compaction& how);
// The most bytes that such a block's arrays take, without biases and scales, of which none is dropped.
std::uint64_t compacted_bytes(const SparseBlock& block, const Compaction& how);

// Rounds to IEEE half precision, ties to even; what is too large becomes the largest finite number, and NaN becomes 0.
std::uint16_t to_half(float value);

}  // namespace labelgrove
