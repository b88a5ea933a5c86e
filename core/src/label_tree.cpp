#include "labelgrove/label_tree.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace labelgrove {

namespace {

[[noreturn]] void refuse_node(NodeId v, const char* why) {
  throw std::invalid_argument("tree node " + std::to_string(v) + " " + why);
}

}  // namespace

TreeOutline::TreeOutline(std::span<const NodeId> parents, std::span<const LabelId> labels,
                         std::span<const std::uint8_t> silent, LabelId label_count)
    : parents_(parents), labels_(labels), silent_(silent), leaf_of_(label_count, kNone) {
  const std::size_t n = parents.size();
  if (n >= kNone) throw std::invalid_argument("a tree must have fewer than 2^32 - 1 nodes");
  if (n < 2 || labels.size() != n || silent.size() != n) {
    throw std::invalid_argument("a tree needs at least two nodes, with a parent, a label and a silent flag for each");
  }
  shapes_.resize(n);
  if (parents[kAboveRoot] != kNone) refuse_node(kAboveRoot, "must have no parent");
  for (NodeId v = 1; v < n; ++v) {
    const NodeId parent = parents[v];
    if (parent >= n) refuse_node(v, "has a parent that does not exist");
    if ((parent == kAboveRoot) != (v == kRoot))
      refuse_node(v, "is in the wrong place: only the root, node 1, is a child of node 0");
    ++shapes_[parent].children;
  }
  check_paths();
  for (NodeId v = 0; v < n; ++v) {
    const LabelId label = labels[v];
    if (!shapes_[v].is_leaf()) {
      if (label != kNone || silent[v] != 0) refuse_node(v, "is an inner node and must have no label");
      continue;
    }
    ++shapes_[parents[v]].leaf_children;
    if (label == kNone) {
      if (v != kRoot) refuse_node(v, "is a leaf without a label");
      if (silent[v] != 0) refuse_node(v, "is silent but has no label");
      continue;
    }
    if (label >= label_count) refuse_node(v, "has a label that does not exist");
    if (silent[v] != 0) continue;
    if (leaf_of_[label] != kNone) refuse_node(v, "has the same label as another leaf");
    leaf_of_[label] = v;
  }
}

// Climbs from every node up to the first node already visited.
void TreeOutline::check_paths() const {
  enum class Met : std::uint8_t { no, on_this_path, below_root };
  std::vector<Met> met(parents_.size(), Met::no);
  met[kAboveRoot] = Met::below_root;
  for (NodeId v = 1; v < parents_.size(); ++v) {
    NodeId above = v;
    for (; met[above] == Met::no; above = parents_[above]) met[above] = Met::on_this_path;
    if (met[above] == Met::on_this_path) refuse_node(v, "cannot be reached from the root: there is a cycle");
    for (above = v; met[above] == Met::on_this_path; above = parents_[above]) met[above] = Met::below_root;
  }
}

LabelTree::LabelTree() : nodes_(2) {
  nodes_[kAboveRoot].children.push_back(kRoot);
  nodes_[kAboveRoot].leaf_children = 1;
  nodes_[kRoot].parent = kAboveRoot;
}

LabelTree LabelTree::of_labels_only(const TreeOutline& outline) {
  LabelTree tree;
  tree.leaf_of_ = outline.leaves();
  return tree;
}

LabelTree::LabelTree(const TreeOutline& outline) : nodes_(outline.size()), leaf_of_(outline.leaves()) {
  for (NodeId v = 1; v < size(); ++v) {
    TreeNode& node = nodes_[v];
    node.parent = outline.parent(v);
    node.slot = static_cast<std::uint32_t>(nodes_[node.parent].children.size());
    nodes_[node.parent].children.push_back(v);
  }
  std::vector<NodeId> order{kAboveRoot};  // from the root down
  order.reserve(size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const NodeId child : nodes_[order[i]].children) order.push_back(child);
  }
  for (std::size_t i = order.size(); i-- > 0;) {
    const NodeId v = order[i];
    TreeNode& node = nodes_[v];
    if (node.is_leaf()) {
      node.label = outline.label(v);
      node.silent = outline.silent(v);
      node.live = node.label != kNone && !node.silent ? 1 : 0;
    } else {
      node.leaves = 0;
      for (const NodeId child : node.children) {
        node.leaves += nodes_[child].leaves;
        node.live += nodes_[child].live;
        node.leaf_children += nodes_[child].is_leaf() ? 1 : 0;
        node.silent_children += nodes_[child].silent ? 1 : 0;
      }
    }
  }
}

