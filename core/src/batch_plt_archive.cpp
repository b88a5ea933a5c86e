// Saving and loading: docs/format.md names every array.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "labelgrove/archive_check.hpp"
#include "labelgrove/batch_plt.hpp"

namespace labelgrove {
namespace {

LabelId saved_label_count(std::span<const std::uint64_t> counters) {
  require(counters.size() == 2 && counters[0] < kNone - 1 && counters[1] <= kMostExamples,
          "array 'counters' must hold the number of labels, below 2^32 - 2, and of examples");
  return static_cast<LabelId>(counters[0]);
}

// The arrays of all trees' blocks, in the order of trees and nodes.
struct SavedBlocks {
  SavedBlocks(const ArrayReader& saved, bool borrowing)
      : borrow(borrowing),
        sizes("block.features", saved.u32("block.features")),
        features("weights.feature", saved.u32("weights.feature")),
        weights("weights.value", saved.f32("weights.value")) {}

  std::unique_ptr<WeightBlock> take(Link link, std::uint32_t children, const std::string& where) {
    const auto ids = features.take(sizes.one());
    FeatureMap map;
    map.reserve(ids.size());
    for (const FeatureId id : ids) {
      require(id < kNone / 2, where + ": a feature id is out of range");
      map.find_or_insert(id);
    }
    require(map.size() == ids.size(), where + ": a feature occurs twice");
    const auto values = weights.take((ids.size() + std::uint64_t{1}) * children);
    if (borrow) return std::make_unique<WeightBlock>(link, children, std::move(map), values.data());
    require(std::ranges::all_of(values, [](float w) { return std::isfinite(w); }),
            where + ": a weight is not a finite number");
    return std::make_unique<WeightBlock>(link, children, std::move(map), std::vector(values.begin(), values.end()));
  }
  void finish() const {
    sizes.finish();
    features.finish();
    weights.finish();
  }

  bool borrow;
  Pieces<std::uint32_t> sizes;
  Pieces<FeatureId> features;
  Pieces<float> weights;
};

}  // namespace

void BatchPlt::save(ArrayWriter& out) const {
  std::size_t nodes = 0;
  std::size_t blocks = 0;
  std::size_t features = 0;
  std::size_t weights = 0;
  for_each_block([&](const WeightBlock& block) {
    ++blocks;
    features += block.features().size();
    weights += block.weights().size();
  });
  for (const WeightedTree& one : trees_) nodes += one.tree().size();
  auto counters = out.u64("counters", 2);
  counters[0] = tree().label_count();
  counters[1] = examples_seen_;

  auto sizes = out.u32("tree.nodes", trees_.size());
  auto parents = out.u32("tree.parent", nodes);
  auto labels = out.u32("tree.label", nodes);
  auto silent = out.bytes("tree.silent", nodes);
  for (std::size_t t = 0, begin = 0; t < trees_.size(); begin += sizes[t++]) {
    const LabelTree& tree = trees_[t].tree();
    sizes[t] = tree.size();
    tree.store(parents.subspan(begin, tree.size()), labels.subspan(begin, tree.size()),
               silent.subspan(begin, tree.size()));
  }

  auto next_size = out.u32("block.features", blocks).begin();
  auto next_feature = out.u32("weights.feature", features).begin();
  auto next_weight = out.f32("weights.value", weights).begin();
  for_each_block([&](const WeightBlock& block) {
    *next_size++ = block.features().size();
    next_feature = std::ranges::copy(block.features().features(), next_feature).out;
    next_weight = std::ranges::copy(block.weights(), next_weight).out;
  });
}

BatchPlt::BatchPlt(const BatchPltOptions& options, const ArrayReader& saved, bool borrow) : options_(options) {
  const auto counters = saved.u64("counters");
  const LabelId label_count = saved_label_count(counters);
  examples_seen_ = counters[1];
  const auto sizes = saved.u32("tree.nodes");
  require(!sizes.empty(), "array 'tree.nodes': there is no tree");
  Pieces parents("tree.parent", saved.u32("tree.parent"));
  Pieces labels("tree.label", saved.u32("tree.label"));
  Pieces silent("tree.silent", saved.bytes("tree.silent"));
  SavedBlocks saved_blocks(saved, borrow);
  for (std::size_t t = 0; t < sizes.size(); ++t) {
    LabelTree tree(parents.take(sizes[t]), labels.take(sizes[t]), silent.take(sizes[t]), label_count);
    std::vector<std::unique_ptr<WeightBlock>> blocks(tree.size());
    for (NodeId v = 0; v < tree.size(); ++v) {
      const auto children = static_cast<std::uint32_t>(tree[v].children.size());
      if (children == 0) continue;
      blocks[v] =
          saved_blocks.take(options.link, children, "tree " + std::to_string(t) + ", node " + std::to_string(v));
    }
    for (LabelId label = 0; label < label_count && t > 0; ++label) {
      require((tree.leaf_of(label) == kNone) == (this->tree().leaf_of(label) == kNone),
              "tree " + std::to_string(t) + " has other labels than tree 0");
    }
    trees_.emplace_back(std::move(tree), std::move(blocks));
  }
  parents.finish();
  labels.finish();
  silent.finish();
  saved_blocks.finish();
}

}  // namespace labelgrove
