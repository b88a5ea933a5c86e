// Label trees for prediction only, in as few bytes as possible. All weights stay where they are, for example in a
// mapped file shared by many processes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "labelgrove/archive.hpp"
#include "labelgrove/calibration.hpp"
#include "labelgrove/compact_block.hpp"
#include "labelgrove/compaction.hpp"
#include "labelgrove/label_tree.hpp"
#include "labelgrove/node_block.hpp"
#include "labelgrove/search.hpp"

namespace labelgrove {

// Writes a model: its trees, and the blocks of all their inner nodes in the order of trees and nodes. REQUIRES: all
// trees have the same labels, and all blocks have weights of this type.
void write_blocks(std::span<const LabelTree* const> trees, std::uint64_t examples_seen, WeightType type,
                  std::span<const CompactedBlock> blocks, ArrayWriter& out);
// The same without the trees. The blocks share one Calibration, or have none.
void write_blocks(std::span<const CompactedBlock> blocks, ArrayWriter& out);
// Writes the compact copy of a model. REQUIRES: all trees have the same labels.
void write_compact(std::span<const TreeView> trees, std::uint64_t examples_seen, const Compaction& how,
                   ArrayWriter& out);
// The smallest threshold (to 12 binary digits) at which the blocks of such a copy fit into `most_bytes`, not counting
// biases, scales and rarities; infinity if no weight fits.
float threshold_for(std::span<const TreeView> trees, WeightType type, std::uint64_t most_bytes, unsigned threads);

class CompactTree {
 public:
  // REQUIRES: `blocks` has a block for every inner node, with as many children as the node, and null for all other
  // nodes.
  CompactTree(LabelTree tree, std::vector<std::unique_ptr<CompactBlock>> blocks);

  const LabelTree& tree() const { return tree_; }
  std::span<const NodeBlock* const> blocks() const { return blocks_; }
  const CompactBlock* block(NodeId v) const { return owned_[v].get(); }
  // REQUIRES: the label has a leaf.
  void remove_label(LabelId label) { tree_.remove_label(label); }

 private:
  LabelTree tree_;
  std::vector<std::unique_ptr<CompactBlock>> owned_;
  std::vector<const NodeBlock*> blocks_;
};

class CompactPlt {
 public:
  // Loads what write_compact() or save() wrote. The arrays stay where they are and must outlive the model. Throws
  // std::invalid_argument, naming the first invariant that does not hold.
  CompactPlt(bool normalize, const ArrayReader& saved);
  CompactPlt(const CompactPlt&) = delete;
  CompactPlt& operator=(const CompactPlt&) = delete;

  void save(ArrayWriter& out) const;

  struct Options {
    bool normalize;  // scale examples to unit length
  };
  Options options() const { return {normalize_}; }
  // The first tree's.
  const LabelTree& tree() const { return trees_.front().tree(); }
  std::span<const NodeBlock* const> blocks() const { return trees_.front().blocks(); }
  std::span<const CompactTree> trees() const { return trees_; }
  std::uint64_t examples_seen() const { return examples_seen_; }
  bool can_learn() const { return false; }
  bool usable() const { return true; }
  // Whether margins become probabilities by the counts of margins.
  bool link_is_measured() const { return calibration_ != nullptr && calibration_->measured(); }
  // Throws std::invalid_argument, and removes none, if one has no leaf or is given twice.
  void remove_labels(std::span<const LabelId> labels);

  ModelSize size() const;

 private:
  bool normalize_;
  WeightType type_ = WeightType::float32;
  std::uint64_t examples_seen_ = 0;
  std::vector<std::pair<std::string, ArrayWriter::Lent>> arrays_;  // of the blocks, by name
  std::uint64_t weight_bytes_ = 0;  // of all rows, their index, biases, scales and rarities
  std::shared_ptr<const Calibration> calibration_;
  std::vector<CompactTree> trees_;
};

}  // namespace labelgrove
