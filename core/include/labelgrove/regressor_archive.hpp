// A row of regressors as arrays, and back: docs/format.md names every one.
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
// Loads as many as were saved; those given as null are only checked. Throws std::invalid_argument that names the first
// damaged one by name(i).
void load_regressors(const ArrayReader& saved, std::span<Regressor* const> regressors, const LearnerOptions& learner,
                     bool for_prediction, const std::function<std::string(std::size_t)>& name);

}  // namespace labelgrove
