#include "labelgrove/explain.hpp"

#include <algorithm>

namespace labelgrove {
namespace {

// The nodes from the root to the leaf.
std::vector<NodeId> path_to(const LabelTree& tree, NodeId leaf) {
  std::vector<NodeId> path;
  for (NodeId v = leaf; v != kNone && v != kAboveRoot; v = tree[v].parent) path.push_back(v);
  std::ranges::reverse(path);
  return path;
}

float conditional(const LabelTree& tree, std::span<const NodeBlock* const> blocks, const Features& x, NodeId v,
                  Workspace& work, std::vector<float>& siblings) {
  const NodeId parent = tree[v].parent;
  siblings.resize(tree[parent].children.size());
  blocks[parent]->predict(x, work, siblings.data());
  return siblings[tree[v].slot];
}

}  // namespace

LabelPath explain_label(const LabelTree& tree, std::span<const NodeBlock* const> blocks, const Features& x,
                        LabelId label) {
  LabelPath path;
  path.nodes = path_to(tree, tree.leaf_of(label));
  path.contributions.resize(path.nodes.size() * x.size);
  Workspace work;
  std::vector<float> siblings;
  for (std::size_t i = 0; i < path.nodes.size(); ++i) {
    const NodeId v = path.nodes[i];
    path.probabilities.push_back(conditional(tree, blocks, x, v, work, siblings));
    path.bias.push_back(blocks[tree[v].parent]->contributions(x, tree[v].slot, path.contributions.data() + i * x.size));
  }
  return path;
}

void append_path(const LabelTree& tree, std::span<const NodeBlock* const> blocks, const Features& x, LabelId label,
                 Workspace& work, std::vector<float>& probabilities) {
  std::vector<float> siblings;
  for (const NodeId v : path_to(tree, tree.leaf_of(label))) {
    probabilities.push_back(conditional(tree, blocks, x, v, work, siblings));
  }
}

}  // namespace labelgrove
