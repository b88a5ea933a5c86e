#include "labelgrove/memory_search.hpp"

#include <algorithm>
#include <cmath>

#include "labelgrove/elementary.hpp"

namespace labelgrove {
namespace {

constexpr double kByFrequency = 0.5;  // pseudo-examples that vote by frequency
constexpr double kFarthest = 1e9;

// Votes have the weight exp(kSharpness f). On texts, 4 to 16 give nearly the same results.
constexpr double kSharpness = 8.0;

// Keeps the order of similarities after an overflow; NaN becomes the smallest.
double bounded(float near) {
  return std::isnan(near) ? -kFarthest : std::clamp(static_cast<double>(near), -kFarthest, kFarthest);
}

// A classifier's probability; 0 after an overflow to NaN.
double says(float margin) { return std::isnan(margin) ? 0.0 : logistic(2.0 * static_cast<double>(margin)); }

}  // namespace

void MemorySearcher::vote(const Features& x) {
  votes_.clear();
  nearness_.ask(tree_.similarity(), x);
  const auto reached = search_.find(x, work_);
  stats_ = search_.stats();
  stats_.blocks = static_cast<std::uint32_t>(reached.size());
  double nearest = 0.0;
  for (const auto& [leaf, weight] : reached) {
    if (weight == 0.0) continue;
    for (const std::uint32_t entry : tree_.looked_at(leaf)) {
      const double near = kSharpness * bounded(nearness_.of(tree_.example(entry))) + fixed_log(weight) +
                          fixed_log(static_cast<double>(tree_.weight(entry)));
      nearest = votes_.empty() ? near : std::max(nearest, near);
      votes_.push_back({entry, near});
    }
  }
  double sum = 0.0;
  for (Vote& vote : votes_) sum += vote.share = fixed_exp(vote.share - nearest);
  for (Vote& vote : votes_) vote.share /= sum;
  rest_ = kByFrequency / (kByFrequency + static_cast<double>(votes_.size()));
}

float MemorySearcher::prior(LabelId label) const {
  return static_cast<float>(rest_ * tree_.seen(label) / tree_.all_seen());
}

float MemorySearcher::probability(double share, LabelId label) const {
  return std::min(static_cast<float>((1.0 - rest_) * share) + prior(label), 1.0F);  // rounding may exceed it
}

// Finds the labels near the example whose probability is at least least(), which may grow with every label taken. A
// label's probability is largest if its classifier is certain, so labels are evaluated in that order until none can
// reach least().
template <typename Least, typename Take>
void MemorySearcher::score(const Features& x, Least&& least, Take&& take) {
  vote(x);
  parts_.clear();
  for (const Vote& vote : votes_) {
    for (const LabelId label : tree_.labels(vote.entry)) {
      if (scope_.open(label)) parts_.push_back({label, vote.share});
    }
  }
  add_up(parts_);
  const bool has_classifiers = tree_.options().classifiers;
  const auto worse = [](const Scored& a, const Scored& b) { return better(b, a); };
  bounds_.clear();
  for (const auto& [label, share] : parts_) {
    bounds_.push_back({label, probability(has_classifiers ? std::sqrt(share) : share, label)});
  }
  std::ranges::make_heap(bounds_, worse);
  near_.clear();
  for (; !bounds_.empty() && bounds_.front().probability >= least(); bounds_.pop_back()) {
    std::ranges::pop_heap(bounds_, worse);
    Scored one = bounds_.back();
    if (has_classifiers) {
      ++stats_.classifiers;
      const double share = std::ranges::lower_bound(parts_, one.label, {}, &Share::label)->share;
      const float margin = tree_.classifier(one.label).margin(x, work_) + MemoryTree::kUnlikely;
      one.probability = probability(std::sqrt(share * says(margin)), one.label);
    }
    near_.push_back(one);
    take(one);
  }
  std::ranges::sort(near_, better);
}

// Merges the labels near the example and all others, by frequency, into descending order of probability, until
// enough(next) returns true.
template <typename Enough>
void MemorySearcher::merge(std::vector<Scored>& found, Enough&& enough) {
  auto frequent = tree_.by_frequency().begin();
  const auto last = tree_.by_frequency().end();
  const auto skipped = [this](LabelId label) {
    return !scope_.open(label) || std::ranges::binary_search(parts_, label, {}, &Share::label);
  };
  for (std::size_t i = 0;;) {
    while (frequent != last && skipped(frequent->second)) ++frequent;
    Scored next{kNone, -1.0F};
    if (frequent != last) next = {frequent->second, prior(frequent->second)};
    if (i < near_.size() && near_[i].probability >= next.probability) next = near_[i++];
    else if (frequent != last) ++frequent;
    if (next.label == kNone || enough(next)) break;
    found.push_back(next);
  }
  std::ranges::sort(found, better);
}

void MemorySearcher::top_k(const Features& x, std::size_t k, std::vector<Scored>& found) {
  found.clear();
  if (k == 0 || tree_.all_seen() == 0.0) return;
  const auto least = [&] { return found.size() < k ? 0.0F : found.front().probability; };
  score(x, least, [&](const Scored& one) { keep_best(found, k, one); });
  found.clear();
  merge(found, [&](const Scored& next) { return found.size() >= k && next.probability < found.back().probability; });
  found.resize(std::min(k, found.size()));
}

void MemorySearcher::above_threshold(const Features& x, std::vector<Scored>& found) {
  found.clear();
  if (tree_.all_seen() == 0.0) return;
  score(x, [&] { return scope_.lowest_threshold(); }, [](const Scored&) {});
  merge(found, [&](const Scored& next) { return next.probability < scope_.lowest_threshold(); });
  std::erase_if(found, [&](const Scored& one) { return !(one.probability >= scope_.threshold(one.label)); });
}

MemoryEvidence MemorySearcher::evidence(const Features& x, LabelId label) {
  MemoryEvidence evidence;
  evidence.near.resize(x.size);
  if (tree_.all_seen() == 0.0) return evidence;
  vote(x);
  std::vector<float> weights(x.size);
  const float bias = tree_.similarity().margin_parts(x, weights.data());
  const double scale = unit_scale(x);
  for (const Vote& vote : votes_) {
    if (std::ranges::find(tree_.labels(vote.entry), label) == tree_.labels(vote.entry).end()) continue;
    evidence.share += vote.share;
    const Features z = tree_.example(vote.entry);
    const double share = vote.share * scale * unit_scale(z);
    for_each_common(x, z, [&](std::uint32_t i, std::uint32_t j) {
      evidence.near[i] += scaled((weights[i] + x.values[i]) * z.values[j], share);
    });
  }
  if (evidence.share > 0.0) {
    evidence.near_bias = bias;
    for (float& near : evidence.near) near = scaled(near, 1.0 / evidence.share);
  }
  if (tree_.options().classifiers) {
    evidence.contributions.resize(x.size);
    evidence.bias = tree_.classifier(label).margin_parts(x, evidence.contributions.data()) + MemoryTree::kUnlikely;
  }
  return evidence;
}

}  // namespace labelgrove
