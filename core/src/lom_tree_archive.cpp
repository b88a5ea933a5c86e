// Saving and loading: docs/format.md documents every array.
#include <algorithm>
#include <cmath>
#include <ranges>

#include "labelgrove/archive_check.hpp"
#include "labelgrove/lom_tree.hpp"
#include "labelgrove/regressor_archive.hpp"

namespace labelgrove {

void LomTree::save(ArrayWriter& out, bool for_prediction) const {
  auto counters = out.u64("counters", 2);
  counters[0] = known_.count();
  counters[1] = examples_seen();
  known_.save(out);
  save_nodes(out, for_prediction);
  std::vector<const Regressor*> regressors;
  for (const Node& node : nodes_) {
    if (!node.is_leaf()) regressors.push_back(&node.regressor);
  }
  save_regressors(out, regressors, options_.learner, for_prediction);
}

// The result of `get` for every class of every node.
template <typename T, typename Get>
Source<T> LomTree::by_class(Get get) const {
  return one_by_one<T>(nodes_.size(), [this, get](std::size_t v, std::vector<T>& to) {
    const ClassHistogram& classes = nodes_[v].classes;
    for (const ClassCount& count : classes.all()) to.push_back(static_cast<T>(get(classes, count)));
  });
}

void LomTree::save_nodes(ArrayWriter& out, bool for_prediction) const {
  const std::size_t n = nodes_.size();
  save_routes(out, nodes(), for_prediction);
  auto sizes = out.u32("node.classes", n);
  std::size_t entries = 0;
  for (NodeId v = 0; v < n; ++v) {
    sizes[v] = static_cast<std::uint32_t>(nodes_[v].classes.size());
    entries += sizes[v];
  }
  out.u32("class.label", entries, by_class<LabelId>([](const auto&, const auto& count) { return count.label; }));
  out.u64("class.reached", entries,
          by_class<std::uint64_t>([](const auto&, const auto& count) { return count.reached; }));
  // Not while all examples have weight 1.
  if (std::ranges::any_of(nodes_, [](const Node& node) { return node.classes.weighted(); })) {
    std::ranges::transform(nodes_, out.f64("node.weight", n).begin(), &Node::weight);
    out.f64("class.weight", entries,
            by_class<double>([](const auto& classes, const auto& count) { return classes.weight(count); }));
  }
  if (!for_prediction) save_statistics(out, entries);
}

void LomTree::save_statistics(ArrayWriter& out, std::size_t entries) const {
  const std::size_t n = nodes_.size();
  std::ranges::transform(nodes_, out.u32("node.swaps", n).begin(), &Node::swaps);
  std::ranges::transform(nodes_, out.u64("node.smallest", n).begin(), &Node::smallest);
  std::ranges::transform(nodes_, out.f64("node.score", n).begin(), &Node::score);
  out.u64("class.trained", entries,
          by_class<std::uint64_t>([](const auto&, const auto& count) { return count.trained; }));
  out.u64("class.right", entries, by_class<std::uint64_t>([](const auto&, const auto& count) { return count.right; }));
  out.f64("class.score", entries, by_class<double>([](const auto&, const auto& count) { return count.score; }));
}

LomTree::LomTree(const LomTreeOptions& options, const ArrayReader& saved, bool for_prediction, bool check_only)
    : options_(options), budget_(options.max_bytes), can_learn_(!for_prediction) {
  const auto counters = saved.u64("counters");
  require(counters.size() == 2 && counters[0] < kNone / 2 && counters[1] <= kMostExamples,
          "array 'counters' must hold the number of labels and the number of examples");
  known_ = KnownLabels(saved, counters[0]);
  nodes_ = saved_routes<Node>(saved, for_prediction);
  find_heights();
  load_classes(saved);
  if (saved.has("class.weight")) load_weights(saved);
  if (!for_prediction) load_statistics(saved);
  std::vector<Regressor*> regressors;
  std::vector<NodeId> inner;
  for (NodeId v = 0; v < nodes_.size(); ++v) {
    if (nodes_[v].is_leaf()) continue;
    regressors.push_back(check_only ? nullptr : &nodes_[v].regressor);
    inner.push_back(v);
  }
  load_regressors(saved, regressors, options_.learner, for_prediction,
                  [&](std::size_t i) { return node_name(inner[i]); });
  require(nodes_[kRoot].reached <= counters[1], "the root has counted more examples than were seen");
  passed_over_ = counters[1] - nodes_[kRoot].reached;
  for (LabelId label = 0; label < known_.count(); ++label) {
    require(!known_.knows(label) || nodes_[kRoot].classes.find(label) != nullptr,
            "a known label is missing at the root");
  }
  require(inner_nodes() == 0 || inner_nodes() <= max_nodes(), "there are more inner nodes than the options allow");
  if (budget_.bounded() && can_learn_ && !check_only) budget_.takes(count());
}

void LomTree::find_heights() {
  const std::vector<NodeId> order = parents_first(nodes());
  for (const NodeId v : std::views::reverse(order)) {
    Node& node = nodes_[v];
    if (!node.is_leaf()) node.height = 1 + std::max(nodes_[node.left].height, nodes_[node.right].height);
  }
}

void LomTree::load_classes(const ArrayReader& saved) {
  Pieces<std::uint32_t> sizes(saved, "node.classes");
  Pieces<std::uint32_t> labels(saved, "class.label");
  Pieces<std::uint64_t> reached(saved, "class.reached");
  for (NodeId v = 0; v < nodes_.size(); ++v) {
    Node& node = nodes_[v];
    for (std::uint32_t left = sizes.one(); left > 0; --left) {
      ClassCount count{.label = labels.one()};
      const std::uint64_t came = reached.one();
      require(known_.knows(count.label) && node.classes.find(count.label) == nullptr, "node ", v,
              ": a class is not known, or occurs twice");
      require(came > 0 && came <= ClassCount::kMostOfAClass && came <= kMostExamples - node.reached, "node ", v,
              ": the number of examples of a class is out of range");
      count.reached = static_cast<std::uint32_t>(came);
      node.classes.append(count);
      node.reached += came;
      node.most = std::max(node.most, count.reached);
    }
  }
  finish_all(sizes, labels, reached);
  for (NodeId v = 1; v < nodes_.size(); ++v) {
    const ClassHistogram& above = nodes_[nodes_[v].parent].classes;
    for (const ClassCount& count : nodes_[v].classes.all()) {
      const ClassCount* there = above.find(count.label);
      require(there != nullptr && there->reached >= count.reached, "node ", v,
              ": more examples of a class have reached it than its parent");
    }
  }
}

void LomTree::load_weights(const ArrayReader& saved) {
  Pieces<double> totals(saved, "node.weight");
  Pieces<double> weights(saved, "class.weight");
  const auto most = [](std::uint64_t examples) {
    return static_cast<double>(examples) * static_cast<double>(kMostWeight);
  };
  for (NodeId v = 0; v < nodes_.size(); ++v) {
    Node& node = nodes_[v];
    const double total = totals.one();
    const auto of_classes = weights.take(node.classes.size());
    double sum = 0.0;
    for (std::size_t i = 0; i < of_classes.size(); ++i) {
      require(of_classes[i] > 0.0 && of_classes[i] <= most(node.classes.all()[i].reached), "node ", v,
              ": the weight of a class is out of range");
      sum += of_classes[i];
    }
    // It was summed in stream order, and so rounded differently.
    require(std::abs(total - sum) <= 1e-6 * sum, "node ", v,
            ": the weight is not the sum of the weights of its classes");
    node.classes.restore_weights(of_classes, total);
  }
  finish_all(totals, weights);
}

void LomTree::load_statistics(const ArrayReader& saved) {
  Pieces<std::uint32_t> swaps(saved, "node.swaps");
  Pieces<std::uint64_t> smallest(saved, "node.smallest");
  Pieces<double> scores(saved, "node.score");
  Pieces<std::uint64_t> trained(saved, "class.trained");
  Pieces<std::uint64_t> right(saved, "class.right");
  Pieces<double> class_scores(saved, "class.score");
  const auto fits = [](double score, std::uint64_t of) { return std::abs(score) <= static_cast<double>(of); };
  for (NodeId v = 0; v < nodes_.size(); ++v) {
    Node& node = nodes_[v];
    node.swaps = swaps.one();
    node.smallest = smallest.one();
    node.score = scores.one();
    for (const ClassCount& known : node.classes.all()) {
      ClassCount& count = node.classes.at(known.label);
      const std::uint64_t learnt = trained.one();
      const std::uint64_t went_right = right.one();
      count.score = class_scores.one();
      require(went_right <= learnt && learnt <= (node.is_leaf() ? 0 : count.reached) && fits(count.score, learnt),
              "node ", v, ": the statistics of a class are out of range");
      count.trained = static_cast<std::uint32_t>(learnt);
      count.right = static_cast<std::uint32_t>(went_right);
      node.trained += learnt;
    }
    require(fits(node.score, node.trained), "node ", v, ": the sum of the scores is out of range");
    require(!node.is_leaf() || (node.smallest >= node.reached && node.smallest <= kMostExamples), "node ", v,
            ": the size of the leaf is out of range");
  }
  finish_all(swaps, smallest, scores, trained, right, class_scores);
  for (const Node& node : nodes_) {
    require(node.is_leaf() || node.smallest == std::min(nodes_[node.left].smallest, nodes_[node.right].smallest),
            "the size of a node's smallest leaf does not match its children");
  }
}

}  // namespace labelgrove
