// Probabilistic label trees learnt in batch (Jasinska et al. 2016; Parabel: Prabhu et al. 2018), one or several over the
// same labels, whose probabilities are averaged.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "labelgrove/archive.hpp"
#include "labelgrove/base.hpp"
#include "labelgrove/batch_trainer.hpp"
#include "labelgrove/label_tree.hpp"
#include "labelgrove/node_block.hpp"
#include "labelgrove/training_set.hpp"
#include "labelgrove/weight_block.hpp"

namespace labelgrove {

// A label tree and the classifiers of every inner node's children.
class WeightedTree {
 public:
  // REQUIRES: a block for every inner node, with as many children; null elsewhere.
  WeightedTree(LabelTree tree, std::vector<std::unique_ptr<WeightBlock>> blocks);

  const LabelTree& tree() const { return tree_; }
  std::span<const NodeBlock* const> blocks() const { return blocks_; }
  const WeightBlock* block(NodeId v) const { return owned_[v].get(); }
  void remove_label(LabelId label) { tree_.remove_label(label); }

 private:
  LabelTree tree_;
  std::vector<std::unique_ptr<WeightBlock>> owned_;
  std::vector<const NodeBlock*> blocks_;
};

struct BatchPltOptions {
  Link link = Link::squared_hinge;
  bool normalize = true;  // scale examples to unit length
};

class BatchPlt {
 public:
  // Learns the given trees, one after another. REQUIRES: all have a leaf for every label of the examples.
  BatchPlt(const TrainingOptions& options, std::vector<LabelTree> trees, const TrainingSet& data, unsigned threads);
  // Trees whose classifiers others have learnt. REQUIRES: there is one at least, and all have the same labels.
  BatchPlt(const BatchPltOptions& options, std::vector<WeightedTree> trees, std::uint64_t examples_seen);
  // What save() wrote. Throws std::invalid_argument, naming what does not hold, unless every invariant does. With
  // `borrow` the weights stay where they lie.
  BatchPlt(const BatchPltOptions& options, const ArrayReader& saved, bool borrow);

  BatchPlt(const BatchPlt&) = delete;
  BatchPlt& operator=(const BatchPlt&) = delete;

  void save(ArrayWriter& out) const;

  const BatchPltOptions& options() const { return options_; }
  std::span<const WeightedTree> trees() const { return trees_; }
  // Of the first tree.
  const LabelTree& tree() const { return trees_.front().tree(); }
  std::span<const NodeBlock* const> blocks() const { return trees_.front().blocks(); }
  std::uint64_t examples_seen() const { return examples_seen_; }
  bool usable() const { return true; }

  // Throws std::invalid_argument, and removes none, if one has no leaf or is given twice.
  void remove_labels(std::span<const LabelId> labels);

  struct Size {
    std::uint64_t weights = 0;  // that are not 0
    std::uint64_t model_bytes = 0;
  };
  Size size() const;

 private:
  // Calls take(block) in the order of trees and nodes.
  template <typename Take>
  void for_each_block(Take&& take) const {
    for (const WeightedTree& one : trees_) {
      for (NodeId v = 0; v < one.tree().size(); ++v) {
        if (one.block(v) != nullptr) take(*one.block(v));
      }
    }
  }

  BatchPltOptions options_;
  std::vector<WeightedTree> trees_;
  std::uint64_t examples_seen_ = 0;
};

}  // namespace labelgrove
