// Prediction with a LOMtree: the class frequencies of the leaf that an example reaches, or of its most probable leaves.
//
// On the paper's single path an example goes right if the margin m is above 0. For several leaves it goes right with
// probability sigma(slope m), and those that LeafSearch finds are weighted by their probabilities.
//
// Frequencies are smoothed: every node counts another half example, divided among the classes according to their
// smoothed frequencies at the parent. Every class therefore has a probability, and classes seen at a leaf come first.
//
// Results are ordered by descending probability, then by ascending label id.
#pragma once

#include <vector>

#include "labelgrove/known_labels.hpp"
#include "labelgrove/lom_tree.hpp"
#include "labelgrove/routers.hpp"
#include "labelgrove/scored.hpp"

namespace labelgrove {

// Finds classes for one example after another. Not thread-safe: use one for each thread.
class LomSearcher {
 public:
  // `leaves`: the number of most probable leaves to use; 1 is the paper's single path. REQUIRES: leaves > 0.
  LomSearcher(const LomTree& tree, const LabelScope& scope, std::size_t leaves)
      : tree_(tree), scope_(scope), search_(tree, leaves) {}

  // The k most probable classes, exactly.
  void top_k(const Features& x, std::size_t k, std::vector<Scored>& found);
  // All classes whose probability reaches their threshold, exactly. REQUIRES: scope has thresholds.
  void above_threshold(const Features& x, std::vector<Scored>& found);

  // Regressors evaluated, and the depth of the deepest node visited.
  const SearchStats& stats() const { return search_.stats(); }

 private:
  // A leaf in use, and how far up its smoothing has been followed.
  struct Reached {
    NodeId leaf;
    double weight;
    NodeId next;  // kNone above the root
    double mass;  // the part left for `next` and the nodes above it
  };

  void find_leaves(const Features& x);
  double climb();
  double probability(LabelId label) const;

  const LomTree& tree_;
  const LabelScope& scope_;
  LeafSearch<LomTree> search_;
  Workspace work_;
  std::vector<Reached> reached_;  // most probable first
  std::vector<Share> parts_;      // by label: the part of its probability from the nodes climbed so far
  std::vector<double> scores_;    // of parts_
};

}  // namespace labelgrove
