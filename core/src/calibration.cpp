#include "labelgrove/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "labelgrove/elementary.hpp"

namespace labelgrove {
namespace {

constexpr std::size_t kBins = MarginCounts::kBins;
constexpr double kRange = static_cast<double>(MarginCounts::kRange);
constexpr double kBinsPerUnit = static_cast<double>(kBins) / (2.0 * kRange);

// Fewer positives measure nothing.
constexpr double kFewestPositives = 20.0;
// Neighbouring bins are united until they hold kFewestChildren children, among them one positive and one negative for
// every kPositivesForOne positives counted, up to kMostOfEach of each.
constexpr double kFewestChildren = 8.0;
constexpr double kPositivesForOne = 200.0;
constexpr double kMostOfEach = 4.0;
// With few positives a group may lack one kind, so each counts one child more. The squared hinge's link says how much
// of it is positive, but never less than this, nor more than 1 minus this. The more of each kind a group must hold, the
// closer that part is to a half.
constexpr double kLeastDoubt = 0.02;
// Beyond the outermost points measured the probability approaches 0 and 1; at the end of the range it has this share of
// its last distance left.
constexpr double kLeftAtEnd = 0.25;
// So that log-odds stay finite, whatever counts a file holds.
constexpr double kLeastProbability = 1e-12;

double centre(std::size_t bin) { return (static_cast<double>(bin) + 0.5) / kBinsPerUnit - kRange; }

double fixed_link(double margin) {
  const double loss = std::max(0.0, 1.0 - margin);
  return fixed_exp(-loss * loss);
}

// Neighbouring bins.
struct Pool {
  double positives = 0.0;
  double size = 0.0;
  double smoothed_positives = 0.0;
  double smoothed_size = 0.0;
  double margins = 0.0;  // summed

  double share() const { return smoothed_positives / smoothed_size; }
  void add(const Pool& other) {
    positives += other.positives;
    size += other.size;
    smoothed_positives += other.smoothed_positives;
    smoothed_size += other.smoothed_size;
    margins += other.margins;
  }
};

double total(const MarginCounts::Counts& counts) {
  double sum = 0.0;
  for (const std::uint64_t count : counts) sum += static_cast<double>(count);
  return sum;
}

// Pool-adjacent-violators (Ayer et al. 1955) over groups of bins; their shares rise strictly.
std::vector<Pool> pools_of(const MarginCounts& counts) {
  const double of_each = std::min(std::floor(total(counts.positives()) / kPositivesForOne), kMostOfEach);
  const double known = of_each / kMostOfEach;
  std::vector<Pool> pools;
  Pool group;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    const auto positives = static_cast<double>(counts.positives()[bin]);
    const double size = positives + static_cast<double>(counts.negatives()[bin]);
    group.add({positives, size, 0.0, 0.0, size * centre(bin)});
    const double of_rarer = std::min(group.positives, group.size - group.positives);
    const bool few = group.size < kFewestChildren || of_rarer < of_each;
    if (group.size == 0.0 || (few && bin + 1 < kBins)) continue;
    const double linked = std::clamp(fixed_link(group.margins / group.size), kLeastDoubt, 1.0 - kLeastDoubt);
    group.smoothed_positives = group.positives + known * 0.5 + (1.0 - known) * linked;
    group.smoothed_size = group.size + 1.0;
    pools.push_back(group);
    group = {};
    while (pools.size() > 1 && pools[pools.size() - 2].share() >= pools.back().share()) {
      pools[pools.size() - 2].add(pools.back());
      pools.pop_back();
    }
  }
  return pools;
}

struct Point {
  double margin;
  double log_odds;
};

double finite_log_odds(double probability) {
  return log_odds(std::clamp(probability, kLeastProbability, 1.0 - kLeastProbability));
}

std::vector<Point> points_of(const std::vector<Pool>& pools) {
  std::vector<Point> points{{-kRange, finite_log_odds(kLeftAtEnd * pools.front().share())}};
  for (const Pool& pool : pools) points.push_back({pool.margins / pool.size, finite_log_odds(pool.share())});
  points.push_back({kRange, finite_log_odds(1.0 - kLeftAtEnd * (1.0 - pools.back().share()))});
  return points;
}

}  // namespace

void MarginCounts::add(float margin, bool positive) {
  const float place = (margin + kRange) * static_cast<float>(kBinsPerUnit);
  const auto bin = static_cast<std::size_t>(std::min(std::max(0.0F, place), static_cast<float>(kBins - 1)));  // NaN: 0
  ++(positive ? positives_ : negatives_)[bin];
}

void MarginCounts::add(const MarginCounts& other) { add(other.negatives_, other.positives_); }

void MarginCounts::add(std::span<const std::uint64_t, kBins> negatives,
                       std::span<const std::uint64_t, kBins> positives) {
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    negatives_[bin] += negatives[bin];
    positives_[bin] += positives[bin];
  }
}

Calibration::Calibration(const MarginCounts& counts)
    : counts_(counts), measured_(total(counts.positives()) >= kFewestPositives) {
  if (!measured_) {
    for (std::size_t bin = 0; bin < kBins; ++bin) {
      at_centre_[bin] = static_cast<float>(fixed_link(centre(bin)));
    }
    return;
  }
  const std::vector<Point> points = points_of(pools_of(counts));
  std::size_t k = 0;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    const double margin = centre(bin);
    while (k + 2 < points.size() && margin > points[k + 1].margin) ++k;
    const Point& low = points[k];
    const Point& high = points[k + 1];
    const double share = (margin - low.margin) / (high.margin - low.margin);
    at_centre_[bin] = static_cast<float>(logistic(low.log_odds + share * (high.log_odds - low.log_odds)));
  }
}

void Calibration::apply(const float* margins, std::uint32_t n, float* probabilities) const {
  constexpr auto kLast = static_cast<float>(kBins - 1);
  for (std::uint32_t c = 0; c < n; ++c) {
    const float place = (margins[c] + MarginCounts::kRange) * static_cast<float>(kBinsPerUnit) - 0.5F;
    const float inside = std::min(std::max(0.0F, place), kLast - 1.0F);
    const auto bin = static_cast<std::uint32_t>(inside);
    const float share = std::min(place - static_cast<float>(bin), 1.0F);
    const float low = at_centre_[bin];
    probabilities[c] = low + std::max(share, 0.0F) * (at_centre_[bin + 1] - low);
  }
}

}  // namespace labelgrove
