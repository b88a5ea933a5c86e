// Trains probabilistic label trees in batch (Jasinska et al. 2016; Parabel: Prabhu et al. 2018). Every node is a task
// of its own, so the result does not depend on the number of threads.
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
  Link link = Link::squared_hinge;  // if `calibrated`, by the margins of the examples held out
  float weight_threshold = 0.1F;    // smaller weights are dropped, except the bias and many of dense nodes
};

// Trains the classifiers of all inner nodes' children, one tree after another, and returns them in the order of trees
// and nodes; see write_blocks(). Throws Stopped soon after `progress` is told to stop. REQUIRES: every label has a leaf
// in every tree.
std::vector<CompactedBlock> train_blocks(const TrainingOptions& options, std::span<const LabelTree> trees,
                                         const TrainingSet& data, unsigned threads, Progress& progress);

// The same for some inner nodes of one tree, in their order. `data` must contain all examples that have a label below
// one of these nodes, and for node 0 or the root all examples; leaving out others changes no bit of the result. Copies
// of examples and their solver state are stored in `room`, if given. A calibration counts the margins of these nodes
// alone; the counts of all nodes add up to those of train_blocks().
std::vector<CompactedBlock> train_nodes(const TrainingOptions& options, const LabelTree& tree,
                                        std::span<const NodeId> nodes, const TrainingSet& data, unsigned threads,
                                        Progress& progress, Room* room = nullptr);

// All inner nodes in ascending order.
std::vector<NodeId> inner_nodes(const LabelTree& tree);

}  // namespace labelgrove
