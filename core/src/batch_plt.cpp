#include "labelgrove/batch_plt.hpp"

#include <algorithm>
#include <utility>

namespace labelgrove {

WeightedTree::WeightedTree(LabelTree tree, std::vector<std::unique_ptr<WeightBlock>> blocks)
    : tree_(std::move(tree)), owned_(std::move(blocks)) {
  for (const auto& block : owned_) blocks_.push_back(block.get());
}

BatchPlt::BatchPlt(const TrainingOptions& options, std::vector<LabelTree> trees, const TrainingSet& data,
                   unsigned threads)
    : options_{options.link, data.normalize}, examples_seen_(data.size) {
  for (LabelTree& tree : trees) {
    auto blocks = train_blocks(options, tree, data, threads);
    trees_.emplace_back(std::move(tree), std::move(blocks));
  }
}

BatchPlt::BatchPlt(const BatchPltOptions& options, std::vector<WeightedTree> trees, std::uint64_t examples_seen)
    : options_(options), trees_(std::move(trees)), examples_seen_(examples_seen) {}

void BatchPlt::remove_labels(std::span<const LabelId> labels) {
  for (const LabelId label : tree().removable(labels)) {
    for (WeightedTree& one : trees_) one.remove_label(label);
  }
}

BatchPlt::Size BatchPlt::size() const {
  Size size;
  for_each_block([&size](const WeightBlock& block) {
    size.weights += static_cast<std::uint64_t>(std::ranges::count_if(block.weights(), [](float w) { return w != 0; }));
    size.model_bytes += block.bytes();
  });
  for (const WeightedTree& one : trees_) {
    for (NodeId v = 0; v < one.tree().size(); ++v) {
      size.model_bytes += sizeof(TreeNode) + one.tree()[v].children.capacity() * sizeof(NodeId) + 2 * sizeof(void*);
    }
  }
  return size;
}

}  // namespace labelgrove
