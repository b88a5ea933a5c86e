#include "labelgrove/label_sums.hpp"

#include <algorithm>
#include <cmath>

#include "labelgrove/archive_check.hpp"
#include "labelgrove/budget.hpp"

namespace labelgrove {

void LabelSums::add(const Features& x, std::span<const LabelId> labels, float weight) {
  ++examples_;
  std::size_t known = sums_.size();
  for (const LabelId label : labels) known = std::max(known, label + std::size_t{1});
  make_room(known, std::uint64_t{x.size} * labels.size());
  if (known > sums_.capacity()) sums_.reserve(known + known / 8);
  if (known > sums_.size()) sums_.resize(known);
  for (const LabelId label : labels) {
    ++sums_[label].count;
    merge(x, weight, sums_[label]);
  }
}

void LabelSums::make_room(std::size_t labels, std::uint64_t parts) {
  if (max_bytes_ == 0 || most_bytes(labels, parts_ + parts) <= max_bytes_) return;
  while (budget_ > 1 && most_bytes(labels, parts_ + parts) > kept(max_bytes_)) {
    budget_ -= budget_ / 4 + (budget_ < 4 ? 1 : 0);
    for (Sum& sum : sums_) {
      if (sum.parts.size() <= budget_) continue;
      parts_ -= sum.parts.size() - budget_;
      cut(sum.parts);
      sum.parts.shrink_to_fit();
      measure(sum);
    }
  }
}

// Keeps the largest parts; among equals, those with the smallest ids.
void LabelSums::cut(std::vector<Part>& parts) const {
  const auto larger = [](const Part& a, const Part& b) {
    const float x_a = std::abs(a.value);
    const float x_b = std::abs(b.value);
    return x_a != x_b ? x_a > x_b : a.id < b.id;
  };
  std::ranges::nth_element(parts, parts.begin() + budget_, larger);
  parts.resize(budget_);
  std::ranges::sort(parts, {}, &Part::id);
}

void LabelSums::merge(const Features& x, float weight, Sum& sum) {
  merged_.clear();
  auto part = sum.parts.cbegin();
  for (std::uint32_t j = 0; j < x.size; ++j) {
    for (; part != sum.parts.cend() && part->id < x.ids[j]; ++part) merged_.push_back(*part);
    const bool both = part != sum.parts.cend() && part->id == x.ids[j];
    merged_.push_back({x.ids[j], weight * x.values[j] + (both ? part->value : 0.0F)});
    if (both) ++part;
  }
  merged_.insert(merged_.end(), part, sum.parts.cend());
  if (merged_.size() > 2 * std::size_t{budget_}) cut(merged_);
  const std::size_t before = sum.parts.size();
  if (merged_.size() >= before) sum.parts.assign(merged_.begin(), merged_.end());
  else sum.parts = std::vector<Part>(merged_.begin(), merged_.end());  // releases the spare capacity, too
  parts_ += merged_.size() - before;
  measure(sum);
}

void LabelSums::measure(Sum& sum) const {
  sum.square = 0.0;
  for (const Part& part : sum.parts) sum.square += static_cast<double>(part.value) * static_cast<double>(part.value);
}

void LabelSums::forget(LabelId label) {
  if (label >= sums_.size()) return;
  parts_ -= sums_[label].parts.size();
  sums_[label] = Sum();
}

float LabelSums::cosine(const Features& x, LabelId label) const {
  if (label >= sums_.size() || sums_[label].square <= 0.0) return 0.0F;
  const Sum& sum = sums_[label];
  double product = 0.0;
  auto part = sum.parts.cbegin();
  for (std::uint32_t j = 0; j < x.size; ++j) {
    part =
        std::lower_bound(part, sum.parts.cend(), x.ids[j], [](const Part& one, FeatureId id) { return one.id < id; });
    if (part == sum.parts.cend()) break;
    if (part->id == x.ids[j]) product += static_cast<double>(x.values[j]) * static_cast<double>(part->value);
  }
  return static_cast<float>(product / std::sqrt(sum.square));
}

std::size_t LabelSums::bytes() const {
  std::size_t bytes = sums_.capacity() * sizeof(Sum);
  for (const Sum& sum : sums_) bytes += sum.parts.capacity() * sizeof(Part);
  return bytes;
}

void LabelSums::save(ArrayWriter& out) const {
  auto counters = out.u64("sum.counters", 2);
  counters[0] = budget_;
  counters[1] = examples_;
  auto counts = out.u64("sum.count", sums_.size());
  auto sizes = out.u32("sum.features", sums_.size());
  std::size_t total = 0;
  for (std::size_t label = 0; label < sums_.size(); ++label) {
    counts[label] = sums_[label].count;
    sizes[label] = static_cast<std::uint32_t>(sums_[label].parts.size());
    total += sizes[label];
  }
  auto ids = out.u32("sum.feature", total).begin();
  auto values = out.f32("sum.value", total).begin();
  for (const Sum& sum : sums_) {
    ids = std::ranges::transform(sum.parts, ids, &Part::id).out;
    values = std::ranges::transform(sum.parts, values, &Part::value).out;
  }
}

LabelSums::LabelSums(const ArrayReader& saved, std::uint64_t max_bytes) : budget_(0), max_bytes_(max_bytes) {
  const auto counters = saved.u64("sum.counters");
  const auto counts = saved.u64("sum.count");
  const auto sizes = saved.u32("sum.features");
  Pieces<std::uint32_t> ids(saved, "sum.feature");
  Pieces<float> values(saved, "sum.value");
  require(counters.size() == 2 && counters[0] > 0 && counters[0] < kNone && counters[1] <= kMostExamples,
          "array 'sum.counters' must hold a budget and a number of examples");
  require(sizes.size() == counts.size(), "array 'sum.features' must hold one number for each label");
  budget_ = static_cast<std::uint32_t>(counters[0]);
  examples_ = counters[1];
  sums_.resize(sizes.size());
  for (std::size_t label = 0; label < sizes.size(); ++label) {
    const auto id = ids.take(sizes[label]);
    const auto value = values.take(sizes[label]);
    require(counts[label] <= examples_ && id.size() <= 2 * std::size_t{budget_},
            "a label has more examples than were added, or its sum has more features than the budget allows");
    require(increases_below(id, kNone / 2), "the features of a label's sum do not increase, or are out of range");
    require(all_within(value, kLargestWeight), "a label's sum holds a number that is not finite or too large");
    Sum& sum = sums_[label];
    sum.count = counts[label];
    sum.parts.reserve(id.size());
    for (std::size_t j = 0; j < id.size(); ++j) sum.parts.push_back({id[j], value[j]});
    parts_ += id.size();
    measure(sum);
  }
  finish_all(ids, values);
  make_room(sums_.size(), 0);
}

}  // namespace labelgrove
