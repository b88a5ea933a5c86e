// A node's children, each with a vector and a bias of its own that score examples, which are vectors themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/learner.hpp"
#include "labelgrove/node_block.hpp"

namespace labelgrove {

// The step size of a learning step.
struct VectorStep {
  const LearnerOptions* learner;
  float rate;  // the learner's rate after decay
  // For a vector whose gradient has this mean square; `sum` accumulates the mean squares of all its gradients.
  float size(float mean_square, float& sum) const;
};

// A node's children as prediction sees them, wherever their vectors are stored. In a softmax the first child has no
// vector: its score is 0.
class NodeVectors : public NodeBlock {
 public:
  std::uint32_t children() const final { return children_; }
  // Here and below, `hidden` is an example as returned by Embedding::embed().
  void predict(const Features& hidden, Workspace& work, float* probabilities) const final;
  float contributions(const Features& hidden, std::uint32_t child, float* added) const final;
  LinearBlock linear() const final;
  std::uint32_t vectors() const { return children_ - first_; }
  // Copies the i-th vector, followed by its bias.
  virtual void copy(std::uint32_t i, float* vector) const = 0;

 protected:
  NodeVectors(std::uint32_t children, std::uint32_t dimension, bool softmax)
      : children_(children), dimension_(dimension), first_(softmax ? 1 : 0) {}

  std::uint32_t children_;
  std::uint32_t dimension_;
  std::uint32_t first_;  // children without a vector: 1 in a softmax, else 0

 private:
  // Computes the scores of the children that have vectors; returns the bytes read.
  virtual std::size_t score(const float* hidden, float* scores) const = 0;
};

// Children that learn; each vector is followed by its bias.
class VectorBlock final : public NodeVectors {
 public:
  VectorBlock(std::uint32_t children, std::uint32_t dimension, bool softmax);

  void copy(std::uint32_t i, float* vector) const override;
  // Learns an example that is positive for these children and counts `weight` times; adds its gradient to `gradient`.
  void learn(const float* hidden, float mean_square, std::span<const std::uint32_t> positives, float weight,
             const VectorStep& step, std::vector<float>& scores, float* gradient);
  // Appends a child that was missing in `reached` examples so far; its initial probability for this example is 1 /
  // (reached + 2).
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
  void centre();
  void lower(std::size_t k, float by);  // the k-th number of every vector

  std::size_t stride_;
  std::vector<float> values_;
  std::vector<float> squares_;  // by vector: the sum of the mean squares of its gradients
};

}  // namespace labelgrove
