#include "labelgrove/score_calibration.hpp"

#include <algorithm>
#include <cmath>
#include <ranges>
#include <stdexcept>
#include <utility>

#include "labelgrove/elementary.hpp"

namespace labelgrove {
namespace {

constexpr std::size_t kKnots = ScoreCalibration::kKnots;
constexpr double kFirst = -8.0;
constexpr double kStep = 0.25;
// The number of prior labels at every knot.
constexpr double kTrust = 2.0;
// The limits of the factor by which one example discounts all earlier ones.
constexpr double kLeastKept = 0x1p-10;
constexpr double kMostKept = 1.0 - 0x1p-12;
// More labels than can be counted at a knot, as earlier examples are discounted.
constexpr double kMostCounted = 0x1p40;
// The candidates for f are multiples of this.
constexpr double kFallStep = 0.25;
constexpr std::size_t kFalls = 17;
// The least distance of the share at a knot from 0 and 1.
constexpr double kSmallest = 1e-6;
// The least rise of the log-odds from knot to knot, which preserves rankings.
constexpr double kTilt = 1e-3;
constexpr double kPowerStep = 0.25;
// The log-loss that a power e times as large or small as the one expected must save, summed over all examples.
constexpr double kPowerTrust = 0.25;
// The log-odds of 1 - 2^-25, the least probability that a float rounds to 1; greater ones count as this.
constexpr double kSurest = 25.0 * kLog2;
constexpr double kMiddle = (kKnots - 1) / 2.0;
// The first place of each group, and of one that would follow.
constexpr std::array<std::size_t, 11> kGroups{0, 1, 2, 3, 5, 7, 11, 15, 23, 31, 47};

double power_at(std::size_t i) { return kPowerStep * static_cast<double>(i + 1); }

double knot(std::size_t i) { return kFirst + kStep * static_cast<double>(i); }

// The knot below, and the position between it and the next one, from 0 to 1.
std::pair<std::size_t, double> between_knots(double logit) {
  const double at = std::clamp((logit - kFirst) / kStep, 0.0, static_cast<double>(kKnots - 1));
  const auto low = std::min(static_cast<std::size_t>(at), kKnots - 2);
  return {low, at - static_cast<double>(low)};
}

// The curve at a logit. Beyond its ends it continues with slope 1.
double along(const ScoreCalibration::Curve& curve, double logit) {
  const auto [low, share] = between_knots(logit);
  const double below = curve.logits[low];
  const double beyond = logit - std::clamp(logit, kFirst, knot(kKnots - 1));
  return below + share * (curve.logits[low + 1] - below) + beyond;
}

// The logit at which the curve has this value.
double inverse(const ScoreCalibration::Curve& curve, double value) {
  const auto& values = curve.logits;
  if (value <= values.front()) return kFirst + (value - values.front());
  if (value >= values.back()) return knot(kKnots - 1) + (value - values.back());
  const auto above = static_cast<std::size_t>(std::ranges::upper_bound(values, value) - values.begin());
  return knot(above - 1) + kStep * (value - values[above - 1]) / (values[above] - values[above - 1]);
}

// The score from which on labels reach a threshold after their log-odds are lowered by `fallen`.
float uncalibrated(const ScoreCalibration::Curve& curve, float threshold, double fallen) {
  if (!(threshold > 0.0F && threshold <= 1.0F)) return threshold;
  const float below = std::nextafter(threshold, 0.0F);  // may be rounded to the threshold
  const double logit = inverse(curve, log_odds(static_cast<double>(below))) + fallen;
  return std::nextafter(static_cast<float>(logistic(logit)), 0.0F);
}

// The group of a place, of so many groups.
std::size_t group_of(std::size_t place, std::size_t groups) {
  const auto later = std::span(kGroups).first(groups).subspan(1);
  return static_cast<std::size_t>(std::ranges::upper_bound(later, place) - later.begin());
}

// The scale on which places count.
double depth(std::size_t group) { return fixed_log1p(static_cast<double>(kGroups[group])); }

// Labels at the knots: how many, and how many of them are right.
struct Table {
  std::array<double, kKnots> counts;
  std::array<double, kKnots> hits;
};

double entropy(const Table& table) {
  double sum = 0.0;
  for (std::size_t i = 0; i < kKnots; ++i) {
    const double share = table.hits[i] / table.counts[i];
    sum -= table.counts[i] * (share * fixed_log(share) + (1.0 - share) * fixed_log(1.0 - share));
  }
  return sum;
}

// The shares of right labels, made monotone: pool-adjacent-violators (Ayer et al. 1955).
std::array<double, kKnots> rising_shares(const Table& table) {
  struct Pool {
    double share;
    double count;
    std::size_t knots;
  };
  std::vector<Pool> pools;
  for (std::size_t i = 0; i < kKnots; ++i) {
    Pool pool{table.hits[i] / table.counts[i], table.counts[i], 1};
    while (!pools.empty() && pools.back().share >= pool.share) {
      const Pool& before = pools.back();
      const double count = before.count + pool.count;
      pool = {(before.share * before.count + pool.share * pool.count) / count, count, before.knots + pool.knots};
      pools.pop_back();
    }
    pools.push_back(pool);
  }
  std::array<double, kKnots> shares{};
  std::size_t i = 0;
  for (const Pool& pool : pools) {
    for (std::size_t n = 0; n < pool.knots; ++n) shares[i++] = pool.share;
  }
  return shares;
}

}  // namespace

ScoreCalibration::ScoreCalibration(std::size_t places)
    : counts_((group_of(places - 1, kGroups.size() - 1) + 1) * kKnots), hits_(counts_.size()) {}

ScoreCalibration::ScoreCalibration(double weight, std::vector<double> counts, std::vector<double> hits,
                                   const Losses& losses)
    : weight_(weight), counts_(std::move(counts)), hits_(std::move(hits)), losses_(losses) {
  bool valid = weight >= 1.0 && weight < 2.0 && !counts_.empty() && counts_.size() % kKnots == 0 &&
               groups() < kGroups.size() && counts_.size() == hits_.size();
  for (std::size_t i = 0; valid && i < counts_.size(); ++i) {
    valid = counts_[i] <= kMostCounted && hits_[i] >= 0.0 && hits_[i] <= counts_[i] * (1.0 + 1e-9);
  }
  for (const double loss : losses_) valid = valid && loss >= 0.0 && loss <= kMostCounted;
  if (!valid)
    throw std::invalid_argument("a calibration has an invalid weight, count or loss, or more hits than labels");
}

// Counts are scaled only by powers of 2, so the result does not depend on when.
void ScoreCalibration::add(std::span<const double> logits, const bool* right, double keep) {
  weight_ *= 1.0 / std::clamp(keep, kLeastKept, kMostKept);
  std::size_t hits = 0, hit = 0;
  for (std::size_t place = 0; place < logits.size(); ++place) {
    if (std::isnan(logits[place])) continue;
    const auto [low, share] = between_knots(logits[place]);
    const std::size_t group = group_of(place, groups());
    const std::size_t cell = group * kKnots + low;
    const double weight = weight_ / static_cast<double>(kGroups[group + 1] - kGroups[group]);
    for (const auto& [at, part] : {std::pair(cell, 1.0 - share), std::pair(cell + 1, share)}) {
      counts_[at] += weight * part;
      if (right[place]) hits_[at] += weight * part;
    }
    if (right[place]) ++hits, hit = place;
  }
  if (hits == 1) add_losses(logits, hit);
  if (weight_ >= 2.0) {
    int exponent = 0;
    std::frexp(weight_, &exponent);
    const double scale = std::ldexp(1.0, 1 - exponent);
    for (double& count : counts_) count *= scale;
    for (double& number : hits_) number *= scale;
    for (double& loss : losses_) loss *= scale;
    weight_ *= scale;
  }
  fitted_.reset();
}

void ScoreCalibration::add_losses(std::span<const double> logits, std::size_t right) {
  const auto above = [&](double logit) { return std::clamp(logit, -kSurest, kSurest) - kSurest; };
  Losses totals{};  // of the powers of the odds
  for (const double logit : logits) {
    if (std::isnan(logit)) continue;
    const double step = fixed_exp(kPowerStep * above(logit));
    double odds = 1.0;
    for (double& total : totals) total += odds *= step;
  }
  for (std::size_t i = 0; i < kPowers; ++i)
    losses_[i] += weight_ * std::max(fixed_log(totals[i]) - power_at(i) * above(logits[right]), 0.0);
}

double ScoreCalibration::power(double expected) const {
  const auto cost = [&](std::size_t i) {
    const double change = fixed_log(power_at(i) / expected);
    return losses_[i] / weight_ + kPowerTrust * change * change;
  };
  return power_at(std::ranges::min(std::views::iota(std::size_t{0}, kPowers), {}, cost));
}

void ScoreCalibration::apply(std::span<const double> logits, std::span<const std::size_t> places, double* found) const {
  const Curve curve = this->curve();
  std::vector<double> falls(groups());
  for (std::size_t group = 0; group < falls.size(); ++group) falls[group] = curve.fall * depth(group);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double logit = logits[i] - falls[group_of(places[i], groups())];
    found[i] = std::isnan(logit) ? logit : logistic(along(curve, logit));
  }
}

