// The learnt hyperplanes by which an inner node of a forest routes examples: LdSM's M regressors or FastXML's one.
// There is one row of weights per feature, in ascending order of features, so that rows are read sequentially.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/node_block.hpp"

namespace labelgrove {

class Hyperplanes {
 public:
  // Row 0 of `weights` belongs to the bias, row r to features[r - 1]. With `borrow` both arrays stay where they are and
  // must outlive the hyperplanes. REQUIRES: features increase.
  Hyperplanes(std::uint32_t count, std::span<const FeatureId> features, std::span<const float> weights, bool borrow);
  Hyperplanes(Hyperplanes&&) = default;
  Hyperplanes& operator=(Hyperplanes&&) = default;

  std::uint32_t count() const { return count_; }
  std::span<const FeatureId> features() const { return features_; }
  // Includes the bias.
  std::span<const float> weights() const { return weights_; }
  const float* bias() const { return weights_.data(); }
  // The row of features()[place].
  const float* row(std::size_t place) const { return weights_.data() + (place + 1) * count_; }

  // out[m] = w . x, where x.ids are positions in features().
  void margins_by_place(const Features& x, Workspace& work, float* out) const;
  // Calls take(j, row) for every feature x.ids[j] in order; row is null if it has no weights.
  template <typename Take>
  void for_each_row(const Features& x, Take&& take) const;
  std::size_t bytes() const {
    return own_features_.capacity() * sizeof(FeatureId) + own_weights_.capacity() * sizeof(float);
  }

 private:
  std::uint32_t count_;
  std::vector<FeatureId> own_features_;
  std::vector<float> own_weights_;
  std::span<const FeatureId> features_;
  std::span<const float> weights_;
};

template <typename Take>
void Hyperplanes::for_each_row(const Features& x, Take&& take) const {
  std::size_t at = 0;
  for (std::uint32_t j = 0; j < x.size; ++j) {
    // Galloping search: the next feature is near in a node that knows few features, and far in one that knows many.
    std::size_t step = 1;
    while (at + step < features_.size() && features_[at + step] <= x.ids[j]) step *= 2;
    const auto from = features_.begin() + static_cast<std::ptrdiff_t>(at + step / 2);
    const auto to = features_.begin() + static_cast<std::ptrdiff_t>(std::min(at + step, features_.size()));
    at = static_cast<std::size_t>(std::lower_bound(from, to, x.ids[j]) - features_.begin());
    take(j, at < features_.size() && features_[at] == x.ids[j] ? row(at) : nullptr);
  }
}

}  // namespace labelgrove
