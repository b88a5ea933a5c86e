// What a search costs on a label tree, and the cheapest tree that a finer one can be reduced to.
//
// A search opens the block of a node, which costs as much as `block_cost` classifiers, whatever its width, and
// evaluates a classifier for every child. So a tree costs the sum over its inner nodes of visits * (block_cost +
// children), where visits says how often the node lies on the way to a label that is looked for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/clustering.hpp"

namespace labelgrove {

// Sets of labels that are looked for together: set i is labels[indptr[i]], …, labels[indptr[i + 1] - 1].
struct LabelSets {
  std::span<const std::int64_t> indptr;
  std::span<const LabelId> labels;
  std::span<const double> frequencies;  // of the sets
};

// For every node the frequencies of all sets with a label below it; a set counts once. REQUIRES: parents before
// children; all labels in the tree.
std::vector<double> visits_of(const ClusterTree& tree, const LabelSets& sets);

// The tree of least cost among those that arise when inner nodes of `tree` other than the root are left out, their
// children becoming their parent's; numbered by level. Of equally cheap trees one with fewer nodes. Takes time in
// proportion to the number of nodes times their depth, which clustering keeps small. REQUIRES: parents before
// children; visits that do not rise from parent to child.
ClusterTree cheapest_reduction(const ClusterTree& tree, std::span<const double> visits, double block_cost);

}  // namespace labelgrove
