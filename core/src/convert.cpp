#include "labelgrove/convert.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

namespace labelgrove {
namespace {

std::unique_ptr<WeightBlock> weight_block(const SiblingBlock& block, float weight_threshold) {
  const std::uint32_t columns = block.children();
  std::vector<float> all(std::size_t{block.rows()} * columns);
  block.copy_weights(columns, all.data());
  FeatureMap map;
  std::vector<float> kept(all.begin(), all.begin() + columns);  // the bias
  for (std::uint32_t r = 1; r < block.rows(); ++r) {
    const auto row = std::span(all).subspan(std::size_t{r} * columns, columns);
    const auto is_kept = [&](float w) { return w != 0.0F && std::fabs(w) >= weight_threshold; };
    if (std::ranges::none_of(row, is_kept)) continue;
    map.find_or_insert(block.features().features()[r - 1]);
    for (const float w : row) kept.push_back(is_kept(w) ? w : 0.0F);
  }
  return std::make_unique<WeightBlock>(Link::logistic, columns, std::move(map), std::move(kept));
}

}  // namespace

WeightedTree weighted_tree(const OnlinePlt& model, float weight_threshold) {
  const LabelTree& tree = model.tree();
  std::vector<std::unique_ptr<WeightBlock>> blocks(tree.size());
  for (NodeId v = 0; v < tree.size(); ++v) {
    if (!tree[v].is_leaf()) blocks[v] = weight_block(*model.block(v), weight_threshold);
  }
  return {tree, std::move(blocks)};
}

}  // namespace labelgrove
