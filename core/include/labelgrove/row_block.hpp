// A node's classifiers whose weights lie in rows: how they predict, wherever the rows are.
//
// Row 0 belongs to the bias, whose value is 1 in every example. A feature has a row of its own, or a share in a row
// that several have in common (docs/decisions/first-comers.md): its weights are that share of the row's. The weights
// of the children come first in a row. They are bfloat16 numbers, those of AROW, with variances of 8 bits behind them, or
// floats.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/bfloat16.hpp"
#include "labelgrove/compact_block.hpp"
#include "labelgrove/feature_map.hpp"
#include "labelgrove/learner.hpp"
#include "labelgrove/node_block.hpp"
#include "labelgrove/thin_vector.hpp"
#include "labelgrove/variance.hpp"

namespace labelgrove {

// Where the weights of a feature are.
struct Place {
  std::uint32_t row = 0;
  bool shared = false;
  float share = 1.0F;  // of that row
};

// As a number: the row, and this bit where it is shared.
inline constexpr std::uint32_t kSharedRow = std::uint32_t{1} << 31;

// What a block has from a batch model that it goes on from: the weights of the features that it has not learnt from
// since. These have no row of its own yet. What came after the batch model's children has no part in it: weights of 0.
struct Inherited {
  const CompactBlock* block = nullptr;       // must outlive the heir
  NodeId node = kNone;                       // of the batch model
  float state = 0.0F;                        // of all columns
  std::vector<std::uint32_t> replaced = {};  // increasing: children of that node that have weights of 0 as well
};

// A block as it is stored: rows without slack, row 0 first.
struct BlockView {
  std::uint32_t children = 0;
  bool theta = false;
  std::uint64_t updates = 0;
  std::span<const FeatureId> features;
  Numbers<BFloat16> weights;                   // (rows, columns)
  Numbers<Variance> state;                     // likewise; none where the learner has none or only prediction is wanted
  std::span<const std::uint32_t> places = {};  // by feature, as numbers; none if the features' rows are 1, 2, …
  std::span<const float> shares = {};          // likewise
  std::uint32_t shared_rows = 0;               // the rows in all, if there are places
  Inherited inherited = {};

  std::uint32_t rows() const { return places.empty() ? static_cast<std::uint32_t>(features.size() + 1) : shared_rows; }
};

class RowBlock : public NodeBlock {
 public:
  std::uint32_t children() const final { return columns_ - (theta_ ? 1 : 0); }
  bool has_theta() const { return theta_; }
  std::uint32_t columns() const { return columns_; }
  std::uint32_t rows() const { return row_count_; }
  const FeatureMap& features() const { return map_; }
  // REQUIRES: the block knows the feature.
  Place place(FeatureId feature) const { return found(map_.find(feature)); }
  // Whether features may share rows; if not, their rows are 1, 2, … as they arrived.
  bool shares_rows() const { return shares_rows_ && map_.size() > 0; }
  // Null, if from nobody.
  const Inherited* inherited() const { return inherited_.get(); }
  // How often every column has learnt.
  std::uint64_t updates() const { return updates_; }
  // What weights are.
  bool has_halves() const { return halves_; }
  // The weights of row r, one for each column. REQUIRES: they are such numbers.
  template <typename Number>
  const Number* weights(std::uint32_t r) const {
    return reinterpret_cast<const Number*>(rows_ + r * row_bytes_);
  }
  // Row r's optimiser state likewise, of which there must be some.
  template <typename Number>
  const StateOf<Number>* state(std::uint32_t r) const {
    return reinterpret_cast<const StateOf<Number>*>(weights<Number>(r) + stride_);
  }
  float weight(std::uint32_t r, std::uint32_t column) const {
    return halves_ ? widened(weights<BFloat16>(r)[column]) : weights<float>(r)[column];
  }
  float state(std::uint32_t r, std::uint32_t column) const {
    return halves_ ? widened(state<BFloat16>(r)[column]) : state<float>(r)[column];
  }
  // Bytes held.
  virtual std::size_t bytes() const = 0;

  // out[c] = w . x for all children.
  void margins(const Features& x, Workspace& work, float* out) const;
  void predict(const Features& x, Workspace& work, float* probabilities) const final;
  float contributions(const Features& x, std::uint32_t child, float* added) const final;
  LinearBlock linear() const final;

 protected:
  RowBlock(const LearnerOptions& options, std::uint32_t children, bool theta, std::uint64_t updates, bool halves)
      : options_(options), updates_(updates), columns_(children + (theta ? 1 : 0)), theta_(theta), halves_(halves) {}

  // Of a feature, by what the map has for it: its row, if that is its own, so that nothing else need be looked up, or else
  // where its place and share are, with kSharedRow.
  Place found(std::uint32_t in_map) const {
    if ((in_map & kSharedRow) == 0) return {.row = in_map};
    const std::uint32_t at = in_map & ~kSharedRow;
    return {places_[at] & ~kSharedRow, true, shares_[at]};
  }

  std::size_t number_bytes() const { return halves_ ? sizeof(BFloat16) : sizeof(float); }
  std::size_t state_bytes() const { return halves_ ? sizeof(Variance) : sizeof(float); }

  // What w . x is multiplied by before the sigmoid.
  float margin_scale() const;
  // SGD: what the weights are divided by (see sibling_block.cpp).
  float inverse_scale() const;
  // The inherited weights of the children for a feature that has no row of its own; false if there are none. `weights` is
  // room for inherited_width() of them.
  bool inherited_row(FeatureId feature, std::vector<float>& sums, float* weights) const;
  std::size_t inherited_width() const { return std::max(children(), inherited()->block->children()); }

  LearnerOptions options_;
  std::uint64_t updates_;
  FeatureMap map_;
  std::uint32_t columns_;
  bool theta_;  // the last column is an auxiliary classifier
  bool shares_rows_ = false;
  bool halves_;
  std::uint32_t row_count_ = 1;
  const std::uint32_t* places_ = nullptr;  // of features that share rows, and perhaps others
  const float* shares_ = nullptr;
  const std::byte* rows_ = nullptr;
  std::uint32_t stride_ = 0;   // columns that a row has room for; state begins behind them
  std::size_t row_bytes_ = 0;  // from one row to the next
  Rare<Inherited> inherited_;
};

// For prediction alone, from weights where they lie, in a mapped file perhaps. They must outlive the block.
class StoredBlock final : public RowBlock {
 public:
  // REQUIRES: without theta; the features are distinct.
  StoredBlock(const LearnerOptions& options, const BlockView& stored);

  std::size_t bytes() const override { return map_.bytes() + sizeof(StoredBlock); }
};

}  // namespace labelgrove
