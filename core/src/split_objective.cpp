#include "labelgrove/split_objective.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace labelgrove {
namespace {

// Values of J this close count as equal: rounding must not decide which is smaller.
constexpr double kEqual = 1e-9;

}  // namespace

void SplitObjective::start(std::size_t labels) {
  total_ = 0.0;
  mass_.fill(0.0);
  label_mass_.assign(labels * arity_, 0.0);
}

// Only the terms of the example's own labels depend on where the example goes, and each pair of children j, l
// contributes a function f of the difference of their bits alone. With b_j, b_l in {0, 1}
//   f(b_j - b_l) - f(0) = b_j u + b_l v - b_j b_l (u + v),   u = f(1) - f(0), v = f(-1) - f(0),
// so one pass over the labels yields the coefficients of all pairs, and the cost of a set is the cost of the set
// without its highest direction plus a few coefficients.
std::uint32_t SplitObjective::choose(std::span<const std::uint32_t> labels, double weight) {
  const double step = weight * static_cast<double>(labels.size());
  total_ += step;
  std::array<double, kMostDirections> alone{};
  std::array<std::array<double, kMostDirections>, kMostDirections> together{};
  double sum = 0.0;
  for (std::uint32_t j = 0; j < arity_; ++j) {
    sum += mass_[j];
    for (std::uint32_t l = j + 1; l < arity_; ++l) {
      double same = 0.0;
      double up = 0.0;
      double down = 0.0;
      for (const std::uint32_t label : labels) {
        const double difference = mass(label, j) - mass(label, l);
        same += std::fabs(difference);
        up += std::fabs(difference + weight);
        down += std::fabs(difference - weight);
      }
      const double difference = mass_[j] - mass_[l];
      const double balanced = std::fabs(difference) - weights_.lambda1 * same;
      const double u = std::fabs(difference + step) - weights_.lambda1 * up - balanced;
      const double v = std::fabs(difference - step) - weights_.lambda1 * down - balanced;
      alone[j] += u;
      alone[l] += v;
      together[l][j] = -(u + v);
    }
  }
  std::uint32_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::uint32_t set = 1; set < 1U << arity_; ++set) {
    const auto top = static_cast<std::uint32_t>(std::bit_width(set)) - 1;
    const std::uint32_t rest = set & ~(1U << top);
    double cost = cost_[rest] + alone[top];
    for (std::uint32_t left = rest; left != 0; left &= left - 1)
      cost += together[top][static_cast<std::uint32_t>(std::countr_zero(left))];
    cost_[set] = cost;
    const auto directions = static_cast<std::uint32_t>(std::popcount(set));
    const double value = cost + weights_.lambda2 * std::fabs(sum + directions * step - total_);
    const double tolerance = kEqual * total_;
    const bool fewer = directions < static_cast<std::uint32_t>(std::popcount(best));
    if (value < least - tolerance || (fewer && value <= least + tolerance)) {
      least = value;
      best = set;
    }
  }
  return best;
}

void SplitObjective::record(std::span<const std::uint32_t> labels, double weight, std::span<const float> margins) {
  for (std::uint32_t j = 0; j < arity_; ++j) {
    const double sent = weight * static_cast<double>(std::clamp(margins[j], 0.0F, 1.0F));
    mass_[j] += sent * static_cast<double>(labels.size());
    for (const std::uint32_t label : labels) mass(label, j) += sent;
  }
}

void SplitObjective::add(std::uint32_t label, double count, std::span<const double> sent) {
  total_ += count;
  for (std::uint32_t j = 0; j < arity_; ++j) {
    mass_[j] += sent[j];
    mass(label, j) += sent[j];
  }
}

double SplitObjective::value() const {
  if (total_ <= 0.0) return 0.0;
  double balance = 0.0;
  double integrity = 0.0;
  double sum = 0.0;
  for (std::uint32_t j = 0; j < arity_; ++j) {
    sum += mass_[j];
    for (std::uint32_t l = j + 1; l < arity_; ++l) balance += std::fabs(mass_[j] - mass_[l]);
  }
  for (std::size_t at = 0; at < label_mass_.size(); at += arity_) {
    for (std::uint32_t j = 0; j < arity_; ++j)
      for (std::uint32_t l = j + 1; l < arity_; ++l) integrity += std::fabs(label_mass_[at + j] - label_mass_[at + l]);
  }
  return (balance - weights_.lambda1 * integrity + weights_.lambda2 * std::fabs(sum - total_)) / total_;
}

double SplitObjective::balance() const {
  if (total_ <= 0.0) return 0.0;
  double mean = 0.0;
  for (std::uint32_t j = 0; j < arity_; ++j) mean += mass_[j] / arity_;
  double most = 0.0;
  for (std::uint32_t j = 0; j < arity_; ++j) most = std::max(most, std::fabs(mass_[j] - mean));
  return most / total_;
}

double SplitObjective::purity() const {
  if (total_ <= 0.0) return 0.0;
  double impure = 0.0;
  for (std::size_t at = 0; at < label_mass_.size(); at += arity_) {
    double sum = 0.0;
    for (std::uint32_t j = 0; j < arity_; ++j) sum += label_mass_[at + j];
    for (std::uint32_t j = 0; j < arity_; ++j) impure += std::min(label_mass_[at + j], sum - label_mass_[at + j]);
  }
  return impure / (arity_ * total_);
}

}  // namespace labelgrove
