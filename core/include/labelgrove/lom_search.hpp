// Prediction with a LOMtree: the example goes down to a leaf, whose class frequencies are smoothed by those above it.
//
// At the leaf half an example more is counted. It stands for all classes not seen there and is shared out among them by
// their frequencies at the parent, where again half an example more is counted; and so on up to the root, where it is
// left over for classes yet to come. So the classes of the leaf come first, in the order of their frequencies.
//
// Order of results: higher probability first, and among equal probabilities the label with the lower id.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/lom_tree.hpp"
#include "labelgrove/search.hpp"

namespace labelgrove {

// Which labels may be found, and from which probability on.
class LomScope {
 public:
  explicit LomScope(const LomTree& tree) : tree_(tree) {}
  // Only the labels given.
  LomScope(const LomTree& tree, std::span<const LabelId> allowed);
  // One for all, or one by label; where they are too few, the label is never above its threshold.
  void set_thresholds(std::span<const float> thresholds);

  bool open(LabelId label) const { return tree_.has(label) && (!restricted_ || allowed_[label] != 0); }
  float threshold(LabelId label) const;
  float lowest_threshold() const { return lowest_; }

 private:
  const LomTree& tree_;
  bool restricted_ = false;
  std::vector<std::uint8_t> allowed_;  // by label
  std::vector<float> thresholds_;
  float lowest_ = 0.0F;
};

// Finds classes for one example after another. Not for several threads at once: each has its own.
class LomSearcher {
 public:
  LomSearcher(const LomTree& tree, const LomScope& scope) : tree_(tree), scope_(scope) {}

  // The k most probable classes.
  void top_k(const Features& x, std::size_t k, std::vector<Scored>& found);
  // All classes whose probability is at least their threshold. REQUIRES: scope has thresholds.
  void above_threshold(const Features& x, std::vector<Scored>& found);

  // Regressors asked, and the depth of the leaf.
  const SearchStats& stats() const { return stats_; }

 private:
  NodeId descend(const Features& x);
  template <typename Enough, typename Take>
  void climb(NodeId leaf, Enough&& enough, Take&& take) const;

  const LomTree& tree_;
  const LomScope& scope_;
  SearchStats stats_;
  Workspace work_;
};

}  // namespace labelgrove
