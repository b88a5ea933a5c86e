// The cost of searching a label tree, and the cheapest tree to which a finer one can be reduced.
//
// A search opens a node's block, which costs as much as `block_cost` classifiers whatever its width, and evaluates a
// classifier for every child. A tree therefore costs the sum over its inner nodes of visits * (block_cost + children),
// where visits is the frequency with which the node is on the way to a label being searched for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/clustering.hpp"

namespace labelgrove {

// Sets of labels that are searched for together: set i is labels[indptr[i]], …, labels[indptr[i + 1] - 1].
struct LabelSets {
  std::span<const std::int64_t> indptr;
  std::span<const LabelId> labels;
  std::span<const double> frequencies;  // of the sets
};

// For every node, the total frequency of the sets that have a label below it. REQUIRES: parents before children; all
// labels are in the tree.
std::vector<double> visits_of(const ClusterTree& tree, const LabelSets& sets);

// The cheapest tree that results from removing inner nodes of `tree` other than the root, whose children become their
// parent's; nodes are numbered level by level. Among equally cheap trees it has fewer nodes. Time is proportional to
// the number of nodes times their depth, which clustering keeps small. REQUIRES: parents before children; a child has
// no more visits than its parent.
ClusterTree cheapest_reduction(const ClusterTree& tree, std::span<const double> visits, double block_cost);

}  // namespace labelgrove
