#include "labelgrove/l1_logistic.hpp"

#include <algorithm>
#include <cmath>

#include "labelgrove/elementary.hpp"

namespace labelgrove {
namespace {

constexpr int kMostModels = 100;
constexpr std::size_t kMostPasses = 1000;
constexpr int kMostHalvings = 20;
// Passes over the examples before the Hessian is computed, beyond those that cost as much as computing it.
constexpr std::size_t kFewPasses = 16;
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
//
// Columns that resemble each other, such as pixels from 0 to 255, need hundreds of passes. If the Hessian has fewer
// entries than the columns, it takes their place once the passes have cost as much as computing it (as in glmnet:
// Friedman et al. 2010, 2.2).
void L1Logistic::improve(const SparseColumns& x, double enough) {
  moves_.assign(margins_.size(), 0.0);
  steps_.assign(free_.size(), 0.0);
  full_.clear();
  std::size_t entries = 0;
  for (const std::uint32_t j : free_) entries += x.begin[j + 1] - x.begin[j];
  const std::size_t few = entries > free_.size() * free_.size() ? kFewPasses + free_.size() / 4 : kMostPasses;
  for (std::size_t pass = 0; pass < kMostPasses; ++pass) {
    if (pass == few) find_hessian(x);
    const double sum = full_.empty() ? pass_over_examples(x) : pass_over_hessian();
    if (sum > enough) continue;
    if (pass == 0) inner_ *= 0.25;  // the tolerance was too loose
    break;
  }
  if (full_.empty()) return;
  moves_.assign(margins_.size(), 0.0);
  for (std::size_t f = 0; f < free_.size(); ++f) move(x, f, steps_[f]);
}

// Descends along each free column in turn; returns the norm of the subgradients found on the way.
double L1Logistic::pass_over_examples(const SparseColumns& x) {
  double sum = 0.0;
  for (std::size_t f = 0; f < free_.size(); ++f) {
    const double change = descend(f, along(x, f, gradient_[f]), sum);
    if (change != 0.0) move(x, f, change);
  }
  return sum;
}

double L1Logistic::pass_over_hessian() {
  double sum = 0.0;
  const std::size_t n = free_.size();
  for (std::size_t f = 0; f < n; ++f) {
    const double change = descend(f, slopes_now_[f], sum);
    if (change == 0.0) continue;
    for (std::size_t g = 0; g < n; ++g) slopes_now_[g] += change * full_[f * n + g];
  }
  return sum;
}

// Changes one weight; returns by how much. Adds the violation before the change to `sum`.
double L1Logistic::descend(std::size_t f, double gradient, double& sum) {
  const double weight = weights_[free_[f]] + steps_[f];
  sum += violation(weight, gradient);
  // Newton's step, but not beyond the kink at 0.
  const double pulled = hessian_[f] * weight - gradient;
  const double best = std::fabs(pulled) <= 1.0 ? 0.0 : (pulled - std::copysign(1.0, pulled)) / hessian_[f];
  const double change = best - weight;
  if (change != 0.0) steps_[f] += change;
  return change;
}

// The derivative of the model by a free column's weight, added to `gradient`.
double L1Logistic::along(const SparseColumns& x, std::size_t f, double gradient) const {
  const std::uint32_t j = free_[f];
  for (std::size_t at = x.begin[j]; at < x.begin[j + 1]; ++at) {
    const std::uint32_t i = x.rows[at];
    gradient += static_cast<double>(x.values[at]) * curvatures_[i] * moves_[i];
  }
  return gradient;
}

void L1Logistic::move(const SparseColumns& x, std::size_t f, double change) {
  const std::uint32_t j = free_[f];
  for (std::size_t at = x.begin[j]; at < x.begin[j + 1]; ++at)
    moves_[x.rows[at]] += change * static_cast<double>(x.values[at]);
}

// Computes the Hessian of the free columns, and the gradient at the present step.
void L1Logistic::find_hessian(const SparseColumns& x) {
  const std::size_t n = free_.size();
  slopes_now_.resize(n);
  for (std::size_t f = 0; f < n; ++f) slopes_now_[f] = along(x, f, gradient_[f]);
  full_.resize(n * n);
  for (std::size_t f = 0; f < n; ++f) {
    moves_.assign(margins_.size(), 0.0);
    move(x, f, 1.0);
    for (std::size_t g = 0; g < f; ++g) full_[f * n + g] = full_[g * n + f] = along(x, g, 0.0);
    full_[f * n + f] = hessian_[f];
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
