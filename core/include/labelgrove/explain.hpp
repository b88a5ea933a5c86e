// Explains a label's probability: the node classifiers on the path to its leaf, and the contribution of each feature of
// the example to their scores.
#pragma once

#include <span>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/label_tree.hpp"
#include "labelgrove/node_block.hpp"

namespace labelgrove {

// The path to a leaf, starting at the root.
struct LabelPath {
  std::vector<NodeId> nodes;
  // P(node | parent, x); their product, in this order, is the probability that a search finds.
  std::vector<float> probabilities;
  std::vector<float> bias;           // the linear score of an example without features
  std::vector<float> contributions;  // (nodes, features of x): each feature's contribution to the score
};

// The path to the label's leaf. REQUIRES: the label has one; every inner node has a block.
LabelPath explain_label(const LabelTree& tree, std::span<const NodeBlock* const> blocks, const Features& x,
                        LabelId label);

// Appends P(node | parent, x) for every node on the path to the label's leaf, starting at the root; nothing if there is
// no leaf.
void append_path(const LabelTree& tree, std::span<const NodeBlock* const> blocks, const Features& x, LabelId label,
                 Workspace& work, std::vector<float>& probabilities);

}  // namespace labelgrove
