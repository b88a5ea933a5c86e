#include "labelgrove/regressor_archive.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "labelgrove/archive_check.hpp"

namespace labelgrove {

void save_regressors(ArrayWriter& out, std::span<const Regressor* const> regressors, const LearnerOptions& learner,
                     bool for_prediction) {
  std::vector<Regressor::Term> terms;
  auto sizes = out.u32("block.features", regressors.size());
  std::size_t features = 0;
  for (std::size_t i = 0; i < regressors.size(); ++i) {
    regressors[i]->collect(for_prediction, terms);
    sizes[i] = static_cast<std::uint32_t>(terms.size());
    features += sizes[i];
  }
  const bool with_state = learner.has_state() && !for_prediction;
  const std::size_t weights = features + regressors.size();
  FeatureId* next_feature = out.u32("weights.feature", features).data();
  float* next_weight = out.f32("weights.value", weights).data();
  float* next_state = with_state ? out.f32("weights.state", weights).data() : nullptr;
  for (const Regressor* regressor : regressors) {
    regressor->collect(for_prediction, terms);
    const Regressor::Term bias = regressor->bias();
    *next_weight++ = bias.weight;
    if (with_state) *next_state++ = bias.state;
    for (const Regressor::Term& term : terms) {
      *next_feature++ = term.feature;
      *next_weight++ = term.weight;
      if (with_state) *next_state++ = term.state;
    }
  }
}

void load_regressors(const ArrayReader& saved, std::span<Regressor* const> regressors, const LearnerOptions& learner,
                     bool for_prediction, const std::function<std::string(std::size_t)>& name) {
  Pieces sizes("block.features", saved.u32("block.features"));
  Pieces features("weights.feature", saved.u32("weights.feature"));
  Pieces weights("weights.value", saved.f32("weights.value"));
  const bool with_state = learner.has_state() && !for_prediction;
  Pieces states("weights.state", with_state ? saved.f32("weights.state") : std::span<const float>());
  for (std::size_t i = 0; i < regressors.size(); ++i) {
    const auto known = features.take(sizes.one());
    std::vector<FeatureId> sorted(known.begin(), known.end());
    std::ranges::sort(sorted);
    require(sorted.empty() || sorted.back() < kNone / 2, name(i) + ": a feature id is out of range");
    require(std::ranges::adjacent_find(sorted) == sorted.end(), name(i) + ": a feature occurs twice");
    const auto its_weights = weights.take(known.size() + 1);
    const auto its_states = states.take(with_state ? known.size() + 1 : 0);
    require_learnable(learner, its_weights, its_states, name(i));
    *regressors[i] = Regressor(learner, known, its_weights, its_states, !for_prediction);
  }
  sizes.finish();
  features.finish();
  weights.finish();
  states.finish();
}

}  // namespace labelgrove
