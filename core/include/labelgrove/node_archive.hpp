// The nodes of an online tree as arrays, and back: docs/format.md names every one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "labelgrove/archive.hpp"
#include "labelgrove/compact_plt.hpp"
#include "labelgrove/example_store.hpp"
#include "labelgrove/label_tree.hpp"
#include "labelgrove/learner.hpp"
#include "labelgrove/node_learners.hpp"
#include "labelgrove/row_block.hpp"

namespace labelgrove {

// What a tree that grows online has counted: examples learnt from, and random choices of its policy.
struct TreeCounters {
  std::uint64_t examples = 0;
  std::uint64_t draws = 0;
};
void save_tree(ArrayWriter& out, const LabelTree& tree, const TreeCounters& counters);
// What save_tree wrote; all throw std::invalid_argument, naming what does not hold.
TreeOutline saved_outline(const ArrayReader& saved);
inline LabelTree saved_tree(const ArrayReader& saved) { return LabelTree(saved_outline(saved)); }
TreeCounters saved_counters(const ArrayReader& saved);

// The blocks of these nodes. For prediction: without auxiliary classifiers and state.
void save_blocks(ArrayWriter& out, std::span<const NodeId> nodes, std::span<const RowBlock* const> blocks,
                 const LearnerOptions& learner, bool for_prediction);

// How a block that was read is taken over: returns how many different features it holds.
using TakeBlock = std::function<std::uint32_t(NodeId, const BlockView&)>;
// Reads what save_blocks wrote, in order of nodes. `has_theta` says which nodes must have an auxiliary classifier, and
// `batch` is what blocks inherit from, if they do: its nodes must outlive them.
// Throws std::invalid_argument, naming what does not hold, unless blocks fit the tree and learning can go on from them.
void load_blocks(const ArrayReader& saved, const TreeOutline& tree, const LearnerOptions& learner, bool for_prediction,
                 const std::function<bool(NodeId)>& has_theta, const CompactTree* batch, const TakeBlock& take);

// Remembered examples, in this order.
void save_examples(ArrayWriter& out, std::shared_ptr<const std::vector<ExampleId>> ids, const ExampleStore& examples);
// Their number; `take` is given each, with its weight. Throws std::invalid_argument, naming what does not hold.
std::size_t load_examples(const ArrayReader& saved, const std::function<void(const Features&, float)>& take);

// What these nodes remember; each example is stored once. Without learners it is checked only.
void save_memories(ArrayWriter& out, std::span<const NodeId> nodes, const NodeLearners& learners);
void load_memories(const ArrayReader& saved, std::span<const NodeId> nodes, const TreeOutline& tree,
                   const ReplayOptions& options, NodeLearners* learners);

}  // namespace labelgrove
