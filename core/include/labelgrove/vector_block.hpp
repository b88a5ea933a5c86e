// The children of a node, each scored by a vector of its own and a bias, of examples that are vectors themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/learner.hpp"
#include "labelgrove/node_block.hpp"

namespace labelgrove {

// How far one learning step goes.
struct VectorStep {
  const LearnerOptions* learner;
  float rate;  // what is left of the learner's rate by now
  // Of a vector whose gradient has this mean square; `sum` is that of all its gradients.
  float size(float mean_square, float& sum) const;
};

// The vectors of a node's children, the bias behind each. In a softmax the first child has none: its score is 0.
class VectorBlock final : public NodeBlock {
 public:
  VectorBlock(std::uint32_t children, std::uint32_t dimension, bool softmax);

  std::uint32_t children() const override { return children_; }
  // `hidden` is an example as EmbeddingPlt::embed() gives it, here and below.
  void predict(const Features& hidden, Workspace& work, float* probabilities) const override;
  float contributions(const Features& hidden, std::uint32_t child, float* added) const override;
  LinearBlock linear() const override;

  // The example is positive for these children, and counts `weight` times; its gradient is added to `gradient`.
  void learn(const float* hidden, float mean_square, std::span<const std::uint32_t> positives, float weight,
             const VectorStep& step, std::vector<float>& scores, float* gradient);
  // A new last child, which has been missing in `reached` examples so far: 1 in reached + 2 is its share of this one.
  void add_child(const float* hidden, std::uint64_t reached);
  // The child begins anew, likewise.
  void reset_child(std::uint32_t child, const float* hidden, std::uint64_t reached);

  // The vector of a child, null for the first one of a softmax.
  const float* vector(std::uint32_t child) const { return child < first_ ? nullptr : row(child - first_); }
  std::uint32_t vectors() const { return children_ - first_; }
  float* row(std::uint32_t i) { return values_.data() + i * stride_; }
  const float* row(std::uint32_t i) const { return values_.data() + i * stride_; }
  std::span<float> squares() { return squares_; }
  std::span<const float> squares() const { return squares_; }
  std::size_t bytes() const;

 private:
  void score(const float* hidden, float* scores) const;

  std::uint32_t children_;
  std::uint32_t dimension_;
  std::uint32_t first_;  // children without a vector
  std::size_t stride_;
  std::vector<float> values_;
  std::vector<float> squares_;  // by vector: the sum of the mean squares of its gradients
};

}  // namespace labelgrove
