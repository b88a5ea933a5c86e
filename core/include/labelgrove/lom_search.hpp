// Prediction with a LOMtree: the class frequencies of the leaf that an example reaches, or of its most probable
// leaves.
//
// Along the paper's one path an example goes right where the margin m is above 0. Where several leaves are wanted, it
// goes right with probability sigma(slope m), the node's slope having been learnt with it, and the most probable
// leaves are found by best-first search, which goes down to a leaf before it turns to the best of what it has left
// aside, and asks no more nodes than a multiple of the logarithm of their number; leaves count by their probabilities,
// which are scaled to sum to 1.
//
// Frequencies are smoothed: at every node half an example more is counted, which is shared out among the classes by
// their smoothed frequencies at the parent. So every class has a probability, and those that a leaf has seen come
// first.
//
// Order of results: higher probability first, and among equal probabilities the label with the lower id.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/known_labels.hpp"
#include "labelgrove/lom_tree.hpp"
#include "labelgrove/routers.hpp"
#include "labelgrove/search.hpp"

namespace labelgrove {

// Finds classes for one example after another. Not thread-safe: each thread has its own.
class LomSearcher {
 public:
  // `leaves`: how many of the most probable leaves count; 1 is the paper's one path. REQUIRES: leaves > 0.
  LomSearcher(const LomTree& tree, const LabelScope& scope, std::size_t leaves)
      : tree_(tree), scope_(scope), search_(tree, leaves) {}

  // The k most probable classes. Exact.
  void top_k(const Features& x, std::size_t k, std::vector<Scored>& found);
  // All classes whose probability is at least their threshold. Exact. REQUIRES: scope has thresholds.
  void above_threshold(const Features& x, std::vector<Scored>& found);

  // Regressors asked, and the depth of the deepest node looked at.
  const SearchStats& stats() const { return search_.stats(); }

 private:
  // A leaf that counts, and how far its smoothing has been followed upwards.
  struct Reached {
    NodeId leaf;
    double weight;
    NodeId next;  // kNone above the root
    double mass;  // what is left for the nodes from `next` on
  };
  struct Part {
    LabelId label;
    double score;
  };

  void find_leaves(const Features& x);
  double climb();
  double probability(LabelId label) const;

  const LomTree& tree_;
  const LabelScope& scope_;
  LeafSearch<LomTree> search_;
  Workspace work_;
  std::vector<Reached> reached_;  // the most probable first
  std::vector<Part> parts_;       // by label: what the nodes climbed so far add to its probability
  std::vector<double> scores_;    // of parts_
};

}  // namespace labelgrove
