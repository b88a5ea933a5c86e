// The memory budget, and what is forgotten to stay within it: docs/decisions/budget.md.
#include <algorithm>

#include "labelgrove/node_learners.hpp"

namespace labelgrove {
namespace {

// Per node, for the tree, the labels and their counters. Forgetting rows does not free this.
constexpr std::uint64_t kBytesOfNode = 256;
// Per example queued at a node.
constexpr std::uint64_t kBytesOfEvent = 64;

}  // namespace

std::uint64_t NodeLearners::count_memory() const {
  std::uint64_t bytes = examples_.most_bytes();
  for (const auto& node : nodes_) bytes += node ? node->memory.most_bytes() : 0;
  return bytes;
}

std::uint64_t NodeLearners::count() const {
  std::uint64_t bytes = count_memory() + nodes_.size() * kBytesOfNode;
  for (const auto& node : nodes_) bytes += node ? node->block.most_bytes() : 0;
  return bytes;
}

// What is left after forgetting all rows and examples.
std::uint64_t NodeLearners::count_lasting() const {
  std::uint64_t bytes = nodes_.size() * kBytesOfNode;
  for (const auto& node : nodes_) bytes += node ? node->block.lasting_bytes() : 0;
  return bytes;
}

// As of the end of v's queue, which another thread may be draining: the block itself may not be read then.
std::size_t NodeLearners::columns(NodeId v, const LabelTree& tree) const {
  return tree[v].children.size() + (has_theta(v) ? 1 : 0);
}

void NodeLearners::restore(const Budget& budget) {
  counted_ = budget.counted;
  replay_.replay_memory = budget.replay_memory;
}

void NodeLearners::make_room(std::uint64_t bytes) {
  const std::uint64_t most = replay_.max_bytes;
  if (most == 0) return;
  counted_ += bytes;
  if (counted_ <= most) return;
  drain();
  counted_ = count() + bytes;
  if (counted_ <= full(most)) return;
  const std::uint64_t lasting = count_lasting() + bytes;
  if (lasting <= most) forget_examples(for_examples(most, lasting));
  const std::uint64_t needed = lasting + count_memory();
  const std::uint64_t held = count() + bytes;
  // No row is forgotten for what will not fit.
  if (needed <= most && held > kept(most)) {
    forget_least(held - kept(most), [this](auto&& visit) {
      for (const auto& node : nodes_) {
        if (node) visit(node->block);
      }
    });
  }
  counted_ = count() + bytes;
  if (counted_ <= most) return;
  counted_ -= bytes;
  throw BudgetExceeded(most, needed > most ? needed : counted_ + bytes);
}

void NodeLearners::check_fits(std::size_t new_labels, std::size_t features, const LabelTree& tree) {
  if (replay_.max_bytes == 0) return;
  std::uint64_t bytes = new_labels * kBytesOfNode;
  if (has(kRoot)) bytes += nodes_[kRoot]->block.growth(features, columns(kRoot, tree));
  if (counted_ + bytes <= replay_.max_bytes) return;
  drain();
  const std::uint64_t needed = count_lasting() + bytes;
  if (needed > replay_.max_bytes) throw BudgetExceeded(replay_.max_bytes, needed);
}

void NodeLearners::make_room_for_learning(std::span<const NodeId> nodes, const LabelTree& tree, std::size_t features,
                                          std::size_t positives) {
  if (replay_.max_bytes == 0) return;
  std::uint64_t bytes = 0;
  for (const NodeId v : nodes) {
    if (!has(v)) continue;
    bytes += nodes_[v]->block.growth(features, columns(v, tree)) + kBytesOfEvent + ReplayMemory::growth(1, positives);
  }
  make_room(bytes);
}

void NodeLearners::make_room_for_leaf(NodeId v, bool insert) {
  if (replay_.max_bytes == 0) return;
  bring_up_to_date(v);
  const Node& node = *nodes_[v];
  const std::uint64_t other = ReplayMemory().most_bytes() + kBytesOfNode;
  std::uint64_t bytes = SiblingBlock(learner_, 0, true).most_bytes() + other;
  if (insert) bytes += node.block.most_bytes_of_parent() + ReplayMemory::growth(node.memory.size(), 0) + other;
  else bytes += node.block.growth_by_leaf();
  make_room(bytes);
}

// Lowers the same limit for all nodes, so that nodes with few examples keep theirs longest.
void NodeLearners::forget_examples(std::uint64_t most) {
  while (count_memory() > most) {
    std::uint64_t largest = 0;
    for (const auto& node : nodes_) largest = std::max<std::uint64_t>(largest, node ? node->memory.size() : 0);
    if (largest <= 1) return;
    replay_.replay_memory = largest - largest / 4 - (largest < 4 ? 1 : 0);
    for (const auto& node : nodes_) {
      if (!node) continue;
      for (const ExampleId example : node->memory.shrink(seed_, replay_.replay_memory)) examples_.release(example);
    }
  }
}

}  // namespace labelgrove
