#include "labelgrove/weight_block.hpp"

#include <algorithm>
#include <utility>

#include "labelgrove/kernels.hpp"
#include "labelgrove/row_finder.hpp"

namespace labelgrove {

WeightBlock::WeightBlock(Link link, std::uint32_t children, FeatureMap map, std::vector<float> weights)
    : link_(link), children_(children), map_(std::move(map)), owned_(std::move(weights)), weights_(owned_.data()) {}

WeightBlock::WeightBlock(Link link, std::uint32_t children, FeatureMap map, const float* borrowed)
    : link_(link), children_(children), map_(std::move(map)), weights_(borrowed) {}

void WeightBlock::predict(const Features& x, Workspace& work, float* probabilities) const {
  find_rows(map_, x, [this](std::uint32_t r) { return weights_ + std::size_t{r} * children_; }, work);
  work.margins.resize(std::max<std::size_t>(work.margins.size(), children_));
  float* margins = work.margins.data();
  kernels().margins(work.rows.data(), work.values.data(), work.rows.size(), children_, margins);
  work.bytes += work.rows.size() * children_ * sizeof(float);
  apply_link(link_, margins, children_, probabilities);
}

float WeightBlock::contributions(const Features& x, std::uint32_t child, float* added) const {
  for (std::uint32_t j = 0; j < x.size; ++j) {
    const std::uint32_t found = map_.find(x.ids[j]);
    added[j] = found == kNone ? 0.0F : x.values[j] * weights_[(found + std::size_t{1}) * children_ + child];
  }
  return weights_[child];
}

LinearBlock WeightBlock::linear() const {
  const auto known = map_.features();
  return {link_, 1.0F, children_, {known.begin(), known.end()}, {weights_, weights_ + std::size_t{rows()} * children_}};
}

}  // namespace labelgrove
