// The memory budget, and what is forgotten to stay within it: docs/decisions/budget.md.
#include <algorithm>
#include <utility>

#include "labelgrove/node_learners.hpp"

namespace labelgrove {
namespace {

// Per node, for the tree and a label, its name and its counters. Forgetting rows does not free this.
constexpr std::uint64_t kBytesOfNode = 256;
// Of which an inner node does not need these.
constexpr std::uint64_t kBytesOfLabel = 128;
// Per example queued at a node.
constexpr std::uint64_t kBytesOfEvent = 64;

// Rows are forgotten until no more than this is used. The gap trades memory for fewer rounds of forgetting.
constexpr std::uint64_t used_after_forgetting(std::uint64_t budget) { return budget / 16 * 15; }

}  // namespace

void NodeLearners::count_as(Node& node, const Count& now) {
  // Relaxed, because the sums are read only while no other thread has anything to drain.
  lasting_.fetch_add(now.lasting - node.count.lasting, std::memory_order_relaxed);
  rows_.fetch_add(now.rows - node.count.rows, std::memory_order_relaxed);
  entries_.fetch_add(now.entries - node.count.entries, std::memory_order_relaxed);
  node.count = now;
}

void NodeLearners::count(Node& node) {
  if (replay_.max_bytes == 0) return;
  const std::uint64_t of_block = node.block.lasting_bytes();
  const std::uint64_t of_memory = ReplayMemory().most_bytes();
  count_as(node, {.lasting = of_block + of_memory - (node.block.children() > 0 ? kBytesOfLabel : 0),
                  .rows = node.block.most_bytes() - of_block,
                  .entries = node.memory.most_bytes() - of_memory});
}

// What is left after forgetting all rows and examples.
std::uint64_t NodeLearners::count_lasting() const {
  return nodes_.size() * kBytesOfNode + lasting_.load(std::memory_order_relaxed);
}

std::uint64_t NodeLearners::count_memory() const {
  return examples_.most_bytes() + entries_.load(std::memory_order_relaxed);
}

// As of the end of v's queue, which another thread may be draining: the block itself may not be read then.
std::size_t NodeLearners::columns(NodeId v, const LabelTree& tree) const {
  return tree[v].children.size() + (has_theta(v) ? 1 : 0);
}

void NodeLearners::restore(const Budget& budget) {
  counted_ = budget.counted;
  replay_.replay_memory = budget.replay_memory;
}

// Drains all queues, so that the counts are those of all that was taken in.
void NodeLearners::settle() {
  drain();
  if (!std::exchange(uncounted_, false)) return;
  for (const auto& node : nodes_) {
    if (node) count(*node);
  }
}

void NodeLearners::make_room(std::uint64_t bytes) {
  const std::uint64_t most = replay_.max_bytes;
  if (most == 0) return;
  counted_ += bytes;
  if (counted_ <= most) return;
  settle();
  counted_ = count() + bytes;
  if (counted_ <= most) return;
  const std::uint64_t lasting = count_lasting() + bytes;
  if (lasting <= most) forget_examples(for_examples(most, lasting));
  const std::uint64_t needed = lasting + count_memory();
  if (needed > most) {  // no row is forgotten for what will not fit
    counted_ = count();
    throw BudgetExceeded(most, needed);
  }
  // One round may not be enough, because forgotten rows free a page only with all others in it.
  while (count() + bytes > most) forget_rows(count() + bytes - used_after_forgetting(most));
  counted_ = count() + bytes;
}

void NodeLearners::forget_rows(std::uint64_t bytes) {
  forget_least(bytes, [this](auto&& visit) {
    for (const auto& node : nodes_) {
      if (node) visit(node->block);
    }
  });
  for (const auto& node : nodes_) {
    if (node) count(*node);
  }
}

void NodeLearners::check_fits(std::size_t new_labels, std::size_t features, const LabelTree& tree) {
  if (replay_.max_bytes == 0) return;
  std::uint64_t bytes = new_labels * kBytesOfNode;
  if (has(kRoot)) bytes += nodes_[kRoot]->block.growth(features, columns(kRoot, tree));
  if (counted_ + bytes <= replay_.max_bytes) return;
  settle();
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
      count(*node);
    }
  }
}

}  // namespace labelgrove
