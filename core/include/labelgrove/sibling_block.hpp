// The linear classifiers of all children of one tree node, stored side by side while they learn ("sibling block" in the
// docs).
//
//   row of a feature:  [ w(child 0) … w(child C-1) w(theta) | state(child 0) … state(theta) ]
//
// The children of a node learn from the same examples, those for which the node is positive, and so does the node's
// auxiliary classifier theta (OPLT, Algorithm 7). They share one feature map, so one look-up per feature serves all of
// them. Theta, if the node has one, is the last column.
//
// A block that resumes from a batch model starts without rows: a feature of that model gets a row when the block first
// learns from it (see Inherited).
//
// With AROW, features that have occurred in only one example share a row (docs/decisions/first-comers.md), and weights
// are stored in 16 bits and variances in 8, rounded stochastically (docs/decisions/sixteen-bits.md). All columns of a
// row are rounded with the same noise, drawn from the seed, the number of steps so far and the feature; a shared row
// uses the first of its features in the example.
//
// Rows have room for `stride` columns. The columns beyond the last one hold finite numbers, which nothing depends on.
//
// Any number of threads may predict at once; all else needs exclusive access.
#pragma once

#include <cstdint>
#include <span>

#include "labelgrove/base.hpp"
#include "labelgrove/learner.hpp"
#include "labelgrove/node_block.hpp"
#include "labelgrove/row_block.hpp"
#include "labelgrove/row_storage.hpp"
#include "labelgrove/thin_vector.hpp"

namespace labelgrove {

// The number of columns that a row has room for, so that kernels see whole vectors: 2, or a multiple of 4. (Multiples
// of 8 are 2 % faster but take 1 to 4 % more memory.)
inline std::uint32_t room_for(std::uint32_t columns) { return columns <= 2 ? 2 : (columns + 3) / 4 * 4; }

class SiblingBlock final : public RowBlock {
 public:
  // Throws std::invalid_argument unless the learner is AROW, or AdaGrad or SGD with logistic loss.
  SiblingBlock(const LearnerOptions& options, std::uint32_t children, bool theta);
  // Loads a stored block. REQUIRES: the features are distinct.
  SiblingBlock(const LearnerOptions& options, const BlockView& stored);

  std::size_t bytes() const override;

  // --- columns -------------------------------------------------------------------------------------------------------
  // ADDLEAF (Algorithm 6): appends a child whose classifier is the negated copy of theta. REQUIRES: has_theta().
  void add_leaf();
  // Resets the child to the classifier of one that has never been positive. REQUIRES: has_theta().
  void reset_child(std::uint32_t child);
  void drop_theta();
  // INSERTNODE (Algorithm 5): returns the block of a node inserted above this one. Its only child and its theta are
  // both copies of this block's theta: eta(v') = theta(v). REQUIRES: has_theta().
  SiblingBlock parent_block() const;
  // Gives the children all their inherited weights again, and weights of 0 for every other feature. Theta and the
  // optimiser state stay. Afterwards the block owns all its rows and inherits nothing.
  void restore_inherited();

  // --- forgetting, within a memory budget
  // An upper bound on the memory of any block of this shape, whatever its history. An example of so many features adds
  // at most growth(features, columns), where `columns` is the block's number of columns at that time.
  std::uint64_t most_bytes() const { return most_bytes(map_.size(), rows(), row_bytes(columns_)); }
  std::uint64_t growth(std::uint64_t features, std::size_t columns) const;
  // Of which these remain when all rows are forgotten.
  std::uint64_t lasting_bytes() const { return most_bytes(0, 1, row_bytes(columns_)); }
  // The same for add_leaf(), and for parent_block() with a second child.
  std::uint64_t growth_by_leaf() const;
  std::uint64_t most_bytes_of_parent() const { return most_bytes(map_.size(), rows(), row_bytes(3)); }
  // Adds the bytes of every row, except the bias, to worth[the row's worth], an index below kWorths. Rows with a higher
  // worth are kept longer.
  void add_worths(std::span<std::uint64_t> worth) const;
  // Forgets all rows with a worth of at most `at_most`, as if their features had never occurred.
  void forget(std::uint32_t at_most);

  // --- learning ------------------------------------------------------------------------------------------------------
  // One learning step of every column; AdaGrad and SGD descend the logistic loss. The children in `positives` have
  // y = +1, all others y = -1; theta has y = +1. The example counts `weight` times. If it is learnt again, it is no new
  // evidence, and AROW takes a smaller step. REQUIRES: 0 < weight <= kMostWeight; an example that is learnt again has
  // been learnt before as new evidence.
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
  // Calls visit with a value of the type in which weights are stored.
  template <typename Visit>
  void by_type(Visit&& visit) const {
    if (halves_) visit(BFloat16());
    else visit(float());
  }

  void reserve_rows(std::size_t rows);
  void set_stride(std::uint32_t stride);
  std::uint32_t start_row();
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
  std::uint64_t bytes_of_row(std::uint32_t row) const;
  std::uint32_t worth(std::uint32_t row) const;
  // The number of features that have the row: 1 unless they share it.
  std::uint32_t sharing(std::uint32_t row) const { return row < members_.size() ? std::max(members_[row], 1U) : 1; }
  void learn_by_arow(const Features& x, float weight, Evidence evidence, std::uint32_t columns, Workspace& work);
  void descend(const Features& x, float weight, std::uint32_t columns, Workspace& work);

  bool state_;  // each row holds optimiser state after the weights
  // The storage behind places_ and shares_, for features that share a row. Vacant entries form a list: vacant_ is its
  // head, and each vacant entry of own_places_ holds the index of the next.
  ThinVector<std::uint32_t> own_places_;
  ThinVector<float> own_shares_;
  std::uint32_t vacant_ = kNone;
  ThinVector<std::uint32_t> members_;  // by row: the number of features that share it
  RowStorage storage_;
};

}  // namespace labelgrove
