// Thresholds tuned online: each example is predicted just before it is learnt.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "labelgrove/online_plt.hpp"

namespace labelgrove {

// OFO, Algorithm 2, lines 4-8. The prediction must come from a model that has learnt all earlier examples and not this
// one, so the nodes opened by the search are brought up to date.
void OnlinePlt::candidates(ExampleId example, std::vector<LabelId>& found) {
  found.clear();
  products_.clear();
  begin_search();
  to_open_.assign(1, {kAboveRoot, 1.0F});
  while (!to_open_.empty()) {
    const auto [v, probability] = to_open_.back();
    to_open_.pop_back();
    const auto& children = tree_[v].children;
    const auto products = open(example, v, probability);
    for (std::size_t i = 0; i < children.size(); ++i) {
      const TreeNode& child = tree_[children[i]];
      if (child.live == 0 || !(static_cast<double>(products[i]) >= thresholds_->least_below(children[i]))) continue;
      if (!child.is_leaf()) to_open_.emplace_back(children[i], products[i]);
      else if (thresholds_->predicts(child.label, products[i])) found.push_back(child.label);
    }
  }
}

// Continues from the deepest node on the path that the search has opened.
float OnlinePlt::probability(ExampleId example, LabelId label) {
  const NodeId leaf = tree_.leaf_of(label);
  path_.clear();
  NodeId v = leaf;
  for (; opened_[tree_[v].parent].first != search_; v = tree_[v].parent) path_.push_back(v);
  float product = products_[opened_[tree_[v].parent].second + tree_[v].slot];
  for (; !path_.empty(); v = path_.back(), path_.pop_back()) {
    product = open(example, v, product)[tree_[path_.back()].slot];
  }
  return product;
}

// P(child | x) of v's children, given v's probability.
std::span<const float> OnlinePlt::open(ExampleId example, NodeId v, float probability) {
  const auto of_children = probabilities(learners_.examples().view(example), v);
  opened_[v] = {search_, products_.size()};
  for (const float conditional : of_children) products_.push_back(probability * conditional);
  return std::span(products_).last(of_children.size());
}

void OnlinePlt::save_thresholds(ArrayWriter& out) const {
  const auto counts = thresholds_->counts();
  auto hits = out.u64("ofo.hits", counts.size());
  auto positives = out.u64("ofo.positives", counts.size());
  auto predicted = out.u64("ofo.predicted", counts.size());
  for (std::size_t label = 0; label < counts.size(); ++label) {
    hits[label] = counts[label].hits;
    positives[label] = counts[label].positives;
    predicted[label] = counts[label].predicted;
  }
  if (thresholds_->examples() != examples_seen_) out.u64("ofo.examples", 1)[0] = thresholds_->examples();
}

void OnlinePlt::load_thresholds(const ArrayReader& saved, bool check_only) {
  const auto hits = saved.u64("ofo.hits");
  const auto positives = saved.u64("ofo.positives");
  const auto predicted = saved.u64("ofo.predicted");
  if (positives.size() != hits.size() || predicted.size() != hits.size() || hits.size() > tree_.label_count()) {
    throw std::invalid_argument("the arrays 'ofo.*' must have the same length, at most the number of labels");
  }
  std::uint64_t examples = examples_seen_;  // except those of weight 0
  if (saved.has("ofo.examples")) {
    const auto counted = saved.u64("ofo.examples");
    if (counted.size() != 1 || counted[0] > examples_seen_) {
      throw std::invalid_argument("array 'ofo.examples' must hold one number, at most the number of examples seen");
    }
    examples = counted[0];
  }
  std::vector<OnlineThresholds::Counts> counts(hits.size());
  for (std::size_t label = 0; label < counts.size(); ++label) {
    counts[label] = {hits[label], positives[label], predicted[label]};
    const auto most = std::max(positives[label], predicted[label]);
    if (most > examples || hits[label] > std::min(positives[label], predicted[label]) ||
        positives[label] + predicted[label] - hits[label] > examples) {
      throw std::invalid_argument("label " + std::to_string(label) + ": the counts of its threshold are inconsistent");
    }
  }
  const LabelTree none;
  thresholds_.emplace(*options_.ofo, check_only ? none : std::as_const(tree_), std::move(counts), examples);
}

}  // namespace labelgrove