void LabelTree::store(std::span<NodeId> parents, std::span<LabelId> labels, std::span<std::uint8_t> silent) const {
  for (std::size_t v = 0; v < nodes_.size(); ++v) {
    parents[v] = nodes_[v].parent;
    labels[v] = nodes_[v].label;
    silent[v] = nodes_[v].silent ? 1 : 0;
  }
}

std::size_t LabelTree::bytes() const {
  std::size_t bytes = nodes_.size() * sizeof(TreeNode);
  for (const TreeNode& node : nodes_) bytes += node.children.bytes();
  return bytes;
}

NodeId LabelTree::insert_node(NodeId v) {
  const NodeId inserted = size();
  TreeNode below = nodes_[v];  // everything but v's place in the tree
  below.parent = v;
  below.slot = 0;
  for (const NodeId child : below.children) nodes_[child].parent = inserted;
  if (below.label != kNone && !below.silent) set_leaf_of(below.label, inserted);
  TreeNode& node = nodes_[v];
  if (node.is_leaf()) {
    TreeNode& parent = nodes_[node.parent];
    --parent.leaf_children;
    parent.silent_children -= node.silent ? 1 : 0;
  }
  node.children.release();
  node.children.push_back(inserted);
  node.leaf_children = below.is_leaf() ? 1 : 0;
  node.silent_children = below.silent ? 1 : 0;
  node.label = kNone;
  node.silent = false;
  nodes_.push_back(std::move(below));
  return inserted;
}

NodeId LabelTree::add_leaf(NodeId v, LabelId label) {
  const NodeId leaf = size();
  TreeNode node;
  node.parent = v;
  node.slot = static_cast<std::uint32_t>(nodes_[v].children.size());
  node.leaves = 0;
  nodes_.push_back(std::move(node));
  nodes_[v].children.push_back(leaf);
  ++nodes_[v].leaf_children;
  nodes_[leaf].label = label;
  set_leaf_of(label, leaf);
  add_along_path(leaf, 1, 1);
  return leaf;
}

void LabelTree::give_label(NodeId leaf, LabelId label) {
  if (nodes_[leaf].silent) --nodes_[nodes_[leaf].parent].silent_children;
  nodes_[leaf].label = label;
  nodes_[leaf].silent = false;
  set_leaf_of(label, leaf);
  add_along_path(leaf, 0, 1);
}

bool LabelTree::has_labels_of(const LabelTree& other) const {
  for (LabelId label = 0; label < std::max(label_count(), other.label_count()); ++label) {
    if ((leaf_of(label) == kNone) != (other.leaf_of(label) == kNone)) return false;
  }
  return true;
}

std::vector<LabelId> LabelTree::removable(std::span<const LabelId> labels) const {
  std::vector<LabelId> sorted(labels.begin(), labels.end());
  std::ranges::sort(sorted);
  const bool all_there = std::ranges::none_of(sorted, [this](LabelId label) { return leaf_of(label) == kNone; });
  if (!all_there || std::ranges::adjacent_find(sorted) != sorted.end()) {
    throw std::invalid_argument("a label to be removed is not in the tree, or is given twice");
  }
  return sorted;
}

void LabelTree::remove_label(LabelId label) {
  const NodeId leaf = leaf_of_[label];
  leaf_of_[label] = kNone;
  nodes_[leaf].silent = true;
  ++nodes_[nodes_[leaf].parent].silent_children;
  add_along_path(leaf, 0, -1);
}

void LabelTree::add_along_path(NodeId v, std::uint32_t leaves, std::int32_t live) {
  for (; v != kNone; v = nodes_[v].parent) {
    nodes_[v].leaves += leaves;
    nodes_[v].live += static_cast<std::uint32_t>(live);
  }
}

void LabelTree::set_leaf_of(LabelId label, NodeId leaf) {
  if (label >= leaf_of_.size()) leaf_of_.resize(std::size_t{label} + 1, kNone);
  leaf_of_[label] = leaf;
}

}  // namespace labelgrove
