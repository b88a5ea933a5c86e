// The re-ranking of a second stage.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace labelgrove {

// A logistic regression of whether a label is right on its log-odds in the first stage, cut to [-8, 8], on a constant,
// and on the cosine between the example and the label's centroid. It starts as the identity of the log-odds and learns
// by Newton steps with a prior; what it has seen is forgotten over some 4,096 examples.
//
// Before it learns from an example, it notes what the first stage's ranking would have gained if labels had been ranked
// by their probability in the regression times their worth: by how much the mean of P@1, P@3 and P@5 would have risen, a
// right label counting as much as it is worth.
class Reranking {
 public:
  static constexpr std::size_t kInputs = 3;
  static constexpr std::size_t kNumbers = 2 + kInputs + kInputs * kInputs;

  Reranking() = default;
  // From `numbers()`. Throws std::invalid_argument if no re-ranking has such.
  explicit Reranking(std::span<const double> numbers);

  // Learns from the labels of an example, best first, and sets `logits` to their log-odds from before. A probability of
  // NaN means no label, and its log-odds are NaN.
  void learn(std::span<const float> probabilities, std::span<const double> cosines, std::span<const double> worth,
             const bool* right, double* logits);

  // The log-odds of a label; NaN if the probability is.
  double logit(float probability, double cosine) const;

  // The sum of the gains, and the sum of their squares.
  std::array<double, 2> gain() const { return gain_; }
  std::array<double, kInputs> weights() const { return weights_; }
  // The complete state: gain, weights and the precision matrix.
  std::array<double, kNumbers> numbers() const;

 private:
  using Vector = std::array<double, kInputs>;
  using Matrix = std::array<Vector, kInputs>;

  static Vector inputs(float probability, double cosine);
  double logit(const Vector& inputs) const;
  static bool solve(Matrix matrix, Vector& right);

  std::array<double, 2> gain_{};
  Vector weights_{1.0, 0.0, 0.0};
  Matrix precision_{{{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}}};
  // Scratch memory of `learn`, by label.
  std::vector<double> expected_;
  std::vector<std::size_t> order_;
};

}  // namespace labelgrove
