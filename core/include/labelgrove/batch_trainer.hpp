// Probabilistic label trees learnt in batch (Jasinska et al. 2016; Parabel: Prabhu et al. 2018). Every node is a task
// of its own: the result does not depend on the number of threads.
#pragma once

#include <span>
#include <vector>

#include "labelgrove/batch_solver.hpp"
#include "labelgrove/compaction.hpp"
#include "labelgrove/label_tree.hpp"
#include "labelgrove/progress.hpp"
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

}  // namespace labelgrove
