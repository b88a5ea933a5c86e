#include "labelgrove/reranking.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "labelgrove/elementary.hpp"

namespace labelgrove {
namespace {

constexpr double kForgotten = 1.0 / 4096.0;
constexpr double kPrior = 1.0;  // precision of every weight
constexpr double kMostLogit = 8.0;
constexpr std::array<std::size_t, 3> kPlaces{1, 3, 5};  // the k of the P@k

// The weight of a place in the mean of the P@k.
double weight_of(std::size_t place) {
  double weight = 0.0;
  for (const std::size_t most : kPlaces)
    if (place < most) weight += 1.0 / static_cast<double>(most * kPlaces.size());
  return weight;
}

}  // namespace

Reranking::Reranking(std::span<const double> numbers) {
  if (numbers.size() != kNumbers) throw std::invalid_argument("a re-ranking has too many or too few numbers");
  if (!std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); }))
    throw std::invalid_argument("a re-ranking has a number that is not finite");
  auto next = numbers.begin();
  for (double& sum : gain_) sum = *next++;
  for (double& weight : weights_) weight = *next++;
  for (Vector& row : precision_)
    for (double& value : row) value = *next++;
  bool symmetric = true;
  for (std::size_t i = 0; i < kInputs; ++i)
    for (std::size_t j = 0; j < i; ++j) symmetric = symmetric && precision_[i][j] == precision_[j][i];
  Vector any{};
  if (gain_[1] < 0.0 || !symmetric || !solve(precision_, any))
    throw std::invalid_argument("a re-ranking has an invalid gain or precision matrix");
}

std::array<double, Reranking::kNumbers> Reranking::numbers() const {
  std::array<double, kNumbers> all{};
  auto next = std::ranges::copy(gain_, all.begin()).out;
  next = std::ranges::copy(weights_, next).out;
  for (const Vector& row : precision_) next = std::ranges::copy(row, next).out;
  return all;
}

Reranking::Vector Reranking::inputs(float probability, double cosine) {
  return {std::clamp(log_odds(static_cast<double>(probability)), -kMostLogit, kMostLogit), 1.0, cosine};
}

double Reranking::logit(const Vector& inputs) const {
  return weights_[0] * inputs[0] + weights_[1] + weights_[2] * inputs[2];
}

double Reranking::logit(float probability, double cosine) const {
  return std::isnan(probability) ? std::numeric_limits<double>::quiet_NaN() : logit(inputs(probability, cosine));
}

void Reranking::learn(std::span<const float> probabilities, std::span<const double> cosines,
                      std::span<const double> worth, const bool* right, double* logits) {
  expected_.resize(probabilities.size());
  order_.clear();
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    logits[i] = logit(probabilities[i], cosines[i]);
    if (!std::isnan(probabilities[i])) order_.push_back(i);
  }
  if (order_.empty()) return;
  for (Vector& row : precision_)
    for (double& value : row) value *= 1.0 - kForgotten;
  for (std::size_t i = 0; i < kInputs; ++i) precision_[i][i] += kForgotten * kPrior;

  Vector step{};
  double gain = 0.0;
  for (std::size_t place = 0; place < order_.size(); ++place) {
    const std::size_t i = order_[place];
    const Vector x = inputs(probabilities[i], cosines[i]);
    const double found = logistic(logits[i]);
    const double hit = right[i] ? 1.0 : 0.0;
    for (std::size_t a = 0; a < kInputs; ++a) {
      step[a] += x[a] * (hit - found);
      for (std::size_t b = 0; b < kInputs; ++b) precision_[a][b] += found * (1.0 - found) * (x[a] * x[b]);
    }
    expected_[i] = found * worth[i];
    gain -= hit * worth[i] * weight_of(place);
  }
  std::ranges::stable_sort(order_, std::ranges::greater{}, [&](std::size_t i) { return expected_[i]; });
  for (std::size_t place = 0; place < order_.size(); ++place)
    if (right[order_[place]]) gain += worth[order_[place]] * weight_of(place);
  gain_ = {(1.0 - kForgotten) * gain_[0] + gain, (1.0 - kForgotten) * gain_[1] + gain * gain};
  if (!solve(precision_, step)) return;
  for (std::size_t a = 0; a < kInputs; ++a) weights_[a] += step[a];
}

// Sets `right` to the solution x of matrix x = right, by elimination; false unless the matrix is positive definite.
bool Reranking::solve(Matrix matrix, Vector& right) {
  for (std::size_t i = 0; i < kInputs; ++i) {
    if (!(matrix[i][i] > 0.0)) return false;
    for (std::size_t j = i + 1; j < kInputs; ++j) {
      const double factor = matrix[j][i] / matrix[i][i];
      for (std::size_t k = i; k < kInputs; ++k) matrix[j][k] -= factor * matrix[i][k];
      right[j] -= factor * right[i];
    }
  }
  for (std::size_t i = kInputs; i-- > 0;) {
    for (std::size_t k = i + 1; k < kInputs; ++k) right[i] -= matrix[i][k] * right[k];
    right[i] /= matrix[i][i];
  }
  return true;
}

}  // namespace labelgrove
