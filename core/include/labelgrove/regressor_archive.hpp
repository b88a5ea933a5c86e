// Converts a list of regressors to arrays and back. docs/format.md documents every array.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "labelgrove/archive.hpp"
#include "labelgrove/learner.hpp"
#include "labelgrove/regressor.hpp"

namespace labelgrove {

void save_regressors(ArrayWriter& out, std::span<const Regressor* const> regressors, const LearnerOptions& learner,
                     bool for_prediction);
// Loads as many regressors as were saved; null ones are only checked. Throws std::invalid_argument, naming the first
// damaged one with name(i).
void load_regressors(const ArrayReader& saved, std::span<Regressor* const> regressors, const LearnerOptions& learner,
                     bool for_prediction, const std::function<std::string(std::size_t)>& name);

}  // namespace labelgrove
