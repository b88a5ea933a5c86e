// The linear classifiers of all children of one tree node, side by side, while they learn (docs: "sibling block").
//
//   row of a feature:  [ w(child 0) … w(child C-1) w(theta) | state(child 0) … state(theta) ]
//
// The children of a node learn from the same examples, those for which the node is positive, and so does the node's
// auxiliary classifier theta (OPLT, Algorithm 7): they share one feature map, and one look-up a feature serves all.
// A block that goes on from a batch model's begins without rows: a feature of that model gets one when the block first
// learns from it (Inherited).
// AROW lets the features that one example alone has brought share a row (docs/decisions/first-comers.md), and keeps its
// weights in 16 bits and its variances in 8, rounded stochastically (docs/decisions/sixteen-bits.md): by the same noise for a whole row, drawn
// for the feature (the first in the example of those that share it), for how many steps were taken and the seed.
// Rows have room for `stride` columns; what lies beyond the last one is as it is before learning, always.
// Theta, where there is one, is the last column.
#pragma once

#include <cstdint>
#include <span>

#include "labelgrove/base.hpp"
#include "labelgrove/budget.hpp"
#include "labelgrove/learner.hpp"
#include "labelgrove/node_block.hpp"
#include "labelgrove/row_block.hpp"
#include "labelgrove/row_storage.hpp"
#include "labelgrove/thin_vector.hpp"

namespace labelgrove {

// Columns that a row has room for, so that kernels see whole vectors: 2, or a multiple of 4. (Multiples of 8 are
// faster by 2 % and hold 1 to 4 % more.)
inline std::uint32_t room_for(std::uint32_t columns) { return columns <= 2 ? 2 : (columns + 3) / 4 * 4; }

class SiblingBlock final : public RowBlock {
 public:
  // Throws std::invalid_argument unless the learner is AROW, or AdaGrad or SGD in logistic loss.
  SiblingBlock(const LearnerOptions& options, std::uint32_t children, bool theta);
  // A stored block. REQUIRES: the features are distinct.
  SiblingBlock(const LearnerOptions& options, const BlockView& stored);

  std::size_t bytes() const override;

  // --- columns -------------------------------------------------------------------------------------------------------
  // ADDLEAF (Algorithm 6): a new last child, the negated copy of theta. REQUIRES: has_theta().
  void add_leaf();
  // The child starts again as if it had never been positive. REQUIRES: has_theta().
  void reset_child(std::uint32_t child);
  void drop_theta();
  // INSERTNODE (Algorithm 5): the block of the node above; its only child, eta(v') = theta(v), and its theta are copies
  // of this block's theta. REQUIRES: has_theta().
  SiblingBlock parent_block() const;
  // Gives the children all that they inherited again, and weights of 0 for all other features. Theta and all state stay.
  // From here on the block has all rows itself, and inherits nothing.
  void restore_inherited();

  // --- forgetting, where there is a bound to what is held
  // At most what is held by a block of this shape, however it came to be so; it grows with every feature by no more than
  // growth(), in a block that then has so many columns.
  std::uint64_t most_bytes() const { return most_bytes(map_.size(), rows(), row_bytes(columns_)); }
  std::uint64_t growth(std::size_t columns) const;
  // What add_leaf() and parent_block() need, likewise.
  std::uint64_t growth_by_leaf() const;
  std::uint64_t most_bytes_of_parent() const { return most_bytes(map_.size(), rows(), row_bytes(2)); }
  // worth[number] += the bytes of every row but the bias that is worth so much, a number below kWorths: the more, the
  // better it is kept.
  void add_worths(std::span<std::uint64_t> worth) const;
  // Forgets all rows that are worth at most so much: their features are as if they had never come.
  void forget(std::uint32_t at_most);

  // --- learning ------------------------------------------------------------------------------------------------------
  // One step of every column; AdaGrad and SGD descend the logistic loss. The children in `positives` have y = +1, the
  // others y = -1, theta has y = +1. The example counts `weight` times; one that is learnt again is no evidence, and
  // AROW takes it more lightly. REQUIRES: 0 < weight <= kMostWeight; what is no evidence has been learnt before, when
  // it was.
  void learn(const Features& x, std::span<const std::uint32_t> positives, float weight, Evidence evidence,
             Workspace& work);

 private:
  template <typename Number>
  Number* row(std::uint32_t r) {
    return const_cast<Number*>(weights<Number>(r));
  }
  template <typename Number>
  StateOf<Number>* states(std::uint32_t r) {
    return const_cast<StateOf<Number>*>(state<Number>(r));
  }
  void prefetch_row(std::uint32_t r) const {
    const std::byte* row = rows_ + r * row_bytes_;
    for (std::size_t at = 0; at < row_bytes_; at += 64) __builtin_prefetch(row + at);
  }
  std::size_t floats_of(std::size_t rows) const { return (rows * row_bytes_ + sizeof(float) - 1) / sizeof(float); }
  // visit(a number of the type that weights are).
  template <typename Visit>
  void by_type(Visit&& visit) const {
    if (halves_) visit(BFloat16());
    else visit(float());
  }

  void reserve_rows(std::size_t rows);
  void set_stride(std::uint32_t stride);
  std::uint32_t start_row();
  void make_room(std::uint32_t columns);
  void move_to_stride(std::uint32_t stride);
  void copy_column(std::uint32_t from, std::uint32_t to, bool negated);
  void take_over(FeatureId feature, Workspace& work);
  void find_or_insert_rows(const Features& x, bool fresh, Workspace& work);
  template <typename Number>
  std::size_t gather(const Features& x, std::vector<Number*>& rows, Workspace& work);
  void place_newcomers(const Features& x, std::uint32_t newcomers, Workspace& work);
  std::uint32_t take_out(FeatureId feature, std::uint32_t in_map);
  std::uint32_t put_place(FeatureId feature, Place place);
  std::uint64_t row_bytes(std::size_t columns) const;
  std::uint64_t most_bytes(std::uint64_t features, std::uint64_t rows, std::uint64_t row_bytes) const;
  std::uint32_t worth(std::uint32_t row) const;
  // How many features have the row: 1, unless they share it.
  std::uint32_t sharing(std::uint32_t row) const { return row < members_.size() ? std::max(members_[row], 1U) : 1; }
  void learn_by_arow(const Features& x, float weight, Evidence evidence, std::uint32_t columns, Workspace& work);
  void descend(const Features& x, float weight, std::uint32_t columns, Workspace& work);

  bool state_;  // each row holds the optimiser's state behind the weights
  // What places_ and shares_ show, of features that share a row alone. Those that are vacant form a list: this is the
  // first one, and the place of each is the next one.
  ThinVector<std::uint32_t> own_places_;
  ThinVector<float> own_shares_;
  std::uint32_t vacant_ = kNone;
  ThinVector<std::uint32_t> members_;  // by row: how many features share it
  RowStorage storage_;
};

}  // namespace labelgrove
