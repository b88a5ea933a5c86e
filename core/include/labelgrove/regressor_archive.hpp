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
// Into as many as there were; where there is null, what was written is checked only. Throws std::invalid_argument, naming
// by name(i) whose it is that does not hold.
void load_regressors(const ArrayReader& saved, std::span<Regressor* const> regressors, const LearnerOptions& learner,
                     bool for_prediction, const std::function<std::string(std::size_t)>& name);

}  // namespace labelgrove
