#include "labelgrove/l1_logistic.hpp"

#include <algorithm>
#include <cmath>

#include "labelgrove/elementary.hpp"

namespace labelgrove {
namespace {

constexpr int kMostModels = 100;
constexpr int kMostPasses = 1000;
constexpr int kMostHalvings = 20;
constexpr double kLeastCurvature = 1e-12;
// A step must achieve this fraction of the decrease that the gradient promises (Yuan et al., Eq. 12).
constexpr double kSufficient = 0.01;

// The distance of 0 from the subgradient of the loss plus |w|, given the derivative of the loss.
double violation(double weight, double gradient) {
  if (weight > 0.0) return std::fabs(gradient + 1.0);
  if (weight < 0.0) return std::fabs(gradient - 1.0);
  return std::max(0.0, std::fabs(gradient) - 1.0);
}

}  // namespace

void L1Logistic::solve(const SparseColumns& x, std::span<const std::int8_t> sides, std::span<const double> costs,
                       double tolerance, const Progress* progress) {
  weights_.assign(x.size(), 0.0);
  margins_.assign(sides.size(), 0.0);
  inner_ = 1.0;
  double first = 0.0;
  for (int n = 0; n < kMostModels; ++n) {
    if (progress != nullptr) progress->check();
    const double left = model(x, sides, costs);
    if (n == 0) first = left;
    if (left <= tolerance * first) break;
    improve(x, inner_ * first);
    if (!step(sides, costs)) break;
  }
}

// Builds the model; returns the L1 norm of the smallest subgradient.
double L1Logistic::model(const SparseColumns& x, std::span<const std::int8_t> sides, std::span<const double> costs) {
  const std::size_t n = sides.size();
  slopes_.resize(n);
  curvatures_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double share = logistic(margins_[i]);
    slopes_[i] = costs[i] * (sides[i] > 0 ? share - 1.0 : share);
    curvatures_[i] = costs[i] * share * (1.0 - share);
  }
  free_.clear();
  gradient_.clear();
  hessian_.clear();
  double sum = 0.0;
  for (std::uint32_t j = 0; j < x.size(); ++j) {
    double gradient = 0.0;
    for (std::size_t at = x.begin[j]; at < x.begin[j + 1]; ++at)
      gradient += static_cast<double>(x.values[at]) * slopes_[x.rows[at]];
    const double off = violation(weights_[j], gradient);
    sum += off;
    if (off == 0.0 && weights_[j] == 0.0) continue;
    double curvature = kLeastCurvature;
    for (std::size_t at = x.begin[j]; at < x.begin[j + 1]; ++at) {
      const auto value = static_cast<double>(x.values[at]);
      curvature += value * value * curvatures_[x.rows[at]];
    }
    free_.push_back(j);
    gradient_.push_back(gradient);
    hessian_.push_back(curvature);
  }
  return sum;
}

// Finds the step d that minimises the model plus |w + d|_1, until its subgradient's norm is at most `enough`.
void L1Logistic::improve(const SparseColumns& x, double enough) {
  moves_.assign(margins_.size(), 0.0);
  steps_.assign(free_.size(), 0.0);
  for (int pass = 0; pass < kMostPasses; ++pass) {
    double sum = 0.0;
    for (std::size_t f = 0; f < free_.size(); ++f) {
      const std::uint32_t j = free_[f];
      double gradient = gradient_[f];
      for (std::size_t at = x.begin[j]; at < x.begin[j + 1]; ++at) {
        const std::uint32_t i = x.rows[at];
        gradient += static_cast<double>(x.values[at]) * curvatures_[i] * moves_[i];
      }
      const double weight = weights_[j] + steps_[f];
      sum += violation(weight, gradient);
      // Newton's step, but not beyond the kink at 0.
      const double pulled = hessian_[f] * weight - gradient;
      const double best = std::fabs(pulled) <= 1.0 ? 0.0 : (pulled - std::copysign(1.0, pulled)) / hessian_[f];
      const double change = best - weight;
      if (change == 0.0) continue;
      steps_[f] += change;
      for (std::size_t at = x.begin[j]; at < x.begin[j + 1]; ++at)
        moves_[x.rows[at]] += change * static_cast<double>(x.values[at]);
    }
    if (sum > enough) continue;
    if (pass == 0) inner_ *= 0.25;  // the tolerance was too loose
    return;
  }
}

// Takes the largest fraction of the step that decreases the objective; returns whether anything changed.
bool L1Logistic::step(std::span<const std::int8_t> sides, std::span<const double> costs) {
  double promised = 0.0;
  double norm = 0.0;
  for (std::size_t f = 0; f < free_.size(); ++f) {
    const double weight = weights_[free_[f]];
    promised += gradient_[f] * steps_[f] + std::fabs(weight + steps_[f]) - std::fabs(weight);
    norm += std::fabs(weight);
  }
  double share = 1.0;
  for (int halving = 0; halving < kMostHalvings; ++halving, share *= 0.5) {
    double change = -norm;
    for (std::size_t f = 0; f < free_.size(); ++f) change += std::fabs(weights_[free_[f]] + share * steps_[f]);
    for (std::size_t i = 0; i < margins_.size(); ++i) {
      const double side = sides[i];
      change += costs[i] * (log_loss(side * (margins_[i] + share * moves_[i])) - log_loss(side * margins_[i]));
    }
    if (change > kSufficient * share * promised) continue;
    for (std::size_t f = 0; f < free_.size(); ++f) weights_[free_[f]] += share * steps_[f];
    for (std::size_t i = 0; i < margins_.size(); ++i) margins_[i] += share * moves_[i];
    return promised < 0.0;
  }
  return false;
}

}  // namespace labelgrove
