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

// Finds classes for one example after another. Not thread-safe: each thread has its own.
class LomSearcher {
 public:
  // `leaves`: how many of the most probable leaves count; 1 is the paper's one path. REQUIRES: leaves > 0.
  LomSearcher(const LomTree& tree, const LomScope& scope, std::size_t leaves)
      : tree_(tree), scope_(scope), leaves_(leaves) {}

  // The k most probable classes. Exact.
  void top_k(const Features& x, std::size_t k, std::vector<Scored>& found);
  // All classes whose probability is at least their threshold. Exact. REQUIRES: scope has thresholds.
  void above_threshold(const Features& x, std::vector<Scored>& found);

  // Regressors asked, and the depth of the deepest node looked at.
  const SearchStats& stats() const { return stats_; }

 private:
  struct Item {
    double probability;
    NodeId node;
    std::uint32_t depth;
  };
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
  bool hopeless(const Item& item) const;
  void follow(Item item, const Features& x);
  double climb();
  double probability(LabelId label) const;

  const LomTree& tree_;
  const LomScope& scope_;
  std::size_t leaves_;
  SearchStats stats_;
  Workspace work_;
  std::vector<Item> queue_;
  std::vector<Reached> reached_;  // the most probable first
  std::vector<Part> parts_;       // by label: what the nodes climbed so far add to its probability
  std::vector<double> scores_;    // of parts_
};

// The paper's one path of an example, and what each of its features says at the inner nodes.
struct LomRoute {
  std::vector<NodeId> nodes;         // the leaf is the last one
  std::vector<float> bias;           // of inner nodes: the margin without any feature
  std::vector<float> contributions;  // (inner nodes, features of x): what each feature adds to the margin
};

LomRoute explain_route(const LomTree& tree, const Features& x);

}  // namespace labelgrove
