#include "labelgrove/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
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
// A rarity's log-odds are a piecewise linear function of those of all children, which turns at kKnots. It is drawn to
// these with the strength kTowardsAll, and rises at least kLeastSlope times as steeply everywhere.
constexpr std::array kKnots{-2.0, 0.0};
constexpr double kTowardsAll = 20.0;
constexpr double kLeastSlope = 0.05;
// Newton's method ends when a step gains less than this share of the loss.
constexpr int kMostSteps = 50;
constexpr int kMostHalvings = 20;
constexpr double kLeastGain = 1e-12;

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

using ByBin = std::array<double, kBins>;

double total(const ByBin& counts) { return std::accumulate(counts.begin(), counts.end(), 0.0); }

// The children of some rarities.
struct Children {
  ByBin positives{};
  ByBin negatives{};

  void add(const MarginCounts& counts, std::size_t rarity) {
    for (std::size_t bin = 0; bin < kBins; ++bin) {
      positives[bin] += static_cast<double>(counts.positives()[rarity * kBins + bin]);
      negatives[bin] += static_cast<double>(counts.negatives()[rarity * kBins + bin]);
    }
  }
  double size() const { return total(positives) + total(negatives); }
};

// Pool-adjacent-violators (Ayer et al. 1955) over groups of bins; their shares rise strictly.
std::vector<Pool> pools_of(const Children& children) {
  const double of_each = std::min(std::floor(total(children.positives) / kPositivesForOne), kMostOfEach);
  const double known = of_each / kMostOfEach;
  std::vector<Pool> pools;
  Pool group;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    const double size = children.positives[bin] + children.negatives[bin];
    group.add({children.positives[bin], size, 0.0, 0.0, size * centre(bin)});
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

// By bin: the log-odds at its centre, of all children.
ByBin log_odds_of(const std::vector<Pool>& pools) {
  std::vector<Point> points{{-kRange, finite_log_odds(kLeftAtEnd * pools.front().share())}};
  for (const Pool& pool : pools) points.push_back({pool.margins / pool.size, finite_log_odds(pool.share())});
  points.push_back({kRange, finite_log_odds(1.0 - kLeftAtEnd * (1.0 - pools.back().share()))});
  ByBin found{};
  std::size_t k = 0;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    const double margin = centre(bin);
    while (k + 2 < points.size() && margin > points[k + 1].margin) ++k;
    const Point& low = points[k];
    const Point& high = points[k + 1];
    const double share = (margin - low.margin) / (high.margin - low.margin);
    found[bin] = low.log_odds + share * (high.log_odds - low.log_odds);
  }
  return found;
}

// The terms of a piecewise linear function of z: 1, z, and how far z is above each knot.
constexpr std::size_t kTerms = 2 + kKnots.size();
using Terms = std::array<double, kTerms>;

constexpr Terms kIdentity{0.0, 1.0};

double value(const Terms& weights, const Terms& terms) {
  return std::inner_product(weights.begin(), weights.end(), terms.begin(), 0.0);
}

Terms terms_of(double z) {
  Terms terms{1.0, z};
  for (std::size_t k = 0; k < kKnots.size(); ++k) terms[2 + k] = std::max(z - kKnots[k], 0.0);
  return terms;
}

// Logistic regression on these terms of the log-odds of all children, with a penalty of kTowardsAll / 2 times the
// squared distance from them.
class Regression {
 public:
  Regression(const ByBin& of_all, const Children& children) : children_(children) {
    std::ranges::transform(of_all, terms_.begin(), terms_of);
  }

  Terms solve() const {
    Terms weights = kIdentity;
    double best = loss(weights);
    for (int i = 0; i < kMostSteps; ++i) {
      const Terms step = newton_step(weights);
      Terms next{};
      double reached = best;
      double part = 1.0;
      for (int k = 0; k < kMostHalvings && !(reached < best); ++k, part *= 0.5) {
        for (std::size_t t = 0; t < kTerms; ++t) next[t] = weights[t] - part * step[t];
        reached = loss(next);
      }
      if (!(reached < best - kLeastGain * best)) break;
      weights = next;
      best = reached;
    }
    return weights;
  }

 private:
  double loss(const Terms& weights) const {
    double sum = 0.0;
    for (std::size_t t = 0; t < kTerms; ++t) {
      sum += 0.5 * kTowardsAll * (weights[t] - kIdentity[t]) * (weights[t] - kIdentity[t]);
    }
    for (std::size_t bin = 0; bin < kBins; ++bin) {
      const double odds = value(weights, terms_[bin]);
      sum += children_.positives[bin] * log_loss(odds) + children_.negatives[bin] * log_loss(-odds);
    }
    return sum;
  }

