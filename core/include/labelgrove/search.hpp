// Prediction with a probabilistic label tree: eta_v(x) is the product of the classifiers on the path to v (Eq. 2).
//
// Order of results, everywhere: higher probability first, and among equal probabilities the label that arrived first.
// Silent leaves, and with an allow-list all labels that are not on it, are never returned, and subtrees without any label
// that could be are never entered.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/label_tree.hpp"
#include "labelgrove/node_block.hpp"

namespace labelgrove {

struct Scored {
  LabelId label;
  float probability;
};

struct SearchStats {
  std::uint32_t classifiers = 0;  // evaluated
  std::uint32_t depth = 0;        // of the deepest node entered; the root has depth 0
};

// What can be returned from where: for each node how much hope there is below it.
class Scope {
 public:
  // All labels of the tree.
  explicit Scope(const LabelTree& tree) : tree_(tree) {}
  // Only the labels given.
  Scope(const LabelTree& tree, std::span<const LabelId> allowed);
  // Also prepares thresholds: by label, pushed up the tree as the minimum below each node.
  void set_thresholds(std::span<const float> by_label);

  bool open(NodeId v) const { return restricted_ ? open_[v] != 0 : tree_[v].live > 0; }
  float threshold(NodeId v) const { return thresholds_.size() == 1 ? thresholds_[0] : thresholds_[v]; }

 private:
  const LabelTree& tree_;
  bool restricted_ = false;
  std::vector<std::uint8_t> open_;
  std::vector<float> thresholds_;
};

// Finds labels for one example after another. Not for several threads at once: each has its own.
class Searcher {
 public:
  // `blocks[v]` holds the classifiers of v's children.
  Searcher(const LabelTree& tree, std::span<const NodeBlock* const> blocks, const Scope& scope)
      : tree_(tree), blocks_(blocks), scope_(scope) {}

  // The k most probable labels: uniform-cost search (Algorithm 10). Exact.
  void top_k(const Features& x, std::size_t k, std::vector<Scored>& found);
  // All labels whose probability is at least their threshold. Exact. REQUIRES: scope has thresholds.
  void above_threshold(const Features& x, std::vector<Scored>& found);
  // The k best of all leaves that a beam reaches: level by level, the `width` most probable inner nodes are opened, among
  // equals the older node. Leaves take no place in the beam.
  void beam(const Features& x, std::size_t k, std::size_t width, std::vector<Scored>& found);

  const SearchStats& stats() const { return stats_; }

 private:
  struct Item {
    float probability;
    std::uint32_t rank;  // among equals: 0 for inner nodes, which may hide any label, then leaves by label
    NodeId node;
    std::uint32_t depth;
  };
  static bool worse(const Item& a, const Item& b);
  Item item(NodeId v, float probability, std::uint32_t depth) const;
  void start();
  // Calls take(child, probability) for every open child of an inner node.
  template <typename Take>
  void open_node(const Features& x, const Item& parent, Take&& take);

  const LabelTree& tree_;
  std::span<const NodeBlock* const> blocks_;
  const Scope& scope_;
  SearchStats stats_;
  Workspace work_;
  std::vector<float> probabilities_;
  std::vector<Item> queue_;
  std::vector<Item> next_;
  std::vector<float> best_;
};

}  // namespace labelgrove
