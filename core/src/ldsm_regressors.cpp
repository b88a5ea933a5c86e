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
  find_numbered_rows(x, work);
  kernels().table_margins(weights_.data(), arity_, work.found.data(), work.values.data(), work.found.size(), arity_,
                          out);
}

}  // namespace labelgrove
