#include "labelgrove/ldsm_regressors.hpp"

#include <algorithm>
#include <cmath>

#include "labelgrove/kernels.hpp"

namespace labelgrove {

LdsmRegressors::LdsmRegressors(const RegressorBlock& learnt, std::span<const FeatureId> features)
    : arity_(learnt.columns()),
      own_features_(features.begin(), features.end()),
      own_weights_(learnt.weights()),
      features_(own_features_),
      weights_(own_weights_) {}

LdsmRegressors::LdsmRegressors(std::uint32_t arity, std::span<const FeatureId> features, std::span<const float> weights,
                               bool borrow)
    : arity_(arity), features_(features), weights_(weights) {
  if (borrow) return;
  own_features_.assign(features.begin(), features.end());
  own_weights_.assign(weights.begin(), weights.end());
  features_ = own_features_;
  weights_ = own_weights_;
}

bool LdsmRegressors::is_finite() const {
  return std::ranges::all_of(weights_, [](float w) { return std::isfinite(w); });
}

void LdsmRegressors::margins_by_place(const Features& x, Workspace& work, float* out) const {
  const std::size_t n = x.size + std::size_t{1};
  work.found.resize(n);
  work.values.resize(n);
  work.found[0] = 0;
  work.values[0] = 1.0F;
  for (std::uint32_t j = 0; j < x.size; ++j) {
    work.found[j + 1] = x.ids[j] + 1;
    work.values[j + 1] = x.values[j];
  }
  kernels().table_margins(weights_.data(), arity_, work.found.data(), work.values.data(), n, arity_, out);
}

}  // namespace labelgrove
