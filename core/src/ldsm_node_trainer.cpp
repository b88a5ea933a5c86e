#include "labelgrove/ldsm_node_trainer.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "labelgrove/hash.hpp"

namespace labelgrove {
namespace {

// Where more than one feature in so many is the node's, to look at all in their order is faster than to sort them.
constexpr std::size_t kSparse = 16;

double priority_of(const LabelHistogram& histogram) {
  double most = 0.0;
  for (const LabelCount& entry : histogram) most = std::max(most, entry.count);
  return total_count(histogram) - most;
}

// Whether J counts an example.
bool trains(std::span<const LabelId> labels, double weight) { return !labels.empty() && weight != 0.0; }

}  // namespace

double total_count(const LabelHistogram& histogram) {
  double sum = 0.0;
  for (const LabelCount& entry : histogram) sum += entry.count;
  return sum;
}

LdsmNodeTrainer::LdsmNodeTrainer(const LdsmOptions& options, const LdsmTrainingSet& data)
    : options_(options),
      data_(data),
      objective_(options.arity, options.objective),
      slot_(data.examples().label_count),
      place_(data.feature_numbers(), kNone),
      count_(data.feature_numbers()),
      targets_(options.arity),
      margins_(options.arity) {}

LdsmDraft LdsmNodeTrainer::root(std::uint64_t key) const {
  LdsmDraft root;
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

LdsmNodeTrainer::Split LdsmNodeTrainer::split(const LdsmDraft& node) {
  Split split;
  number_labels(node.histogram);
  number_features(node.examples);
  RegressorBlock block(options_.learner, options_.arity, static_cast<std::uint32_t>(features_.size()), node.key);
  train(node, block, split.outcome);
  LdsmRegressors learnt(block, features_);
  // Steps that are too large can lead beyond all numbers.
  if (learnt.is_finite() && send(node, learnt, split.children)) {
    measure(node, split.outcome);
    split.regressors.emplace(std::move(learnt));
  } else {
    split.children.clear();
  }
  return split;
}

void LdsmNodeTrainer::number_labels(const LabelHistogram& histogram) {
  for (std::uint32_t s = 0; s < histogram.size(); ++s) slot_[histogram[s].label] = s;
}

void LdsmNodeTrainer::number_features(std::span<const std::uint32_t> examples) {
  for (const FeatureId feature : features_) place_[data_.number_of(feature)] = kNone;
  features_.clear();
  seen_.clear();
  for (const std::uint32_t i : examples) {
    const auto [x, labels] = data_.examples().example(i);
    if (!trains(labels, data_.examples().weight(i))) continue;
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
    if (std::exchange(count_[number], 0) < options_.min_count) continue;
    place_[number] = static_cast<std::uint32_t>(features_.size());
    features_.push_back(data_.feature(number));
  }
}

void LdsmNodeTrainer::take(const LdsmExamples::Example& example, double scale) {
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
    n += place != kNone ? 1 : 0;  // no branch: half of a deep node's features do not count
  }
  x_ = {ids_.data(), values_.data(), n};
  slots_.clear();
  for (const LabelId label : example.labels) slots_.push_back(slot_[label]);
}

void LdsmNodeTrainer::train(const LdsmDraft& node, RegressorBlock& block, LdsmSplit& outcome) {
  objective_.start(node.histogram.size());
  order_ = node.examples;
  for (std::uint32_t epoch = 0; epoch < options_.epochs; ++epoch) {
    if (options_.shuffle) shuffle(draw(node.key, Draw::shuffle, epoch));
    for (const std::uint32_t i : order_) {
      const double weight = data_.examples().weight(i);
      const LdsmExamples::Example example = data_.examples().example(i);
      if (!trains(example.labels, weight)) continue;
      take(example, data_.scale(i));
      const std::uint32_t directions = objective_.choose(slots_, weight);
      for (std::uint32_t m = 0; m < options_.arity; ++m) targets_[m] = (directions >> m & 1U) != 0 ? 1.0F : 0.0F;
      block.learn(x_, targets_, static_cast<float>(weight), work_, margins_.data());
      objective_.record(slots_, weight, margins_);
    }
    outcome.course.push_back(static_cast<float>(objective_.value()));
  }
}

void LdsmNodeTrainer::shuffle(std::uint64_t key) {
  for (std::size_t n = order_.size(); n > 1; --n) std::swap(order_[n - 1], order_[draw(key, Draw::shuffle, n) % n]);
}

// Whether anything was moved: a child holds some of the examples and not all.
bool LdsmNodeTrainer::send(const LdsmDraft& node, const LdsmRegressors& regressors, std::vector<LdsmDraft>& children) {
  children.resize(options_.arity);
  counts_.assign(node.histogram.size() * options_.arity, 0.0);
  for (const std::uint32_t i : node.examples) {
    take(data_.examples().example(i), data_.scale(i));
    regressors.margins_by_place(x_, work_, margins_.data());
    for (std::uint32_t left = directions_of(margins_); left != 0; left &= left - 1) {
      const auto m = static_cast<std::uint32_t>(std::countr_zero(left));
      children[m].examples.push_back(i);
      for (const std::uint32_t label : slots_)
        counts_[std::size_t{label} * options_.arity + m] += data_.examples().weight(i);
    }
  }
  bool moved = false;
  for (std::uint32_t m = 0; m < options_.arity; ++m) {
    LdsmDraft& child = children[m];
    child.key = draw(node.key, Draw::places, m);
    for (std::size_t s = 0; s < node.histogram.size(); ++s) {
      const double count = counts_[s * options_.arity + m];
      if (count > 0.0) child.histogram.push_back({node.histogram[s].label, count});
    }
    child.priority = priority_of(child.histogram);
    moved = moved || (!child.examples.empty() && child.examples.size() < node.examples.size());
  }
  return moved;
}

void LdsmNodeTrainer::measure(const LdsmDraft& node, LdsmSplit& outcome) {
  objective_.start(node.histogram.size());
  for (std::uint32_t s = 0; s < node.histogram.size(); ++s) {
    objective_.add(s, node.histogram[s].count,
                   std::span(counts_).subspan(std::size_t{s} * options_.arity, options_.arity));
  }
  outcome.objective = static_cast<float>(objective_.value());
  outcome.balance = static_cast<float>(objective_.balance());
  outcome.purity = static_cast<float>(objective_.purity());
}

}  // namespace labelgrove
