#include "labelgrove/fastxml_splitter.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <variant>

#include "labelgrove/elementary.hpp"
#include "labelgrove/hash.hpp"

namespace labelgrove {
namespace {

// Sides this close count as equal: rounding must not decide which is better.
constexpr double kEqual = 1e-9;
// The objective falls with every change of sides, so the loop ends, usually soon.
constexpr int kMostChanges = 100;

}  // namespace

FastxmlSplitter::FastxmlSplitter(const ForestOptions& options, const ForestTrainingSet& data)
    : NodeSplitter(options, data), fastxml_(std::get<FastxmlOptions>(options.growth)), ideal_{0.0} {
  for (LabelId place = 0; place < data.examples().label_count; ++place) {
    discounts_.push_back(kLog2 / fixed_log(2.0 + place));
    ideal_.push_back(ideal_.back() + discounts_.back());
  }
  double sum = 0.0;
  std::size_t counting = 0;
  for (std::size_t i = 0; i < data.examples().size; ++i) {
    sum += data.examples().weight(i);
    counting += data.examples().weight(i) > 0.0 ? 1 : 0;
  }
  if (sum > 0.0) cost_ = fastxml_.cost * std::max(1.0, static_cast<double>(counting) / sum);
}

std::vector<float> FastxmlSplitter::learn(const NodeDraft& node, SplitFigures& figures) {
  gather(node);
  std::vector<float> weights;
  for (std::uint32_t round = 0; round < fastxml_.max_rounds; ++round) {
    const bool changed = settle(node, round > 0);
    if (round > 0 && !changed) break;
    weights = learn_plane(node);
  }
  figures.objective = static_cast<float>(ndcg_);
  return weights;
}

// Collects the examples that train the node, with sides drawn at random.
void FastxmlSplitter::gather(const NodeDraft& node) {
  rows_.clear();
  ends_.assign(1, 0);
  labels_.clear();
  shares_.clear();
  sides_.clear();
  for (const std::uint32_t i : node.examples) {
    const double weight = data().examples().weight(i);
    const auto labels = data().examples().example(i).labels;
    if (!trains(labels, weight)) continue;
    const std::uint64_t bits = draw(node.key, Draw::solver, rows_.size());
    rows_.push_back(i);
    for (const LabelId label : labels) labels_.push_back(slot_of(label));
    ends_.push_back(labels_.size());
    shares_.push_back(1.0 / ideal_[std::min(labels.size(), ideal_.size() - 1)]);  // a label may be given twice
    sides_.push_back((bits & 1U) != 0 ? 1 : -1);
  }
}

// Alternates between ranking labels and choosing sides until no example changes sides. Returns whether any did.
bool FastxmlSplitter::settle(const NodeDraft& node, bool has_plane) {
  bool changed = false;
  for (int n = 0; n < kMostChanges; ++n) {
    for (const std::size_t side : {0U, 1U}) rank(node, side);
    if (!choose_sides(has_plane)) break;
    changed = true;
  }
  return changed;
}

void FastxmlSplitter::rank(const NodeDraft& node, std::size_t side) {
  const std::size_t n = node.histogram.size();
  const auto gains = data().examples().gains;
  sums_.assign(n, 0.0);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if ((sides_[i] > 0) != (side == 1)) continue;
    const double share = data().examples().weight(rows_[i]) * shares_[i];
    for (std::size_t at = ends_[i]; at < ends_[i + 1]; ++at) sums_[labels_[at]] += share;
  }
  std::vector<double>& worth = worth_[side];
  worth.assign(n, 1.0);
  if (!gains.empty())
    for (std::size_t s = 0; s < n; ++s) worth[s] = gains[node.histogram[s].label];
  order_.resize(n);
  std::iota(order_.begin(), order_.end(), 0U);
  const auto by_sum = [&](std::uint32_t a, std::uint32_t b) {
    const double left = sums_[a] * worth[a];
    const double right = sums_[b] * worth[b];
    return left != right ? left > right : a < b;
  };
  std::ranges::sort(order_, by_sum);
  for (std::size_t place = 0; place < n; ++place) worth[order_[place]] *= discounts_[place];
}

