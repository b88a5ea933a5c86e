#include "labelgrove/vector_block.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "labelgrove/elementary.hpp"
#include "labelgrove/kernels.hpp"
#include "labelgrove/link.hpp"
#include "labelgrove/vector_kernels.hpp"

namespace labelgrove {
namespace {

constexpr float kLargestScore = 30.0F;  // beyond this, probabilities are 0 or 1 in a float

float bounded_score(float score) { return std::clamp(score, -kLargestScore, kLargestScore); }

}  // namespace

float VectorStep::size(float mean_square, float& sum) const {
  if (learner->kind == LearnerKind::sgd) return rate;
  sum = std::min(sum + mean_square, kLargestSquareSum);
  return rate / std::sqrt(learner->epsilon + sum);
}

void NodeVectors::predict(const Features& hidden, Workspace& work, float* probabilities) const {
  work.margins.resize(children_);
  work.margins[0] = 0.0F;
  work.bytes += score(hidden.values, work.margins.data() + first_);
  const bool competing = first_ == 1 && children_ != 2;
  if (first_ == 1 && children_ == 2) work.margins[0] = -work.margins[1];  // two competitors: a single sigmoid
  apply_link(competing ? Link::softmax : Link::logistic, work.margins.data(), children_, probabilities);
}

float NodeVectors::contributions(const Features& hidden, std::uint32_t child, float* added) const {
  std::vector<float> own(dimension_ + std::size_t{1});
  if (child >= first_) copy(child - first_, own.data());
  for (std::uint32_t k = 0; k < dimension_; ++k) added[k] = own[k] * hidden.values[k];
  return own[dimension_];
}

LinearBlock NodeVectors::linear() const {
  LinearBlock block{first_ == 1 ? Link::softmax : Link::logistic, 1.0F, children_, {}, {}};
  block.features.resize(dimension_);
  std::iota(block.features.begin(), block.features.end(), 0U);
  block.weights.resize((dimension_ + std::size_t{1}) * children_);
  std::vector<float> own(dimension_ + std::size_t{1});
  for (std::uint32_t c = first_; c < children_; ++c) {
    copy(c - first_, own.data());
    block.weights[c] = own[dimension_];
    for (std::uint32_t k = 0; k < dimension_; ++k) block.weights[(k + 1) * children_ + c] = own[k];
  }
  return block;
}

VectorBlock::VectorBlock(std::uint32_t children, std::uint32_t dimension, bool softmax)
    : NodeVectors(children, dimension, softmax),
      stride_(padded(dimension + std::size_t{1})),
      values_(vectors() * stride_),
      squares_(vectors()) {}

std::size_t VectorBlock::bytes() const {
  return sizeof(VectorBlock) + (values_.capacity() + squares_.capacity()) * sizeof(float);
}

std::size_t VectorBlock::score(const float* hidden, float* scores) const {
  const VectorKernels& kernels = vector_kernels();
  for (std::uint32_t i = 0; i < vectors(); ++i) scores[i] = kernels.dot(row(i), hidden, stride_);
  return values_.size() * sizeof(float);
}

void VectorBlock::copy(std::uint32_t i, float* vector) const {
  std::copy_n(row(i), dimension_ + std::size_t{1}, vector);
}

void VectorBlock::score_all(const float* hidden, float* scores) const {
  scores[0] = 0.0F;
  score(hidden, scores + first_);
}

void VectorBlock::learn(const float* hidden, float mean_square, std::span<const std::uint32_t> positives, float weight,
                        const VectorStep& step, std::vector<float>& scores, float* gradient) {
  scores.resize(children_);
  score_all(hidden, scores.data());
  if (first_ == 1) softmax(scores.data(), children_);
  else kernels().sigmoid(scores.data(), children_, scores.data());
  for (float& share : scores) share = -share;
  for (const std::uint32_t child : positives) scores[child] += 1.0F;
  const VectorKernels& steps = vector_kernels();
  for (std::uint32_t i = 0; i < vectors(); ++i) {
    const float slope = weight * scores[first_ + i];
    const float size = step.size(slope * slope * mean_square, squares_[i]);
    steps.add_then_move(slope, gradient, size * slope, hidden, row(i), stride_);
  }
}

void VectorBlock::add_child(const float* hidden, std::uint64_t reached) {
  ++children_;
  values_.resize(vectors() * stride_);
  squares_.resize(vectors());
  reset_child(children_ - 1, hidden, reached);
}

void VectorBlock::reset_child(std::uint32_t child, const float* hidden, std::uint64_t reached) {
  if (vectors() == 0) return;  // the only child of a softmax
  if (child < first_) {
    centre();
  } else {
    std::fill_n(row(child - first_), stride_, 0.0F);
    squares_[child - first_] = 0.0F;
  }
  double bias = -fixed_log(static_cast<double>(reached) + 1.0);
  if (first_ == 1) {
    std::vector<float> scores(children_);
    score_all(hidden, scores.data());
    double siblings = 0.0;
    for (std::uint32_t c = 0; c < children_; ++c) {
      if (c != child) siblings += fixed_exp(static_cast<double>(bounded_score(scores[c])));
    }
    bias += fixed_log(siblings);
  }
  if (child >= first_) row(child - first_)[dimension_] = static_cast<float>(bias);
  else lower(dimension_, static_cast<float>(bias));
}

// What is learnt about the first child of a softmax, whose score is fixed at 0, is in the vectors of the others. They
// lose what they have in common.
void VectorBlock::centre() {
  for (std::size_t k = 0; k <= dimension_; ++k) {
    double sum = 0.0;
    for (std::uint32_t i = 0; i < vectors(); ++i) sum += static_cast<double>(row(i)[k]);
    lower(k, static_cast<float>(sum / vectors()));
  }
}

void VectorBlock::lower(std::size_t k, float by) {
  for (std::uint32_t i = 0; i < vectors(); ++i) {
    row(i)[k] = std::clamp(row(i)[k] - by, -kLargestCoordinate, kLargestCoordinate);
  }
}

}  // namespace labelgrove
