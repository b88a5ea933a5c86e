// From one kind of model to the other: what was learnt online for prediction alone, and what was learnt in batch to be
// learnt on.
#pragma once

#include "labelgrove/batch_plt.hpp"
#include "labelgrove/online_plt.hpp"

namespace labelgrove {

// The classifiers of an online model, without weights smaller than the threshold. REQUIRES: the learner is AdaGrad, whose
// margins become probabilities by the logistic function.
WeightedTree weighted_tree(const OnlinePlt& model, float weight_threshold);

}  // namespace labelgrove
