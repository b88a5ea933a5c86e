#include "labelgrove/hyperplanes.hpp"

#include "labelgrove/kernels.hpp"

namespace labelgrove {

Hyperplanes::Hyperplanes(std::uint32_t count, std::span<const FeatureId> features, std::span<const float> weights,
                         bool borrow)
    : count_(count), features_(features), weights_(weights) {
  if (borrow) return;
  own_features_.assign(features.begin(), features.end());
  own_weights_.assign(weights.begin(), weights.end());
  features_ = own_features_;
  weights_ = own_weights_;
}

void Hyperplanes::margins_by_place(const Features& x, Workspace& work, float* out) const {
  find_numbered_rows(x, work);
  kernels().table_margins(weights_.data(), count_, work.found.data(), work.values.data(), work.found.size(), count_,
                          out);
}

}  // namespace labelgrove
