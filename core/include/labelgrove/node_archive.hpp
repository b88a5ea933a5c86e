// Converts the nodes of an online tree to arrays and back. docs/format.md documents every array.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "labelgrove/archive.hpp"
#include "labelgrove/compact_plt.hpp"
#include "labelgrove/example_store.hpp"
#include "labelgrove/label_tree.hpp"
#include "labelgrove/learner.hpp"
#include "labelgrove/node_learners.hpp"
#include "labelgrove/replay_memory.hpp"
#include "labelgrove/row_block.hpp"

namespace labelgrove {

// The counters of a tree that grows online: examples learnt, and random choices of its policy.
struct TreeCounters {
  std::uint64_t examples = 0;
  std::uint64_t draws = 0;
};
void save_tree(ArrayWriter& out, const LabelTree& tree, const TreeCounters& counters);
// Load what save_tree() wrote. All functions throw std::invalid_argument, naming the first invariant that does not
// hold.
TreeOutline saved_outline(const ArrayReader& saved);
inline LabelTree saved_tree(const ArrayReader& saved) { return LabelTree(saved_outline(saved)); }
TreeCounters saved_counters(const ArrayReader& saved);

// Saves the blocks of these nodes; for prediction without auxiliary classifiers and state.
void save_blocks(ArrayWriter& out, std::span<const NodeId> nodes, std::span<const RowBlock* const> blocks,
                 const LearnerOptions& learner, bool for_prediction);

// Receives a block that was read; returns the number of distinct features in it.
using TakeBlock = std::function<std::uint32_t(NodeId, const BlockView&)>;
// Reads what save_blocks() wrote, in the order of nodes. `has_theta` says which nodes must have an auxiliary
// classifier. `batch` is the tree that blocks inherit from, or null; it must outlive them. Throws
// std::invalid_argument, naming the first invariant that does not hold, unless the blocks fit the tree and learning can
// resume from them.
void load_blocks(const ArrayReader& saved, const TreeOutline& tree, const LearnerOptions& learner, bool for_prediction,
                 const std::function<bool(NodeId)>& has_theta, const CompactTree* batch, const TakeBlock& take);

// Save and load the examples that a model remembers, in the order of its memory, with their labels: how many each has
// in the array "<prefix>.labels", and which in "<prefix>.label". `take` gets each example, its weight and its labels.
void save_remembered(ArrayWriter& out, const std::string& prefix, const ReplayMemory& memory,
                     const ExampleStore& examples);
std::size_t load_remembered(const ArrayReader& saved, const std::string& prefix,
                            const std::function<void(const Features&, float, std::span<const LabelId>)>& take);

// Save and load what these nodes remember; each example is stored once. Without `learners`, loading only checks.
void save_memories(ArrayWriter& out, std::span<const NodeId> nodes, const NodeLearners& learners);
void load_memories(const ArrayReader& saved, std::span<const NodeId> nodes, const TreeOutline& tree,
                   const ReplayOptions& options, NodeLearners* learners);

}  // namespace labelgrove
