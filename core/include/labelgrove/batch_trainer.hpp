// Probabilistic label trees learnt in batch (Jasinska et al. 2016; Parabel: Prabhu et al. 2018). Every node is a task
// of its own: the result does not depend on the number of threads.
#pragma once

#include <span>
#include <vector>

#include "labelgrove/batch_solver.hpp"
#include "labelgrove/compaction.hpp"
#include "labelgrove/label_tree.hpp"
#include "labelgrove/progress.hpp"
#include "labelgrove/room.hpp"
#include "labelgrove/training_set.hpp"

namespace labelgrove {

struct TrainingOptions {
  SolverOptions solver;
  Link link = Link::squared_hinge;
  float weight_threshold = 0.1F;  // smaller weights are dropped, but for the bias
};

// The classifiers of all inner nodes' children, in the order of trees and nodes, which are learnt one tree after
// another; see write_blocks(). Throws Stopped soon after it was asked to. REQUIRES: every label has a leaf in every
// tree.
std::vector<CompactedBlock> train_blocks(const TrainingOptions& options, std::span<const LabelTree> trees,
                                         const TrainingSet& data, unsigned threads, Progress& progress);

// The same of some inner nodes of one tree, in their order. Of the data it needs the examples that have a label below
// one of these nodes, and node 0 all: with fewer of the others every classifier comes out the same, to the last bit.
// Copies of examples, and what is kept for each of them while it is learnt, lie in the given room.
std::vector<CompactedBlock> train_nodes(const TrainingOptions& options, const LabelTree& tree,
                                        std::span<const NodeId> nodes, const TrainingSet& data, unsigned threads,
                                        Progress& progress, Room* room = nullptr);

// All inner nodes, in order.
std::vector<NodeId> inner_nodes(const LabelTree& tree);

}  // namespace labelgrove