void ScoreCalibration::uncalibrate(std::span<const float> thresholds, std::size_t place, float* least) const {
  const Curve curve = this->curve();
  const double fallen = curve.fall * depth(group_of(place, groups()));
  for (std::size_t i = 0; i < thresholds.size(); ++i) least[i] = uncalibrated(curve, thresholds[i], fallen);
}

void ScoreCalibration::uncalibrate_by_place(float threshold, std::span<float> least) const {
  const Curve curve = this->curve();
  for (std::size_t place = 0; place < least.size(); ++place)
    least[place] = uncalibrated(curve, threshold, curve.fall * depth(group_of(place, groups())));
}

ScoreCalibration::Curve ScoreCalibration::curve() const {
  const std::scoped_lock lock(fitting_);
  if (!fitted_) fitted_ = fit();
  return *fitted_;
}

ScoreCalibration::Curve ScoreCalibration::fit() const {
  Curve curve;
  Table best{};
  double least = 0.0;
  for (std::size_t candidate = 0; candidate < (groups() == 1 ? 1 : kFalls); ++candidate) {
    const double fall = kFallStep * static_cast<double>(candidate);
    Table table{};
    for (std::size_t group = 0; group < groups(); ++group) {
      const double fallen = fall * depth(group);
      for (std::size_t i = 0; i < kKnots; ++i) {
        const std::size_t cell = group * kKnots + i;
        if (counts_[cell] == 0.0) continue;
        const auto [low, share] = between_knots(knot(i) - fallen);
        for (const auto& [at, part] : {std::pair(low, 1.0 - share), std::pair(low + 1, share)}) {
          table.counts[at] += part * counts_[cell];
          table.hits[at] += part * hits_[cell];
        }
      }
    }
    for (std::size_t i = 0; i < kKnots; ++i) {
      table.counts[i] = table.counts[i] / weight_ + kTrust;
      table.hits[i] = table.hits[i] / weight_ + kTrust * logistic(knot(i));
    }
    const double uncertainty = entropy(table);
    if (candidate > 0 && uncertainty >= least) continue;
    least = uncertainty;
    curve.fall = fall;
    best = table;
  }
  const auto shares = rising_shares(best);
  for (std::size_t i = 0; i < kKnots; ++i) {
    const double share = std::clamp(shares[i], kSmallest, 1.0 - kSmallest);
    curve.logits[i] = log_odds(share) + kTilt * (static_cast<double>(i) - kMiddle);
  }
  return curve;
}

}  // namespace labelgrove
