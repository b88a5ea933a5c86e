#include "labelgrove/label_gauge.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "labelgrove/archive_check.hpp"

namespace labelgrove {
namespace {

constexpr double kHorizon = 64.0;  // examples over which the running means average

// In blocks a label's first examples count fully, and all of them as much as kEnough, if there are more, but each as
// kLeastShare of one at least (docs/decisions/arow.md).
constexpr std::uint64_t kFirst = 16;
constexpr double kEnough = 32.0;
constexpr double kLeastShare = 0.05;

// A label is late while it has at most kFirst examples and the chance is below kLateByChance. The gauge must be below
// kHardlyBlocks, since in blocks labels turn up one after another (docs/decisions/arow.md).
constexpr double kLateByChance = 1e-4;
constexpr double kHardlyBlocks = 0.25;

}  // namespace

void LabelGauge::observe(std::span<const LabelId> labels) {
  if (examples_ > 0 && !labels.empty()) {
    std::uint64_t before = 0;
    std::size_t repeats = 0;
    for (const LabelId label : labels) {
      if (label < counts_.size()) before += counts_[label];
      if (std::ranges::find(last_, label) != last_.end()) ++repeats;
    }
    const auto n = static_cast<double>(labels.size());
    const double by_chance = static_cast<double>(before) / static_cast<double>(examples_);
    repeated_ += ((static_cast<double>(repeats) - by_chance) / n - repeated_) / kHorizon;
    possible_ += ((n - by_chance) / n - possible_) / kHorizon;
  }
  for (const LabelId label : labels) {
    if (label >= counts_.size()) counts_.resize(std::size_t{label} + 1);
    if (counts_[label]++ > 0) continue;
    before_.resize(counts_.size());
    before_[label] = examples_;
    ++met_;
  }
  labels_ += labels.size();
  last_.assign(labels.begin(), labels.end());
  ++examples_;
}

double LabelGauge::blocks() const { return possible_ > 0.0 ? std::clamp(repeated_ / possible_, 0.0, 1.0) : 0.0; }

double LabelGauge::share(std::span<const LabelId> labels) const {
  if (std::ranges::any_of(labels, [&](LabelId label) { return counts_[label] <= kFirst; })) return 1.0;
  const double excess = std::max(0.0, 2.0 * blocks() - 1.0);
  if (excess == 0.0 || met_ == 0) return 1.0;
  const double per_label = static_cast<double>(labels_) / static_cast<double>(met_);
  return 1.0 - excess * excess * (1.0 - std::clamp(kEnough / per_label, kLeastShare, 1.0));
}

bool LabelGauge::is_late(LabelId label) const {
  if (counts_[label] > kFirst || blocks() >= kHardlyBlocks) return false;
  const double behind = static_cast<double>(examples_ - before_[label]) / static_cast<double>(examples_);
  double chance = 1.0;
  for (std::uint64_t n = 1; n < counts_[label]; ++n) chance *= behind;
  return chance < kLateByChance;
}

double LabelGauge::labels_per_example() const {
  return examples_ > 0 ? static_cast<double>(labels_) / static_cast<double>(examples_) : 0.0;
}

void LabelGauge::save(ArrayWriter& out) const {
  std::ranges::copy(counts_, out.u64("gauge.counts", counts_.size()).begin());
  std::ranges::copy(before_, out.u64("gauge.before", before_.size()).begin());
  std::ranges::copy(last_, out.u32("gauge.last", last_.size()).begin());
  out.u64("gauge.examples", 1)[0] = examples_;
  const auto means = out.f64("gauge.means", 2);
  means[0] = repeated_;
  means[1] = possible_;
}

LabelGauge::LabelGauge(const ArrayReader& saved, LabelId n_labels, std::uint64_t examples_seen) {
  const auto counts = saved.u64("gauge.counts");
  const auto before = saved.has("gauge.before") ? saved.u64("gauge.before") : std::span<const std::uint64_t>();
  const auto last = saved.u32("gauge.last");
  const auto examples = saved.u64("gauge.examples");
  const auto means = saved.f64("gauge.means");
  require(examples.size() == 1 && examples[0] <= examples_seen,
          "array 'gauge.examples' must hold one number, at most the number of examples seen");
  require(counts.size() <= n_labels && std::ranges::all_of(counts, [&](std::uint64_t n) { return n <= examples[0]; }),
          "array 'gauge.counts' must hold at most one number for each label, none above the number of examples");
  bool fits = before.empty() || before.size() == counts.size();  // early files lack it: no label is late
  for (std::size_t label = 0; fits && label < before.size(); ++label) {
    fits = before[label] <= examples[0] - counts[label];
  }
  require(fits,
          "array 'gauge.before' must hold one number for each of 'gauge.counts', at most that of all other examples");
  require(std::ranges::all_of(last, [&](LabelId label) { return label < counts.size() && counts[label] > 0; }),
          "array 'gauge.last' holds a label that no example has had");
  require(means.size() == 2 && std::abs(means[0]) <= 1.0 && means[1] >= 0.0 && means[1] <= 1.0,
          "array 'gauge.means' must hold two numbers, from -1 to 1 and from 0 to 1");
  counts_.assign(counts.begin(), counts.end());
  before_.assign(before.begin(), before.end());
  before_.resize(counts_.size());
  last_.assign(last.begin(), last.end());
  examples_ = examples[0];
  labels_ = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  met_ = counts.size() - static_cast<std::uint64_t>(std::ranges::count(counts, std::uint64_t{0}));
  repeated_ = means[0];
  possible_ = means[1];
}

}  // namespace labelgrove
