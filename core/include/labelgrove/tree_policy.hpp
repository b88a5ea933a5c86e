// Places new labels in a growing tree (Jasinska-Kobus et al. 2021, Algorithm 8), and decides which nodes keep an
// auxiliary classifier for this purpose.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "labelgrove/base.hpp"
#include "labelgrove/label_tree.hpp"

namespace labelgrove {

enum class Policy : std::uint8_t {
  fixed = 0,        // the given tree does not grow: IPLT
  best_greedy = 1,  // Algorithm 8
  random = 2,       // Algorithm 8
  cpet = 3,         // descend like best_greedy, but always down to a leaf, and expand it
  complete = 4,     // descend to the child with the fewest leaves
};

struct GrowthOptions {
  Policy policy = Policy::best_greedy;
  double alpha = 0.75;             // weight of the balance term in BEST-GREEDY's score
  std::uint32_t arity = 2;         // b
  std::uint32_t max_leaves = 100;  // b_max, the arity of pre-leaf nodes
  // b_max of the root if examples have many features (docs/decisions/tree-shape.md); 0 means max_leaves.
  std::uint32_t first_leaves = 0;
};

class TreePolicy {
 public:
  TreePolicy(const GrowthOptions& options, std::uint64_t seed) : options_(options), seed_(seed) {}

  // Announces the next example, before its new labels are placed.
  void observe(std::size_t features) {
    ++past_.examples;
    past_.features += features;
  }

  // Takes back an example that is not learnt after all.
  void take_back(std::size_t features) {
    --past_.examples;
    past_.features -= features;
  }

  // eta of a node's children for the current example.
  using Probabilities = std::function<std::span<const float>(NodeId)>;

  // Lines 2 to 9: selects the node that takes the example's next new label. `last` is the node selected for the
  // previous one, kNone for the first. REQUIRES: the tree has a label.
  NodeId select(const LabelTree& tree, NodeId last, const Probabilities& probabilities);
  // Line 10: whether v can only take a leaf after a node has been inserted between v and its children.
  bool must_insert(const LabelTree& tree, NodeId v) const {
    return tree[v].is_leaf() || tree[v].children.size() >= most_leaves(v);
  }
  // Whether v may still be selected, so that it must keep its auxiliary classifier.
  template <typename Tree>
  bool needs_theta(const Tree& tree, NodeId v) const {
    return v != kAboveRoot && needs_theta(tree.shape(v), tree.shape(tree.parent(v)), tree.parent(v) == kAboveRoot);
  }

  // The state that choices depend on, apart from the tree and its classifiers. Model files store it.
  struct Past {
    std::uint64_t draws = 0;     // random choices made so far
    std::uint64_t examples = 0;  // observed
    std::uint64_t features = 0;  // their total number of features
  };
  const Past& past() const { return past_; }
  void restore(const Past& past) { past_ = past; }

 private:
  bool needs_theta(const NodeShape& node, const NodeShape& parent, bool is_root) const;
  std::uint32_t most_leaves(NodeId v) const;
  NodeId descend(const LabelTree& tree, NodeId v, const Probabilities& probabilities);
  NodeId best_child(const TreeNode& node, const LabelTree& tree, std::span<const float> probabilities) const;

  GrowthOptions options_;
  std::uint64_t seed_;
  Past past_;
};

}  // namespace labelgrove
