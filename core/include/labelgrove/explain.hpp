// Why a label has the probability that it has: the node classifiers on the path to its leaf, and what each feature of
// the example says there.
#pragma once

#include <span>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/label_tree.hpp"
#include "labelgrove/node_block.hpp"

namespace labelgrove {

// The path to one leaf, the root first.
struct LabelPath {
  std::vector<NodeId> nodes;
  std::vector<float> probabilities;  // P(node | parent, x); their product, in this order, is what a search finds
  std::vector<float> bias;           // the linear score without any feature
  std::vector<float> contributions;  // (nodes, features of x): what each feature adds to the score
};

// The path to the label's leaf. REQUIRES: the label has one; every inner node has a block.
LabelPath explain_label(const LabelTree& tree, std::span<const NodeBlock* const> blocks, const Features& x,
                        LabelId label);

// Appends P(node | parent, x) of every node on the path to the label's leaf, the root first; nothing if it has none.
void append_path(const LabelTree& tree, std::span<const NodeBlock* const> blocks, const Features& x, LabelId label,
                 Workspace& work, std::vector<float>& probabilities);

}  // namespace labelgrove
