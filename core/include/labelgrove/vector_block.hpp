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
  // For a vector whose gradient has this mean square; `sum` accumulates over all its gradients.
  float size(float mean_square, float& sum) const;
};

// A node's children as prediction sees them, wherever their vectors are. In a softmax the first child has none: its
// score is 0.
class NodeVectors : public NodeBlock {
 public:
  std::uint32_t children() const final { return children_; }
  // `hidden` is an example as Embedding::embed() gives it, here and below.
  void predict(const Features& hidden, Workspace& work, float* probabilities) const final;
  float contributions(const Features& hidden, std::uint32_t child, float* added) const final;
  LinearBlock linear() const final;
  std::uint32_t vectors() const { return children_ - first_; }
  // The i-th vector, and its bias behind it.
  virtual void copy(std::uint32_t i, float* vector) const = 0;

 protected:
  NodeVectors(std::uint32_t children, std::uint32_t dimension, bool softmax)
      : children_(children), dimension_(dimension), first_(softmax ? 1 : 0) {}

  std::uint32_t children_;
  std::uint32_t dimension_;
  std::uint32_t first_;  // children without a vector

 private:
  // The scores of the children that have vectors; returns how many bytes were read.
  virtual std::size_t score(const float* hidden, float* scores) const = 0;
};

// Those that learn, the bias behind each vector.
class VectorBlock final : public NodeVectors {
 public:
  VectorBlock(std::uint32_t children, std::uint32_t dimension, bool softmax);

  void copy(std::uint32_t i, float* vector) const override;
  // The example is positive for these children, and counts `weight` times; its gradient is added to `gradient`.
  void learn(const float* hidden, float mean_square, std::span<const std::uint32_t> positives, float weight,
             const VectorStep& step, std::vector<float>& scores, float* gradient);
  // A new last child, which has been missing in `reached` examples so far: 1 in reached + 2 is its share of this one.
  void add_child(const float* hidden, std::uint64_t reached);
  // Resets a child as if it had just been added.
  void reset_child(std::uint32_t child, const float* hidden, std::uint64_t reached);

  float* row(std::uint32_t i) { return values_.data() + i * stride_; }
  const float* row(std::uint32_t i) const { return values_.data() + i * stride_; }
  std::span<float> squares() { return squares_; }
  std::span<const float> squares() const { return squares_; }
  std::size_t bytes() const;

 private:
  std::size_t score(const float* hidden, float* scores) const override;
  void score_all(const float* hidden, float* scores) const;

  std::size_t stride_;
  std::vector<float> values_;
  std::vector<float> squares_;  // by vector: the sum of the mean squares of its gradients
};

}  // namespace labelgrove
