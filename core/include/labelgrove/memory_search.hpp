// Prediction with a memory tree: the labels of the examples that are remembered at the most probable leaves of an
// example, which vote, each by how near it is; and what the classifiers of these labels say.
//
// P(y) is the geometric mean of the share of the votes for y and of the probability that its classifier gives. Half an example
// more votes, for every label by how frequent it is. So every label has a probability, and those near by come first.
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

// What speaks for a label: the remembered examples that have it, as they vote, and its classifier.
struct MemoryEvidence {
  double share = 0.0;                // of the votes
  float near_bias = 0.0F;            // the similarity's; all 0 where none of those near has the label
  std::vector<float> near;           // what each feature of x adds to how near they are, in the mean by their votes
  float bias = 0.0F;                 // the classifier's
  std::vector<float> contributions;  // what each feature adds to its margin; none, where there is no classifier
};

// Finds labels for one example after another. Not thread-safe: each thread has its own.
class MemorySearcher {
 public:
  // `leaves`: how many of the most probable leaves are looked at; 1 is the paper's one path. REQUIRES: leaves > 0.
  MemorySearcher(const MemoryTree& tree, const LabelScope& scope, std::size_t leaves)
      : tree_(tree), scope_(scope), search_(tree, leaves) {}

  // The k most probable labels.
  void top_k(const Features& x, std::size_t k, std::vector<Scored>& found);
  // All labels whose probability is at least their threshold. REQUIRES: scope has thresholds.
  void above_threshold(const Features& x, std::vector<Scored>& found);

  MemoryEvidence evidence(const Features& x, LabelId label);

  // Classifiers asked, of routers and labels, the depth of the deepest node looked at, and leaves looked at.
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
  double rest_ = 1.0;         // what is shared out by frequency
  std::vector<Part> parts_;   // by label: of those that have votes
  std::vector<Scored> near_;  // the same, the most probable first
};

}  // namespace labelgrove
