// Prediction with a memory tree: the examples remembered at the most probable leaves vote for their labels, each
// weighted by how near it is, and those labels' own classifiers are asked.
//
// P(y) is the geometric mean of y's share of the votes and of its classifier's probability. Half an example's vote goes to
// all labels in proportion to their frequency, so that every label has a probability and the near ones come first.
//
// Order of results: higher probability first, and among equal probabilities the label with the lower id.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/known_labels.hpp"
#include "labelgrove/memory_tree.hpp"
#include "labelgrove/routers.hpp"
#include "labelgrove/search.hpp"

namespace labelgrove {

// The evidence for a label: the votes of the remembered examples that have it, and its classifier.
struct MemoryEvidence {
  double share = 0.0;                // of the votes
  float near_bias = 0.0F;            // of the similarity; all 0 if no near example has the label
  std::vector<float> near;           // what each feature of x adds to their nearness, averaged by votes
  float bias = 0.0F;                 // the classifier's
  std::vector<float> contributions;  // what each feature adds to its margin; empty without a classifier
};

// Finds labels for one example after another. Not thread-safe: each thread has its own.
class MemorySearcher {
 public:
  // `leaves`: how many of the most probable leaves to look at; the paper's single path is 1. REQUIRES: leaves > 0.
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
  struct Part {
    LabelId label;
    double share;
  };

  void score(const Features& x);
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
  double rest_ = 1.0;         // the part shared out by frequency
  std::vector<Part> parts_;   // of the labels that have votes, by label
  std::vector<Scored> near_;  // the same, the most probable first
};

}  // namespace labelgrove
