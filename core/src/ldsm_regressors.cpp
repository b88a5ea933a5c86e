#include "labelgrove/ldsm_regressors.hpp"

namespace labelgrove {

LdsmRegressors::LdsmRegressors(const SiblingBlock& learnt, std::span<const FeatureId> features)
    : arity_(learnt.columns()), own_features_(features.begin(), features.end()), features_(own_features_) {
  own_weights_.resize((features.size() + 1) * arity_);
  learnt.copy_weights(arity_, own_weights_.data());
  weights_ = own_weights_;
}

LdsmRegressors::LdsmRegressors(std::uint32_t arity, std::span<const FeatureId> features, std::span<const float> weights,
                               bool borrow)
    : arity_(arity), features_(features), weights_(weights) {
  if (borrow) return;
  own_features_.assign(features.begin(), features.end());
  own_weights_.assign(weights.begin(), weights.end());
  features_ = own_features_;
  weights_ = own_weights_;
}

}  // namespace labelgrove
