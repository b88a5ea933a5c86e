// The linear classifiers of all children of one tree node, side by side (docs: "sibling block").
//
//   row of a feature:  [ w(child 0) … w(child C-1) w(theta) | state(child 0) … state(theta) ]
//
// The children of a node learn from the same examples, those for which the node is positive, and so does the node's
// auxiliary classifier theta (OPLT, Algorithm 7): they share one feature map, and one look-up a feature serves all.
// Rows have room for `stride` columns; what lies beyond the last one is as it is before learning, always.
// Row 0 belongs to the bias, whose value is 1 in every example. Theta, where there is one, is the last column.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/feature_map.hpp"
#include "labelgrove/learner.hpp"
#include "labelgrove/node_block.hpp"
#include "labelgrove/row_storage.hpp"

namespace labelgrove {

// A block as it is stored: rows without slack, row 0 first.
struct BlockView {
  std::uint32_t children = 0;
  bool theta = false;
  std::uint64_t updates = 0;
  std::span<const FeatureId> features;  // of rows 1, 2, …
  const float* weights = nullptr;       // (features + 1, columns)
  const float* state = nullptr;         // likewise; null where the learner has none or only prediction is wanted
};

class SiblingBlock final : public NodeBlock {
 public:
  // `key` tells the weights that this block draws to begin with from those of every other block.
  SiblingBlock(const LearnerOptions& options, std::uint32_t children, bool theta, std::uint64_t key = 0);
  // A stored block. With `borrow` the weights are read where they lie, for prediction only, and must outlive the block.
  // REQUIRES: the features are distinct.
  SiblingBlock(const LearnerOptions& options, const BlockView& stored, bool borrow);

  std::uint32_t children() const override { return columns_ - (theta_ ? 1 : 0); }
  bool has_theta() const { return theta_; }
  std::uint32_t columns() const { return columns_; }
  std::uint32_t rows() const { return map_.size() + 1; }
  std::uint64_t updates() const { return updates_; }
  const FeatureMap& features() const { return map_; }
  // The weights of row r, one for each column.
  const float* weights(std::uint32_t r) const { return row(r); }
  // Bytes held: rows in use, keys and table.
  std::size_t bytes() const;
  // Writes (rows(), columns) floats each, of the first columns.
  void copy_weights(std::uint32_t columns, float* out) const;
  void copy_state(std::uint32_t columns, float* out) const;

  // --- columns -------------------------------------------------------------------------------------------------------
  // ADDLEAF (Algorithm 6): a new last child, the negated copy of theta. REQUIRES: has_theta().
  void add_leaf();
  // The child starts again as if it had never been positive. REQUIRES: has_theta().
  void reset_child(std::uint32_t child);
  void drop_theta();
  // INSERTNODE (Algorithm 5): the block of the node above; its only child, eta(v') = theta(v), and its theta are copies
  // of this block's theta. REQUIRES: has_theta().
  SiblingBlock parent_block() const;

  // --- learning ------------------------------------------------------------------------------------------------------
  // One step of every column; AdaGrad and SGD descend the logistic loss. The children in `positives` have y = +1, the
  // others y = -1, theta has y = +1. The example counts `weight` times; `fresh` tells a new example from one that is
  // learnt again (replay), which AROW takes more lightly. REQUIRES: 0 < weight <= kMostWeight.
  void learn(const Features& x, std::span<const std::uint32_t> positives, float weight, bool fresh, Workspace& work);

  // Learns from now on by number: x.ids[j] stands for the n-th of so many features, which get their rows here.
  // REQUIRES: nothing has been learnt.
  void number_features(std::uint32_t count);
  // One step of every column towards its target, in half the squared loss, `weight` times as far as from an example that
  // counts once. margins[c] is w . x after the step. REQUIRES: the learner is AdaGrad, SGD without L2 in squared loss, or
  // NAG.
  void regress(const Features& x, std::span<const float> targets, float weight, Workspace& work, float* margins);
  // Ends learning: nothing is kept but the weights, as they apply to features as they are.
  void finish();
  bool is_finite() const;

  // --- prediction ----------------------------------------------------------------------------------------------------
  // out[c] = w . x for all children.
  void margins(const Features& x, Workspace& work, float* out) const;
  void predict(const Features& x, Workspace& work, float* probabilities) const override;
  float contributions(const Features& x, std::uint32_t child, float* added) const override;
  LinearBlock linear() const override;

 private:
  std::size_t row_floats() const { return std::size_t{stride_} * (state_ ? 2 : 1); }
  float* row(std::uint32_t r) { return storage_.data() + r * row_floats(); }
  const float* row(std::uint32_t r) const {
    return (borrowed_ != nullptr ? borrowed_ : storage_.data()) + r * row_floats();
  }

  void start_row(std::uint32_t r);
  void make_room(std::uint32_t columns);
  void move_to_stride(std::uint32_t stride);
  void copy_column(std::uint32_t from, std::uint32_t to, bool negated);
  void insert_rows(const Features& x, Workspace& work);
  void find_or_insert_rows(const Features& x, Workspace& work);

  float inverse_scale() const;
  // What w . x is multiplied by before the sigmoid.
  float margin_scale() const;
  double normalize(Workspace& work);

  LearnerOptions options_;
  std::uint32_t columns_;
  std::uint32_t stride_;  // columns that a row has room for
  bool theta_;
  bool numbered_ = false;  // feature f has row f + 1
  bool state_;             // each row holds the optimiser's state behind the weights
  FeatureMap map_;
  RowStorage storage_;
  const float* borrowed_ = nullptr;
  std::uint64_t key_ = 0;
  std::vector<float> scales_;  // NAG: by row, the largest |x| so far; weights are times that
  double norm_ = 0.0;          // NAG: N, the sum of all squares of x over their scales
  std::uint64_t updates_ = 0;  // how often every column has learnt
};

}  // namespace labelgrove
