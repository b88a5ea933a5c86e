// The structure of a label tree without its classifiers: parents, children, and the label of every leaf.
//
// Node 0 stands above the root and has the root, node 1, as its only child. The root's own classifier, P(any label |
// x), is therefore a child column like any other and needs no special case.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/thin_vector.hpp"

namespace labelgrove {

inline constexpr NodeId kAboveRoot = 0;
inline constexpr NodeId kRoot = 1;

struct TreeNode {
  NodeId parent = kNone;
  std::uint32_t slot = 0;    // index among its siblings, and so its column in the parent's block
  LabelId label = kNone;     // kNone for inner nodes, and for the root before its first label
  bool silent = false;       // a leaf whose label was removed: it keeps its place but is never predicted
  std::uint32_t leaves = 1;  // leaves at or below this node, silent ones included: the paper's |L_v|
  std::uint32_t live = 0;    // labels at or below this node that may be predicted
  std::uint32_t leaf_children = 0;
  std::uint32_t silent_children = 0;
  ThinVector<NodeId> children;

  bool is_leaf() const { return children.empty(); }
};

// A node's number of children, and how many of them are leaves.
struct NodeShape {
  std::uint32_t children = 0;
  std::uint32_t leaf_children = 0;

  bool is_leaf() const { return children == 0; }
  // All children are leaves.
  bool is_pre_leaf() const { return children > 0 && leaf_children == children; }
};

// A tree in the form of arrays, checked for consistency, in a few bytes per node.
class TreeOutline {
 public:
  // Node numbers may be in any order, except that parents[0] = kNone and node 1 is node 0's only child. labels[v] is
  // kNone for inner nodes, else below `label_count`, the number of labels that ever existed. The arrays must outlive
  // the outline. Throws std::invalid_argument, naming the node, if they do not form a tree, if a label occurs twice, or
  // if an inner node has a label.
  TreeOutline(std::span<const NodeId> parents, std::span<const LabelId> labels, std::span<const std::uint8_t> silent,
              LabelId label_count);

  NodeId size() const { return static_cast<NodeId>(parents_.size()); }
  NodeId parent(NodeId v) const { return parents_[v]; }
  LabelId label(NodeId v) const { return labels_[v]; }
  bool silent(NodeId v) const { return silent_[v] != 0; }
  const NodeShape& shape(NodeId v) const { return shapes_[v]; }
  // By label, its leaf; kNone if it has none.
  const std::vector<NodeId>& leaves() const { return leaf_of_; }

 private:
  void check_paths() const;

  std::span<const NodeId> parents_;
  std::span<const LabelId> labels_;
  std::span<const std::uint8_t> silent_;
  std::vector<NodeShape> shapes_;
  std::vector<NodeId> leaf_of_;
};

class LabelTree {
 public:
  // Only the root, without a label.
  LabelTree();
  explicit LabelTree(const TreeOutline& outline);
  LabelTree(std::span<const NodeId> parents, std::span<const LabelId> labels, std::span<const std::uint8_t> silent,
            LabelId label_count)
      : LabelTree(TreeOutline(parents, labels, silent, label_count)) {}
  // A tree that only knows which labels exist.
  static LabelTree of_labels_only(const TreeOutline& outline);

  // Writes the arrays of an outline; each span has room for all nodes.
  void store(std::span<NodeId> parents, std::span<LabelId> labels, std::span<std::uint8_t> silent) const;

  const TreeNode& operator[](NodeId v) const { return nodes_[v]; }
  NodeId size() const { return static_cast<NodeId>(nodes_.size()); }
  NodeId parent(NodeId v) const { return nodes_[v].parent; }
  NodeShape shape(NodeId v) const {
    return {static_cast<std::uint32_t>(nodes_[v].children.size()), nodes_[v].leaf_children};
  }
  // The leaf of a label; kNone if it has none, or was removed.
  NodeId leaf_of(LabelId label) const { return label < leaf_of_.size() ? leaf_of_[label] : kNone; }
  // One more than the largest label that was ever in the tree.
  LabelId label_count() const { return static_cast<LabelId>(leaf_of_.size()); }

  // Memory held by the nodes, in bytes.
  std::size_t bytes() const;

  // INSERTNODE (Algorithm 5): inserts a node between v and its children. If v is a leaf, the new node is a leaf that
  // takes over v's label. Returns the new node.
  NodeId insert_node(NodeId v);
  // ADDLEAF (Algorithm 6): appends a child to v and returns it. REQUIRES: v is an inner node.
  NodeId add_leaf(NodeId v, LabelId label);
  // Gives a label to a leaf that has none, or to a silent leaf.
  void give_label(NodeId leaf, LabelId label);
  // Silences the label's leaf. REQUIRES: it has one.
  void remove_label(LabelId label);
  // Whether the same labels have leaves in both trees.
  bool has_labels_of(const LabelTree& other) const;
  // Returns the labels in ascending order. Throws std::invalid_argument if one has no leaf or is given twice.
  std::vector<LabelId> removable(std::span<const LabelId> labels) const;

 private:
  void add_along_path(NodeId v, std::uint32_t leaves, std::int32_t live);
  void set_leaf_of(LabelId label, NodeId leaf);

  std::vector<TreeNode> nodes_;
  std::vector<NodeId> leaf_of_;
};

}  // namespace labelgrove
