#include "labelgrove/node_splitter.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "labelgrove/archive_check.hpp"
#include "labelgrove/hash.hpp"

namespace labelgrove {
namespace {

// If more than one in this many features belongs to the node, scanning all of them in order is faster than sorting.
constexpr std::size_t kSparse = 16;

double priority_of(const LabelHistogram& histogram) {
  double most = 0.0;
  for (const LabelCount& entry : histogram) most = std::max(most, entry.count);
  return total_count(histogram) - most;
}

}  // namespace

double total_count(const LabelHistogram& histogram) {
  double sum = 0.0;
  for (const LabelCount& entry : histogram) sum += entry.count;
  return sum;
}

NodeSplitter::NodeSplitter(const ForestOptions& options, const ForestTrainingSet& data)
    : options_(options),
      data_(data),
      slot_(data.examples().label_count),
      place_(data.feature_numbers(), kNone),
      count_(data.feature_numbers()),
      margins_(options.hyperplanes()) {}

NodeDraft NodeSplitter::root(std::uint64_t key) const {
  NodeDraft root;
  root.key = key;
  root.examples.resize(data_.examples().size);
  std::iota(root.examples.begin(), root.examples.end(), 0U);
  std::vector<double> counts(data_.examples().label_count);
  for (const std::uint32_t i : root.examples) {
    for (const LabelId label : data_.examples().example(i).labels) counts[label] += data_.examples().weight(i);
  }
  for (LabelId label = 0; label < counts.size(); ++label) {
    if (counts[label] > 0.0) root.histogram.push_back({label, counts[label]});
  }
  root.priority = priority_of(root.histogram);
  return root;
}

NodeSplitter::Split NodeSplitter::split(const NodeDraft& node) {
  Split split;
  for (std::uint32_t s = 0; s < node.histogram.size(); ++s) slot_[node.histogram[s].label] = s;
  const std::vector<float> weights = learn(node, split.figures);
  Hyperplanes planes(options_.hyperplanes(), features_, weights, false);
  // Steps that are too large can lead to an overflow.
  if (all_finite(planes.weights()) && send(node, planes, split.children)) {
    measure(node, split.figures);
    split.planes.emplace(std::move(planes));
  } else {
    split.children.clear();
  }
  return split;
}

void NodeSplitter::number_features(std::span<const std::uint32_t> examples, std::uint32_t min_count) {
  for (const FeatureId feature : features_) place_[data_.number_of(feature)] = kNone;
  features_.clear();
  seen_.clear();
  for (const std::uint32_t i : examples) {
    const LabelledExample example = data_.examples().example(i);
    if (!trains(example.labels, data_.examples().weight(i))) continue;
    const Features& x = example.x;
    for (std::uint32_t j = 0; j < x.size; ++j) {
      if (x.values[j] == 0.0F) continue;  // in dense rows
      const std::uint32_t number = data_.number_of(x.ids[j]);
      if (++count_[number] == 1) seen_.push_back(number);
    }
  }
  if (seen_.size() > count_.size() / kSparse) {
    seen_.resize(count_.size());
    std::iota(seen_.begin(), seen_.end(), 0U);
  } else {
    std::ranges::sort(seen_);
  }
  for (const std::uint32_t number : seen_) {
    if (std::exchange(count_[number], 0) < min_count) continue;
    place_[number] = static_cast<std::uint32_t>(features_.size());
    features_.push_back(data_.feature(number));
  }
}

void NodeSplitter::keep_features(std::span<const std::uint32_t> places) {
  for (const FeatureId feature : features_) place_[data_.number_of(feature)] = kNone;
  for (std::uint32_t n = 0; n < places.size(); ++n) {
    features_[n] = features_[places[n]];
    place_[data_.number_of(features_[n])] = n;
  }
  features_.resize(places.size());
}

void NodeSplitter::take(const LabelledExample& example, double scale) {
  const Features& x = example.x;
  ids_.resize(x.size);
  values_.resize(x.size);
  FeatureId* ids = ids_.data();
  float* values = values_.data();
  std::uint32_t n = 0;
  for (std::uint32_t j = 0; j < x.size; ++j) {
    const std::uint32_t place = place_[data_.number_of(x.ids[j])];
    ids[n] = place;
    values[n] = scaled(x.values[j], scale);
    n += place != kNone ? 1 : 0;  // branchless: half of a deep node's features do not count
  }
  x_ = {ids_.data(), values_.data(), n};
  slots_.clear();
  for (const LabelId label : example.labels) slots_.push_back(slot_[label]);
}

// Sends the examples to the children. Returns whether that separated anything: some child has some of them, but not
// all.
bool NodeSplitter::send(const NodeDraft& node, const Hyperplanes& planes, std::vector<NodeDraft>& children) {
  children.resize(options_.children);
  counts_.assign(node.histogram.size() * options_.children, 0.0);
  for (const std::uint32_t i : node.examples) {
    const double weight = data_.examples().weight(i);
    take(data_.examples().example(i), data_.scale(i));
    planes.margins_by_place(x_, work_, margins_.data());
    for (std::uint32_t left = directions_of(margins_); left != 0; left &= left - 1) {
      const auto m = static_cast<std::uint32_t>(std::countr_zero(left));
      children[m].examples.push_back(i);
      if (weight == 0.0) continue;  // the histogram may lack its labels
      for (const std::uint32_t label : slots_) counts_[std::size_t{label} * options_.children + m] += weight;
    }
  }
  bool moved = false;
  for (std::uint32_t m = 0; m < options_.children; ++m) {
    NodeDraft& child = children[m];
    child.key = draw(node.key, Draw::places, m);
    for (std::size_t s = 0; s < node.histogram.size(); ++s) {
      const double count = counts_[s * options_.children + m];
      if (count > 0.0) child.histogram.push_back({node.histogram[s].label, count});
    }
    child.priority = priority_of(child.histogram);
    moved = moved || (!child.examples.empty() && child.examples.size() < node.examples.size());
  }
  return moved;
}

}  // namespace labelgrove
