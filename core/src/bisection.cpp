#include "labelgrove/bisection.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace labelgrove {
namespace {

// Renumbering costs about one pass over the group. It pays if many features do not occur in it.
constexpr std::size_t kOccurrences = 4;
constexpr std::size_t kLabelsPerTask = 256;
constexpr std::size_t kLanes = 8;

double dot_dense(const float* a, const float* b, std::size_t n) {
  double lanes[kLanes] = {};
  std::size_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    for (std::size_t i = 0; i < kLanes; ++i) lanes[i] += static_cast<double>(a[j + i]) * static_cast<double>(b[j + i]);
  }
  for (; j < n; ++j) lanes[0] += static_cast<double>(a[j]) * static_cast<double>(b[j]);
  return std::accumulate(lanes, lanes + kLanes, 0.0);
}

double dot_sparse(const Features& x, const float* dense) {
  double even = 0.0;
  double odd = 0.0;
  std::uint32_t j = 0;
  for (; j + 2 <= x.size; j += 2) {
    even += static_cast<double>(x.values[j]) * static_cast<double>(dense[x.ids[j]]);
    odd += static_cast<double>(x.values[j + 1]) * static_cast<double>(dense[x.ids[j + 1]]);
  }
  if (j < x.size) even += static_cast<double>(x.values[j]) * static_cast<double>(dense[x.ids[j]]);
  return even + odd;
}

void add(const Features& x, bool dense, double weight, std::vector<double>& sum) {
  if (dense) {
    for (std::uint32_t j = 0; j < x.size; ++j) sum[j] += weight * static_cast<double>(x.values[j]);
  } else {
    for (std::uint32_t j = 0; j < x.size; ++j) sum[x.ids[j]] += weight * static_cast<double>(x.values[j]);
  }
}

double inverse_of(double norm) { return norm > 0.0 ? 1.0 / norm : 0.0; }

}  // namespace

void Bisection::number_features(std::span<const LabelId> group) {
  group_ = group;
  std::size_t width = dimension_;
  std::size_t occurrences = 0;
  for (const LabelId label : group) occurrences += vectors_[label].size;
  renumbered_ = !vectors_.dense() && occurrences < kOccurrences * width;
  if (renumbered_) {
    number_of_.resize(width, kNone);
    numbers_.resize(occurrences);
    starts_.resize(group.size());
    width = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < group.size(); ++i) {
      starts_[i] = at;
      const Features x = vectors_[group[i]];
      for (std::uint32_t j = 0; j < x.size; ++j, ++at) {
        std::uint32_t& number = number_of_[x.ids[j]];
        if (number == kNone) number = static_cast<std::uint32_t>(width++);
        numbers_[at] = number;
      }
    }
    for (const LabelId label : group) {
      const Features x = vectors_[label];
      for (std::uint32_t j = 0; j < x.size; ++j) number_of_[x.ids[j]] = kNone;
    }
  }
  total_.assign(width, 0.0);
  front_sum_.assign(width, 0.0);
  direction_.assign(width, 0.0F);
}

Features Bisection::local(std::size_t i) const {
  Features x = vectors_[group_[i]];
  if (renumbered_) x.ids = numbers_.data() + starts_[i];
  return x;
}

void Bisection::begin(std::pair<std::size_t, std::size_t> centres, double similarity) {
  for (const auto& [i, sign] : {std::pair{centres.first, 1.0}, std::pair{centres.second, -1.0}}) {
    const Features x = local(i);
    const double scale = sign * similarity * scales_[group_[i]];
    for (std::uint32_t j = 0; j < x.size; ++j) direction_[x.ids[j]] += scaled(x.values[j], scale);
  }
}

void Bisection::score(const SplitWeights& weights, Crew* crew) {
  const std::size_t n = group_.size();
  keys_.resize(n);
  const auto task = [&](std::size_t chunk) {
    const std::size_t end = std::min(n, (chunk + 1) * kLabelsPerTask);
    for (std::size_t i = chunk * kLabelsPerTask; i < end; ++i) {
      const Features x = local(i);
      const float* to = direction_.data();
      const double dot = vectors_.dense() ? dot_dense(x.values, to, x.size) : dot_sparse(x, to);
      keys_[i] = weights.bonus[i] + scales_[group_[i]] * dot;
    }
  };
  const std::size_t chunks = (n + kLabelsPerTask - 1) / kLabelsPerTask;
  if (crew == nullptr) {
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) task(chunk);
  } else {
    crew->start(chunks, task);
    crew->finish();
  }
}

// Updates the centres after labels have changed sides (next_ against front_), and returns half of Equation 4's
// objective: for optimal centres, the similarities of a side sum to the length of its sum.
double Bisection::follow(const SplitWeights& weights) {
  double total_weight = 0.0;
  double bonus = 0.0;
  for (std::size_t i = 0; i < group_.size(); ++i) {
    if (next_[i] != front_[i]) {
      const double weight = scales_[group_[i]] * weights.weight[i];
      add(local(i), vectors_.dense(), next_[i] != 0 ? weight : -weight, front_sum_);
    }
    total_weight += weights.weight[i];
    bonus += (next_[i] != 0 ? weights.bonus[i] : -weights.bonus[i]) * weights.weight[i];
  }
  double front_square = 0.0;
  double back_square = 0.0;
  for (std::size_t j = 0; j < total_.size(); ++j) {
    const double back = total_[j] - front_sum_[j];
    front_square += front_sum_[j] * front_sum_[j];
    back_square += back * back;
  }
  const double front = std::sqrt(front_square);
  const double back = std::sqrt(back_square);
  const double to_front = weights.similarity * inverse_of(front);
  const double to_back = weights.similarity * inverse_of(back);
  for (std::size_t j = 0; j < total_.size(); ++j) {
    direction_[j] = static_cast<float>(to_front * front_sum_[j] - to_back * (total_[j] - front_sum_[j]));
  }
  return (weights.similarity * (front + back) + bonus / 2.0) / total_weight;
}

std::span<const std::uint8_t> Bisection::split(std::span<const LabelId> group, const SplitWeights& weights,
                                               double share, std::pair<std::size_t, std::size_t> centres, Crew* crew) {
  front_.assign(group.size(), 0);
  next_.resize(group.size());
  if (weights.similarity <= 0.0) {  // Fano: keys do not depend on centres
    assign_sides(weights.bonus, weights.weight, share, order_, front_);
    return front_;
  }
  number_features(group);
  for (std::size_t i = 0; i < group.size(); ++i)
    add(local(i), vectors_.dense(), scales_[group[i]] * weights.weight[i], total_);
  begin(centres, weights.similarity);
  double best = -std::numeric_limits<double>::infinity();
  for (std::uint32_t iteration = 0; iteration < max_iterations_; ++iteration) {
    score(weights, crew);
    assign_sides(keys_, weights.weight, share, order_, next_);
    if (next_ == front_) break;
    const double objective = follow(weights);
    if (objective <= best) break;  // rounding may lose more than the centres gained
    std::swap(front_, next_);
    if (objective < best + tolerance_) break;
    best = objective;
  }
  return front_;
}

}  // namespace labelgrove