  // The gradient times the inverse of the second derivatives, by Gaussian elimination.
  Terms newton_step(const Terms& weights) const {
    std::array<std::array<double, kTerms + 1>, kTerms> rows{};  // the gradient is in the last column
    for (std::size_t t = 0; t < kTerms; ++t) {
      rows[t][t] = kTowardsAll;
      rows[t][kTerms] = kTowardsAll * (weights[t] - kIdentity[t]);
    }
    for (std::size_t bin = 0; bin < kBins; ++bin) {
      const double size = children_.positives[bin] + children_.negatives[bin];
      const Terms& terms = terms_[bin];
      const double p = logistic(value(weights, terms));
      for (std::size_t t = 0; t < kTerms; ++t) {
        for (std::size_t u = 0; u < kTerms; ++u) rows[t][u] += size * p * (1.0 - p) * terms[t] * terms[u];
        rows[t][kTerms] += (size * p - children_.positives[bin]) * terms[t];
      }
    }
    for (std::size_t t = 0; t < kTerms; ++t) {
      for (std::size_t below = t + 1; below < kTerms; ++below) {
        const double factor = rows[below][t] / rows[t][t];
        for (std::size_t u = t; u <= kTerms; ++u) rows[below][u] -= factor * rows[t][u];
      }
    }
    Terms step{};
    for (std::size_t t = kTerms; t-- > 0;) {
      double rest = rows[t][kTerms];
      for (std::size_t u = t + 1; u < kTerms; ++u) rest -= rows[t][u] * step[u];
      step[t] = rest / rows[t][t];
    }
    return step;
  }

  const Children& children_;
  std::array<Terms, kBins> terms_{};  // by bin
};

// Raises each slope that is too small. The value at the lowest knot stays, so that a slope far below, where few
// children are, does not lift all those above.
Terms rising(Terms weights) {
  double slope = 0.0;
  double before = 0.0;  // by how much the last slope was raised
  for (std::size_t t = 1; t < kTerms; ++t) {
    slope += weights[t];
    const double raised = std::max(kLeastSlope - slope, 0.0);
    weights[t] += raised - before;
    if (t == 1) weights[0] -= raised * kKnots.front();
    before = raised;
  }
  return weights;
}

// By bin: the log-odds at its centre, of the children of one rarity.
ByBin log_odds_near(const ByBin& of_all, const Children& children) {
  const Terms weights = rising(Regression(of_all, children).solve());
  ByBin found{};
  std::ranges::transform(of_all, found.begin(), [&](double z) { return value(weights, terms_of(z)); });
  return found;
}

}  // namespace

std::uint8_t rarity_of(std::uint64_t positives, std::uint64_t examples) {
  std::uint8_t rarity = 0;
  for (; rarity + 1U < kRarities && 4 * positives < examples; positives *= 4) ++rarity;
  return rarity;
}

void MarginCounts::add(float margin, bool positive, std::uint8_t rarity) {
  const float place = (margin + kRange) * static_cast<float>(kBinsPerUnit);
  const auto bin = static_cast<std::size_t>(std::min(std::max(0.0F, place), static_cast<float>(kBins - 1)));  // NaN: 0
  ++(positive ? positives_ : negatives_)[rarity * kBins + bin];
}

void MarginCounts::add(const MarginCounts& other) { add(other.negatives_, other.positives_); }

void MarginCounts::add(std::span<const std::uint64_t> negatives, std::span<const std::uint64_t> positives) {
  for (std::size_t i = 0; i < negatives.size(); ++i) {
    negatives_[i] += negatives[i];
    positives_[i] += positives[i];
  }
}

Calibration::Calibration(const MarginCounts& counts) : counts_(counts) {
  Children all;
  for (std::size_t rarity = 0; rarity < kRarities; ++rarity) all.add(counts, rarity);
  measured_ = total(all.positives) >= kFewestPositives;
  if (!measured_) {
    for (std::size_t bin = 0; bin < kBins; ++bin) curves_[0][bin] = static_cast<float>(fixed_link(centre(bin)));
    curves_.fill(curves_[0]);
    return;
  }
  const ByBin of_all = log_odds_of(pools_of(all));
  for (std::size_t rarity = 0; rarity < kRarities; ++rarity) {
    Children some;
    some.add(counts, rarity);
    const bool differ = some.size() > 0.0 && some.size() < all.size();
    const ByBin found = differ ? log_odds_near(of_all, some) : of_all;
    for (std::size_t bin = 0; bin < kBins; ++bin) curves_[rarity][bin] = static_cast<float>(logistic(found[bin]));
  }
}

void Calibration::apply(const float* margins, const std::uint8_t* rarities, std::uint32_t n,
                        float* probabilities) const {
  constexpr auto kLast = static_cast<float>(kBins - 1);
  for (std::uint32_t c = 0; c < n; ++c) {
    const Curve& curve = curves_[rarities == nullptr ? 0 : rarities[c]];
    const float place = (margins[c] + MarginCounts::kRange) * static_cast<float>(kBinsPerUnit) - 0.5F;
    const float inside = std::min(std::max(0.0F, place), kLast - 1.0F);
    const auto bin = static_cast<std::uint32_t>(inside);
    const float share = std::min(place - static_cast<float>(bin), 1.0F);
    const float low = curve[bin];
    probabilities[c] = low + std::max(share, 0.0F) * (curve[bin + 1] - low);
  }
}

}  // namespace labelgrove