bool FastxmlSplitter::choose_sides(bool has_plane) {
  bool changed = false;
  double sum = 0.0;
  double weights = 0.0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const double weight = data().examples().weight(rows_[i]);
    std::array<double, 2> ndcg{};
    for (const std::size_t side : {0U, 1U}) {
      for (std::size_t at = ends_[i]; at < ends_[i + 1]; ++at) ndcg[side] += worth_[side][labels_[at]];
      ndcg[side] *= shares_[i];
    }
    double better = fastxml_.gain_cost * (ndcg[1] - ndcg[0]);  // advantage of the side +
    if (has_plane) {
      const double margin = solver_.margins()[i];
      better += fastxml_.cost * (log_loss(-margin) - log_loss(margin));
    }
    const std::int8_t side = std::fabs(better) <= kEqual ? sides_[i] : better > 0.0 ? 1 : -1;
    changed = changed || side != sides_[i];
    sides_[i] = side;
    sum += weight * ndcg[side > 0 ? 1 : 0];
    weights += weight;
  }
  ndcg_ = sum / weights;
  return changed;
}

std::vector<float> FastxmlSplitter::learn_plane(const NodeDraft& node) {
  weigh_examples();
  number_features(node.examples, 1);
  feature_ends_.assign(1, 0);
  features_.clear();
  values_.clear();
  for (const std::uint32_t i : rows_) {
    take(data().examples().example(i), data().scale(i));
    if (fastxml_.bias != 0.0F) {
      features_.push_back(0);
      values_.push_back(fastxml_.bias);
    }
    for (std::uint32_t j = 0; j < taken().size; ++j) {
      features_.push_back(taken().ids[j] + 1);
      values_.push_back(taken().values[j]);
    }
    feature_ends_.push_back(features_.size());
  }
  find_columns();
  solver_.solve(columns_, sides_, costs_, fastxml_.tolerance, data().examples().progress);
  std::vector<float> weights{0.0F};
  std::vector<std::uint32_t> places;
  for (std::size_t c = 0; c < kept_.size(); ++c) {
    const auto weight = static_cast<float>(solver_.weights()[c]);
    if (kept_[c] == 0) weights[0] = weight * fastxml_.bias;
    else if (weight != 0.0F) {
      weights.push_back(weight);
      places.push_back(kept_[c] - 1);
    }
  }
  keep_features(places);
  return weights;
}

// Both sides have the same total cost, whatever their sizes: C_delta divided by the side's share of the node.
void FastxmlSplitter::weigh_examples() {
  std::array<double, 2> sums{};
  for (std::size_t i = 0; i < rows_.size(); ++i) sums[sides_[i] > 0 ? 1 : 0] += data().examples().weight(rows_[i]);
  costs_.resize(rows_.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const double share = sums[sides_[i] > 0 ? 1 : 0] / (sums[0] + sums[1]);
    costs_[i] = cost_ / share * data().examples().weight(rows_[i]);
  }
}

// The matrix by columns, without those whose weight must be 0: an example's gradient is at most C x, and that of |w| is
// 1.
void FastxmlSplitter::find_columns() {
  const std::size_t n = features().size() + 1;
  pulls_.assign(n, {});
  columns_.begin.assign(1, 0);
  kept_.clear();
  number_.assign(n, kNone);
  std::vector<std::size_t> counts(n);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    for (std::size_t at = feature_ends_[i]; at < feature_ends_[i + 1]; ++at) {
      const double pull = costs_[i] * sides_[i] * static_cast<double>(values_[at]);
      pulls_[features_[at]][pull > 0.0 ? 1 : 0] += std::fabs(pull);
      ++counts[features_[at]];
    }
  }
  for (std::uint32_t column = 0; column < n; ++column) {
    if (std::max(pulls_[column][0], pulls_[column][1]) <= 1.0) continue;
    number_[column] = static_cast<std::uint32_t>(kept_.size());
    kept_.push_back(column);
    columns_.begin.push_back(columns_.begin.back() + counts[column]);
  }
  columns_.rows.resize(columns_.begin.back());
  columns_.values.resize(columns_.begin.back());
  std::vector<std::size_t> next(columns_.begin.begin(), columns_.begin.end() - 1);
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    for (std::size_t at = feature_ends_[i]; at < feature_ends_[i + 1]; ++at) {
      const std::uint32_t c = number_[features_[at]];
      if (c == kNone) continue;
      columns_.rows[next[c]] = i;
      columns_.values[next[c]++] = values_[at];
    }
  }
}

}  // namespace labelgrove
