#include "labelgrove/tree_policy.hpp"

#include <algorithm>
#include <limits>

#include "labelgrove/elementary.hpp"
#include "labelgrove/hash.hpp"

namespace labelgrove {
namespace {

// With this many features per example on average, a node that unites many labels can be recognised by them.
constexpr std::uint64_t kManyFeatures = 5;

}  // namespace

std::uint32_t TreePolicy::most_leaves(NodeId v) const {
  const bool wide = v == kRoot && past_.features >= kManyFeatures * past_.examples;
  return wide ? std::max(options_.first_leaves, options_.max_leaves) : options_.max_leaves;
}

NodeId TreePolicy::select(const LabelTree& tree, NodeId last, const Probabilities& probabilities) {
  // If the example's previous label has filled the node (which only happens in given trees), descend from it.
  NodeId v = last == kNone ? descend(tree, kRoot, probabilities) : last;
  if (last != kNone && tree[v].leaf_children != 1) v = descend(tree, v, probabilities);
  if (tree[v].leaf_children == 1) {  // line 8
    const auto& children = tree[v].children;
    v = *std::ranges::find_if(children, [&](NodeId child) { return tree[child].is_leaf(); });
  }
  return v;
}

// Lines 2 to 6.
NodeId TreePolicy::descend(const LabelTree& tree, NodeId v, const Probabilities& probabilities) {
  while (!tree[v].is_leaf()) {
    const TreeNode& node = tree[v];
    const bool takes_more = tree.shape(v).is_pre_leaf() || node.children.size() < options_.arity;
    if (options_.policy != Policy::cpet && takes_more) break;
    switch (options_.policy) {
      case Policy::random:
        v = node.children[draw(seed_, Draw::policy, past_.draws++) % node.children.size()];
        break;
      case Policy::complete:
        v = *std::ranges::min_element(node.children, {}, [&](NodeId child) { return tree[child].leaves; });
        break;
      default:
        v = best_child(node, tree, probabilities(v));
    }
  }
  return v;
}

// Line 6: the child with the best (1 - alpha) eta(x, v') + alpha log((|L_v| / |Ch(v)|) / |L_v'|); the first among
// equals.
NodeId TreePolicy::best_child(const TreeNode& node, const LabelTree& tree, std::span<const float> probabilities) const {
  const double even_share = static_cast<double>(node.leaves) / static_cast<double>(node.children.size());
  NodeId best = node.children[0];
  double best_score = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const double balance = fixed_log(even_share / tree[node.children[i]].leaves);
    const double score = (1.0 - options_.alpha) * static_cast<double>(probabilities[i]) + options_.alpha * balance;
    if (score > best_score) {
      best_score = score;
      best = node.children[i];
    }
  }
  return best;
}

bool TreePolicy::needs_theta(const NodeShape& node, const NodeShape& parent, bool is_root) const {
  if (options_.policy == Policy::fixed) return false;
  if (options_.policy == Policy::cpet) return node.is_leaf();
  if (node.is_leaf()) return is_root || !parent.is_pre_leaf() || parent.leaf_children == 1;
  return node.is_pre_leaf() || node.children < options_.arity;
}

}  // namespace labelgrove
