// Prediction with learnt vectors, shared by models that learn and models that do not: an example is the mean of its
// features' vectors, weighted by their values, and every node of a label tree scores it with a vector of its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/archive.hpp"
#include "labelgrove/base.hpp"
#include "labelgrove/compaction.hpp"
#include "labelgrove/explain.hpp"
#include "labelgrove/feature_map.hpp"
#include "labelgrove/label_tree.hpp"
#include "labelgrove/node_block.hpp"

namespace labelgrove {

class Embedding {
 public:
  Embedding(const Embedding&) = delete;
  Embedding& operator=(const Embedding&) = delete;

  const LabelTree& tree() const { return tree_; }
  std::span<const NodeBlock* const> blocks() const { return views_; }
  std::uint64_t examples_seen() const { return examples_seen_; }
  // Throws std::invalid_argument, and removes none, if one has no leaf or is given twice.
  void remove_labels(std::span<const LabelId> labels);

  // Converts an example to the form that the blocks expect: the mean of its features' vectors, stored in `hidden`.
  Features embed(const Features& x, Workspace& work, std::vector<float>& hidden) const;
  // See explain_label(); contributions are those of the example's own features.
  LabelPath explain(const Features& x, LabelId label) const;

  // Writes what CompactEmbedding reads, dropping features whose vectors are shorter than the threshold.
  void write_compact(const Compaction& how, ArrayWriter& out) const;
  // The smallest threshold at which the features' vectors fit into `most_bytes`.
  float threshold_for(WeightType type, std::uint64_t most_bytes) const;

 protected:
  // An example's features as rows of features_, and the share of each in the mean.
  struct Parts {
    std::span<const std::uint32_t> rows;
    std::span<const float> shares;
  };

  Embedding(std::uint32_t dimension, LabelTree tree);
  ~Embedding() = default;

  // Throws std::invalid_argument if an id is out of range or occurs twice. REQUIRES: there are no features yet.
  void take_features(std::span<const FeatureId> ids);
  // Appends each feature's share in the mean: its value divided by the sum of absolute values.
  static void append_shares(const Features& x, std::vector<float>& shares);
  // hidden[0], …, hidden[stride_ - 1]: the mean, followed by a 1 if the blocks have biases there, and zeros.
  virtual void mean(const Parts& parts, float* hidden) const = 0;

  std::uint32_t dimension_;
  std::size_t stride_;  // of an example: the dimension, the bias and padding
  LabelTree tree_;
  FeatureMap features_;
  std::vector<const NodeBlock*> views_;
  std::uint64_t examples_seen_ = 0;
  std::size_t vector_bytes_;  // per feature

 private:
  void copy(std::uint32_t row, std::vector<float>& vector) const;
  std::vector<float> lengths() const;

  std::vector<FeatureId> coordinates_;  // 0, …, dimension - 1: the features that blocks see
};

}  // namespace labelgrove
