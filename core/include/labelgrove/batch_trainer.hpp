// Learns the classifiers of a whole label tree from a batch of examples. Every node is a task of its own: the result does
// not depend on the number of threads.
#pragma once

#include <memory>
#include <vector>

#include "labelgrove/batch_solver.hpp"
#include "labelgrove/label_tree.hpp"
#include "labelgrove/training_set.hpp"
#include "labelgrove/weight_block.hpp"

namespace labelgrove {

struct TrainingOptions {
  SolverOptions solver;
  Link link = Link::squared_hinge;
  float weight_threshold = 0.1F;  // smaller weights are dropped, but for the bias
};

// By node: the classifiers of its children; null for leaves. REQUIRES: every label has a leaf.
std::vector<std::unique_ptr<WeightBlock>> train_blocks(const TrainingOptions& options, const LabelTree& tree,
                                                       const TrainingSet& data, unsigned threads);

}  // namespace labelgrove
