// A node's classifiers whose weights are stored in rows: how they predict, wherever the rows are kept.
//
// Row 0 belongs to the bias, whose value is 1 in every example. A feature has either a row of its own or a share of a
// row that several features have in common (docs/decisions/first-comers.md): then its weights are the row's weights
// times its share. The weights of the children come first in a row. AROW stores weights as bfloat16, followed by 8-bit
// variances; the other learners store floats.
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

// Where a feature's weights are.
struct Place {
  std::uint32_t row = 0;
  bool shared = false;
  float share = 1.0F;  // of the row's weights
};

// A place is stored as one number: the row, with this bit set if the row is shared.
inline constexpr std::uint32_t kSharedRow = std::uint32_t{1} << 31;

// What a block inherits from the batch model that it resumes from: the weights of all features that it has not learnt
// from since. These features have no rows of their own yet. Children added after the batch model's have inherited
// weights of 0.
struct Inherited {
  const CompactBlock* block = nullptr;  // must outlive the block that inherits from it
  NodeId node = kNone;                  // in the batch model
  float state = 0.0F;                   // of every column
  // Children of that node whose inherited weights are 0, too; they increase.
  std::vector<std::uint32_t> replaced = {};
};

// A block as it is stored in a model file: rows without slack, row 0 first. Changing what it holds changes the model
// file format (docs/format.md).
struct BlockView {
  std::uint32_t children = 0;
  bool theta = false;
  std::uint64_t updates = 0;
  std::span<const FeatureId> features;
  Numbers<BFloat16> weights;                   // (rows, columns)
  Numbers<Variance> state;                     // likewise; none if the learner has none or the block only predicts
  std::span<const std::uint32_t> places = {};  // by feature; none if the features' rows are 1, 2, …
  std::span<const float> shares = {};          // likewise
  std::uint32_t shared_rows = 0;               // the total number of rows, if there are places
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
  // Whether features may share rows; if not, their rows are 1, 2, … in order of arrival.
  bool shares_rows() const { return shares_rows_ && map_.size() > 0; }
  // Null if the block inherits nothing.
  const Inherited* inherited() const { return inherited_.get(); }
  // The number of learning steps that every column has taken.
  std::uint64_t updates() const { return updates_; }
  // Whether weights are stored as bfloat16 rather than float.
  bool has_halves() const { return halves_; }
  // The weights of row r, one per column. REQUIRES: weights are stored as Number.
  template <typename Number>
  const Number* weights(std::uint32_t r) const {
    return reinterpret_cast<const Number*>(rows_ + r * row_bytes_);
  }
  // The optimiser state of row r, one value per column. REQUIRES: as above, and the learner has state.
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
  // Memory held, in bytes.
  virtual std::size_t bytes() const = 0;

  // out[c] = w . x for all children.
  void margins(const Features& x, Workspace& work, float* out) const;
  void predict(const Features& x, Workspace& work, float* probabilities) const final;
  float contributions(const Features& x, std::uint32_t child, float* added) const final;
  LinearBlock linear() const final;

 protected:
  RowBlock(const LearnerOptions& options, std::uint32_t children, bool theta, std::uint64_t updates, bool halves)
      : options_(options), updates_(updates), columns_(children + (theta ? 1 : 0)), theta_(theta), halves_(halves) {}

  // Decodes the map's entry for a feature. A feature with a row of its own has the row number as its entry, which saves
  // a second look-up; otherwise the entry is an index into places_ and shares_, with kSharedRow set.
  Place found(std::uint32_t in_map) const {
    if ((in_map & kSharedRow) == 0) return {.row = in_map};
    const std::uint32_t at = in_map & ~kSharedRow;
    return {places_[at] & ~kSharedRow, true, shares_[at]};
  }

  std::size_t number_bytes() const { return halves_ ? sizeof(BFloat16) : sizeof(float); }
  std::size_t state_bytes() const { return halves_ ? sizeof(Variance) : sizeof(float); }

  // The factor applied to w . x before the sigmoid.
  float margin_scale() const;
  // SGD: the divisor of the stored weights (see SiblingBlock::descend).
  float inverse_scale() const;
  // Writes the children's inherited weights for a feature without a row of its own; returns false if there are none.
  // `weights` has room for inherited_width() numbers.
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
  const std::uint32_t* places_ = nullptr;  // by index in the map: features that share rows, and perhaps vacant entries
  const float* shares_ = nullptr;
  const std::byte* rows_ = nullptr;
  std::uint32_t stride_ = 0;   // columns that a row has room for; state follows
  std::size_t row_bytes_ = 0;  // distance from one row to the next
  Rare<Inherited> inherited_;
};

// Only predicts, from weights that stay where they are, for example in a mapped file. They must outlive the block.
class StoredBlock final : public RowBlock {
 public:
  // REQUIRES: no theta; the features are distinct.
  StoredBlock(const LearnerOptions& options, const BlockView& stored);

  std::size_t bytes() const override { return map_.bytes() + sizeof(StoredBlock); }
};

}  // namespace labelgrove
