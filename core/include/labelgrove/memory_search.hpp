// Prediction with a memory tree: the examples remembered at the most probable leaves vote for their labels, weighted by
// their nearness, and these labels' own classifiers are evaluated.
//
// P(y) is the geometric mean of y's share of the votes and the probability from its classifier. Another half vote is
// divided among all labels according to their frequency, so that every label has a probability and near ones come
// first.
//
// Results are ordered by descending probability, then by ascending label id.
#pragma once

#include <cstdint>
#include <vector>

#include "labelgrove/known_labels.hpp"
#include "labelgrove/memory_tree.hpp"
#include "labelgrove/routers.hpp"
#include "labelgrove/scored.hpp"

namespace labelgrove {

// The evidence for a label: the votes of remembered examples that have it, and its classifier.
struct MemoryEvidence {
  double share = 0.0;                // of the votes
  float near_bias = 0.0F;            // bias of the similarity; 0, like `near`, if no near example has the label
  std::vector<float> near;           // each feature's contribution to their similarity, averaged by votes
  float bias = 0.0F;                 // the classifier's
  std::vector<float> contributions;  // each feature's contribution to the margin; empty without a classifier
};

// Finds labels for one example after another. Not thread-safe: use one for each thread.
class MemorySearcher {
 public:
  // `leaves`: the number of most probable leaves to search; 1 is the paper's single path. REQUIRES: leaves > 0.
  MemorySearcher(const MemoryTree& tree, const LabelScope& scope, std::size_t leaves)
      : tree_(tree), scope_(scope), search_(tree, leaves) {}

  // The k most probable labels.
  void top_k(const Features& x, std::size_t k, std::vector<Scored>& found);
  // All labels whose probability reaches their threshold. REQUIRES: scope has thresholds.
  void above_threshold(const Features& x, std::vector<Scored>& found);

  MemoryEvidence evidence(const Features& x, LabelId label);

  // Routers and label classifiers evaluated, the depth of the deepest node visited, and leaves visited.
  const SearchStats& stats() const { return stats_; }

 private:
  // A remembered example, and its share of the votes.
  struct Vote {
    std::uint32_t entry;
    double share;
  };

  template <typename Least, typename Take>
  void score(const Features& x, Least&& least, Take&& take);
  float probability(double share, LabelId label) const;
  float prior(LabelId label) const;
  void vote(const Features& x);
  template <typename Enough>
  void merge(std::vector<Scored>& found, Enough&& enough);

  const MemoryTree& tree_;
  const LabelScope& scope_;
  LeafSearch<MemoryTree> search_;
  SearchStats stats_;
  Workspace work_;
  Nearness nearness_;
  std::vector<Vote> votes_;
  double rest_ = 1.0;           // the part divided by frequency
  std::vector<Share> parts_;    // by label: those that have votes
  std::vector<Scored> bounds_;  // a heap of those not evaluated yet, with the most that their probability can be
  std::vector<Scored> near_;    // those evaluated, most probable first
};

}  // namespace labelgrove
