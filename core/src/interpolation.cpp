#include "labelgrove/interpolation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "labelgrove/elementary.hpp"

namespace labelgrove {
namespace {

constexpr double kRounding = 1e-9;  // tolerance for sums of weights, relative to a label's weight

// The group's values, scaled to sum to 1; empty if they are all zero.
std::vector<double> share_of_group(std::span<const double> values, std::span<const LabelId> group) {
  std::vector<double> shares(group.size());
  std::ranges::transform(group, shares.begin(), [&](LabelId label) { return values[label]; });
  const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (total <= 0.0) return {};
  for (double& share : shares) share /= total;
  return shares;
}

}  // namespace

SplitWeights split_weights(const Interpolation& interpolation, std::span<const LabelId> group) {
  const std::size_t n = group.size();
  if (interpolation.frequencies.empty()) return {std::vector<double>(n, 1.0), std::vector<double>(n, 0.0), 1.0};
  const double each = 1.0 / static_cast<double>(n);
  std::vector<double> f = share_of_group(interpolation.frequencies, group);
  if (f.empty()) f.assign(n, each);
  std::vector<double> fano = share_of_group(interpolation.fano_frequencies, group);
  if (fano.empty()) fano = f;

  const double lambda = interpolation.lambda;
  const bool halfway = interpolation.weighted_intermediate;
  const double to_fano = halfway ? std::max(lambda - 1.0, 0.0) : lambda;
  const double exponent = std::min(lambda, 1.0);
  SplitWeights weights{std::vector<double>(n), std::vector<double>(n), (2.0 - lambda) / 2.0};
  for (std::size_t i = 0; i < n; ++i) {
    const double by_similarity = halfway ? fixed_pow(f[i], exponent) : each;
    weights.weight[i] = (2.0 - lambda) * by_similarity + to_fano * fano[i] + interpolation.smoothing * each;
  }
  const double total = std::accumulate(weights.weight.begin(), weights.weight.end(), 0.0);
  const double largest = *std::ranges::max_element(weights.weight);
  for (std::size_t i = 0; i < n; ++i) {
    weights.bonus[i] = to_fano * weights.weight[i] / total;
    weights.weight[i] /= largest;
  }
  return weights;
}

namespace {

// Sorts labels in the order in which they go to the front. If all weights are equal, the order only matters around the
// last label of the front.
void sort_for_front(std::span<const double> keys, std::span<const double> weights, double share,
                    std::span<std::uint32_t> order) {
  std::iota(order.begin(), order.end(), 0U);
  const auto before = [&](std::uint32_t a, std::uint32_t b) { return keys[a] != keys[b] ? keys[a] > keys[b] : a < b; };
  if (!std::ranges::all_of(weights, [&](double weight) { return weight == weights.front(); })) {
    std::ranges::sort(order, before);
    return;
  }
  const auto last = static_cast<std::size_t>(share * static_cast<double>(order.size()));
  const auto from = order.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(last, 2) - 2);
  std::ranges::nth_element(order, from, before);
  std::partial_sort(from, from + std::min<std::ptrdiff_t>(4, order.end() - from), order.end(), before);
}

}  // namespace

void assign_sides(std::span<const double> keys, std::span<const double> weights, double share,
                  std::vector<std::uint32_t>& order, std::span<std::uint8_t> front) {
  order.resize(keys.size());
  sort_for_front(keys, weights, share, order);
  std::ranges::fill(front, std::uint8_t{0});
  const double wanted = share * std::accumulate(weights.begin(), weights.end(), 0.0);
  double missing = wanted;
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    const std::uint32_t label = order[i];
    const double weight = weights[label];  // the paper's (1 + alpha) / 2 is missing / weight, but at most 1
    const bool whole = missing >= weight * (1.0 - kRounding);
    const bool halved = !whole && std::abs(missing - weight / 2.0) <= weight * kRounding;
    const bool none = missing <= std::max(weight, wanted * kRounding) * kRounding || (halved && keys[label] <= 0.0);
    if (none && i > 0) return;
    front[label] = 1;
    if (!whole) return;
    missing -= weight;
  }
}

}  // namespace labelgrove
