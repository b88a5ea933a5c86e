// The classifiers of a node's children for prediction alone: their weights and nothing else.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/feature_map.hpp"
#include "labelgrove/link.hpp"
#include "labelgrove/node_block.hpp"

namespace labelgrove {

class WeightBlock final : public NodeBlock {
 public:
  // Row 0 of `weights` belongs to the bias, row r to the feature that `map` gives the number r - 1.
  WeightBlock(Link link, std::uint32_t children, FeatureMap map, std::vector<float> weights);
  // Weights that are read where they lie and must outlive the block.
  WeightBlock(Link link, std::uint32_t children, FeatureMap map, const float* borrowed);

  std::uint32_t children() const override { return children_; }
  void predict(const Features& x, Workspace& work, float* probabilities) const override;
  float contributions(const Features& x, std::uint32_t child, float* added) const override;
  LinearBlock linear() const override;

  const FeatureMap& features() const { return map_; }
  std::uint32_t rows() const { return map_.size() + 1; }
  std::span<const float> weights() const { return {weights_, std::size_t{rows()} * children_}; }
  std::size_t bytes() const { return map_.bytes() + owned_.capacity() * sizeof(float) + sizeof(WeightBlock); }

 private:
  Link link_;
  std::uint32_t children_;
  FeatureMap map_;
  std::vector<float> owned_;
  const float* weights_;
};

}  // namespace labelgrove
