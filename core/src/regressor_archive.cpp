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
  const std::size_t weights = features + regressors.size();
  const auto all = std::make_shared<const std::vector<const Regressor*>>(regressors.begin(), regressors.end());
  const auto each = [&]<typename T>(T Regressor::Term::* part, bool with_bias) {
    return by_item<T>(all, [=, terms = std::vector<Regressor::Term>()](const Regressor* from, auto& to) mutable {
      from->collect(for_prediction, terms);
      if (with_bias) to.push_back(from->bias().*part);
      for (const Regressor::Term& term : terms) to.push_back(term.*part);
    });
  };
  out.u32("weights.feature", features, each(&Regressor::Term::feature, false));
  out.f32("weights.value", weights, each(&Regressor::Term::weight, true));
  if (learner.has_state() && !for_prediction) {
    out.f32("weights.state", weights, each(&Regressor::Term::state, true));
  }
}

void load_regressors(const ArrayReader& saved, std::span<Regressor* const> regressors, const LearnerOptions& learner,
                     bool for_prediction, const std::function<std::string(std::size_t)>& name) {
  Pieces<std::uint32_t> sizes(saved, "block.features");
  Pieces<std::uint32_t> features(saved, "weights.feature");
  Pieces<float> weights(saved, "weights.value");
  const bool with_state = learner.has_state() && !for_prediction;
  Pieces<float> states(saved, "weights.state", with_state);
  Reading reading(saved);
  for (std::size_t i = 0; i < regressors.size(); ++i) {
    const std::string where = name(i);
    const auto known = features.take(sizes.one());
    std::vector<FeatureId> sorted(known.begin(), known.end());
    std::ranges::sort(sorted);
    require(sorted.empty() || sorted.back() < kNone / 2, where, ": a feature id is out of range");
    require(std::ranges::adjacent_find(sorted) == sorted.end(), where, ": a feature occurs twice");
    const auto its_weights = weights.take(known.size() + 1);
    const auto its_states = states.take(with_state ? known.size() + 1 : 0);
    require_learnable(learner, its_weights, its_states, where);
    reading.went_over(known.size() * sizeof(Regressor::Term));
    if (regressors[i] == nullptr) continue;
    *regressors[i] = Regressor(learner, known, its_weights, its_states, !for_prediction);
  }
  finish_all(sizes, features, weights, states);
}

}  // namespace labelgrove
