// Linear regressors side by side over the features 0, 1, …, n - 1, trained in squared loss: those of an LdSM node.
//
//   row of a feature:  [ w(0) … w(C-1) | state(0) … state(C-1) ]
//
// Row 0 belongs to the bias, whose value is 1 in every example; feature f has row f + 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/learner.hpp"
#include "labelgrove/node_block.hpp"
#include "labelgrove/row_storage.hpp"

namespace labelgrove {

class RegressorBlock {
 public:
  // Initial weights are in [-spread, +spread]; `key` seeds their draws. Throws std::invalid_argument if the learner is
  // AROW, which has a different loss.
  RegressorBlock(const LearnerOptions& options, std::uint32_t columns, std::uint32_t features, std::uint64_t key);

  // One step of every column towards its target, in half the squared loss. The example counts `weight` times. On
  // return, margins[c] is w . x after the step.
  void learn(const Features& x, std::span<const float> targets, float weight, Workspace& work, float* margins);
  // (rows, columns): the weights for unscaled features.
  std::vector<float> weights() const;

 private:
  float* row(std::size_t r) { return storage_.data() + r * row_floats_; }
  const float* row(std::size_t r) const { return storage_.data() + r * row_floats_; }
  double normalize(const Features& x, Workspace& work);

  LearnerOptions options_;
  std::uint32_t columns_;
  std::uint32_t rows_;
  std::uint32_t stride_;
  std::size_t row_floats_;
  RowStorage storage_;
  std::vector<float> scales_;   // NAG: by row, the largest |x| so far; stored weights are multiplied by it
  double norm_ = 0.0;           // NAG: N, the sum of squares of all x divided by their scales
  std::uint64_t examples_ = 0;  // learnt so far
};

}  // namespace labelgrove
