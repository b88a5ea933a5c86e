// Saving and loading: docs/format.md names every array.
#include <algorithm>
#include <cmath>
#include <string>

#include "labelgrove/archive_check.hpp"
#include "labelgrove/lom_tree.hpp"

namespace labelgrove {
void LomTree::save(ArrayWriter& out, bool for_prediction) const {
  auto counters = out.u64("counters", 2);
  counters[0] = label_count();
  counters[1] = examples_seen();
  auto states = out.bytes("label.state", label_count());
  for (LabelId label = 0; label < label_count(); ++label) states[label] = static_cast<std::uint8_t>(states_[label]);
  save_nodes(out, for_prediction);

  save_regressors(out, for_prediction);
}

void LomTree::save_regressors(ArrayWriter& out, bool for_prediction) const {
  std::vector<Regressor::Term> terms;
  const auto inner = static_cast<std::size_t>(inner_nodes());
  auto sizes = out.u32("block.features", inner);
  std::size_t features = 0;
  std::size_t i = 0;
  for (const Node& node : nodes_) {
    if (node.is_leaf()) continue;
    node.regressor.collect(for_prediction, terms);
    sizes[i] = static_cast<std::uint32_t>(terms.size());
    features += sizes[i++];
  }
  const bool with_state = options_.learner.has_state() && !for_prediction;
  FeatureId* next_feature = out.u32("weights.feature", features).data();
  float* next_weight = out.f32("weights.value", features + inner).data();
  float* next_state = with_state ? out.f32("weights.state", features + inner).data() : nullptr;
  for (const Node& node : nodes_) {
    if (node.is_leaf()) continue;
    node.regressor.collect(for_prediction, terms);
    const Regressor::Term bias = node.regressor.bias();
    *next_weight++ = bias.weight;
    if (with_state) *next_state++ = bias.state;
    for (const Regressor::Term& term : terms) {
      *next_feature++ = term.feature;
      *next_weight++ = term.weight;
      if (with_state) *next_state++ = term.state;
    }
  }
}

void LomTree::save_nodes(ArrayWriter& out, bool for_prediction) const {
  const std::size_t n = nodes_.size();
  auto left = out.u32("node.left", n);
  auto right = out.u32("node.right", n);
  auto sizes = out.u32("node.classes", n);
  std::size_t entries = 0;
  for (NodeId v = 0; v < n; ++v) {
    left[v] = nodes_[v].left;
    right[v] = nodes_[v].right;
    sizes[v] = static_cast<std::uint32_t>(nodes_[v].classes.size());
    entries += sizes[v];
  }
  auto labels = out.u32("class.label", entries);
  auto reached = out.u64("class.reached", entries);
  std::size_t entry = 0;
  for (const Node& node : nodes_) {
    for (const ClassCount& count : node.classes.all()) {
      labels[entry] = count.label;
      reached[entry++] = count.reached;
    }
  }
  auto slopes = out.f64("node.slope", n);
  for (NodeId v = 0; v < n; ++v) slopes[v] = nodes_[v].side.slope();
  save_weights(out, entries);
  if (!for_prediction) save_statistics(out, entries);
}

// Nothing, as long as every example weighs 1.
void LomTree::save_weights(ArrayWriter& out, std::size_t entries) const {
  if (std::ranges::none_of(nodes_, [](const Node& node) { return node.classes.weighted(); })) return;
  auto totals = out.f64("node.weight", nodes_.size());
  auto weights = out.f64("class.weight", entries);
  std::size_t entry = 0;
  for (NodeId v = 0; v < nodes_.size(); ++v) {
    totals[v] = nodes_[v].weight();
    for (const ClassCount& count : nodes_[v].classes.all()) weights[entry++] = nodes_[v].classes.weight(count);
  }
}

void LomTree::save_statistics(ArrayWriter& out, std::size_t entries) const {
  const std::size_t n = nodes_.size();
  auto swaps = out.u32("node.swaps", n);
  auto smallest = out.u64("node.smallest", n);
  auto scores = out.f64("node.score", n);
  auto curvatures = out.f64("node.curvature", n);
  auto trained = out.u64("class.trained", entries);
  auto right = out.u64("class.right", entries);
  auto class_scores = out.f64("class.score", entries);
  std::size_t entry = 0;
  for (NodeId v = 0; v < n; ++v) {
    swaps[v] = nodes_[v].swaps;
    smallest[v] = nodes_[v].smallest;
    scores[v] = nodes_[v].score;
    curvatures[v] = nodes_[v].side.curvature();
    for (const ClassCount& count : nodes_[v].classes.all()) {
      trained[entry] = count.trained;
      right[entry] = count.right;
      class_scores[entry++] = count.score;
    }
  }
}

LomTree::LomTree(const LomTreeOptions& options, const ArrayReader& saved, bool for_prediction)
    : options_(options), can_learn_(!for_prediction) {
  const auto counters = saved.u64("counters");
  require(counters.size() == 2 && counters[0] < kNone / 2 && counters[1] <= kMostExamples,
          "array 'counters' must hold 2 numbers, of labels and of examples");
  const auto states = saved.bytes("label.state");
  require(states.size() == counters[0] && std::ranges::all_of(states, [](std::uint8_t state) { return state <= 2; }),
          "array 'label.state' must hold a number from 0 to 2 for every label");
  for (const std::uint8_t state : states) states_.push_back(static_cast<State>(state));
  load_nodes(saved);
  load_classes(saved);
  if (saved.has("class.weight")) load_weights(saved);
  if (!for_prediction) load_statistics(saved);
  load_regressors(saved, for_prediction);
  require(nodes_[kRoot].reached <= counters[1], "the classes at the root are more than the examples");
  passed_over_ = counters[1] - nodes_[kRoot].reached;
  std::vector<State> unseen = states_;
  for (const ClassCount& count : nodes_[kRoot].classes.all()) unseen[count.label] = State::unknown;
  require(std::ranges::all_of(unseen, [](State state) { return state == State::unknown; }),
          "a label is known, but was never at the root");
  require(inner_nodes() == 0 || inner_nodes() <= max_nodes(), "there are more inner nodes than there may be");
}

void LomTree::load_nodes(const ArrayReader& saved) {
  const auto left = saved.u32("node.left");
  const auto right = saved.u32("node.right");
  require(!left.empty() && left.size() == right.size() && left.size() < kNone,
          "arrays 'node.left' and 'node.right' must hold a number for every node");
  nodes_.resize(left.size());
  const auto n = static_cast<NodeId>(nodes_.size());
  Pieces slopes("node.slope", saved.f64("node.slope"));
  for (NodeId v = 0; v < n; ++v) {
    const double slope = slopes.one();
    require(Side::can_be(slope, Side().curvature()), node_name(v) + ": the slope is out of range");
    nodes_[v].side.restore(slope, Side().curvature());
    nodes_[v].left = left[v];
    nodes_[v].right = right[v];
    if (left[v] == kNone && right[v] == kNone) continue;
    for (const NodeId child : {left[v], right[v]}) {
      require(child < n && child != kRoot && nodes_[child].parent == kNone,
              node_name(v) + ": a child does not exist, or has another parent");
      nodes_[child].parent = v;
    }
  }
  slopes.finish();
  std::vector<NodeId> found{kRoot};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Node& node = nodes_[found[i]];
    if (!node.is_leaf()) found.insert(found.end(), {node.left, node.right});
  }
  require(found.size() == nodes_.size(), "a node is not below the root");
}

void LomTree::load_classes(const ArrayReader& saved) {
  Pieces sizes("node.classes", saved.u32("node.classes"));
  Pieces labels("class.label", saved.u32("class.label"));
  Pieces reached("class.reached", saved.u64("class.reached"));
  for (NodeId v = 0; v < nodes_.size(); ++v) {
    Node& node = nodes_[v];
    for (std::uint32_t left = sizes.one(); left > 0; --left) {
      ClassCount count{.label = labels.one()};
      const std::uint64_t came = reached.one();
      require(count.label < states_.size() && states_[count.label] != State::unknown &&
                  node.classes.find(count.label) == nullptr,
              node_name(v) + ": a class is not known, or occurs twice");
      require(came > 0 && came <= ClassCount::kMostOfAClass && came <= kMostExamples - node.reached,
              node_name(v) + ": the number of examples of a class is out of range");
      count.reached = static_cast<std::uint32_t>(came);
      node.classes.append(count);
      node.reached += came;
      node.most = std::max(node.most, came);
    }
  }
  sizes.finish();
  labels.finish();
  reached.finish();
  for (NodeId v = 1; v < nodes_.size(); ++v) {
    const ClassHistogram& above = nodes_[nodes_[v].parent].classes;
    for (const ClassCount& count : nodes_[v].classes.all()) {
      const ClassCount* there = above.find(count.label);
      require(there != nullptr && there->reached >= count.reached,
              node_name(v) + ": more examples of a class have come here than to the parent");
    }
  }
}

void LomTree::load_weights(const ArrayReader& saved) {
  Pieces totals("node.weight", saved.f64("node.weight"));
  Pieces weights("class.weight", saved.f64("class.weight"));
  const auto most = [](std::uint64_t examples) {
    return static_cast<double>(examples) * static_cast<double>(kMostWeight);
  };
  for (NodeId v = 0; v < nodes_.size(); ++v) {
    Node& node = nodes_[v];
    const double total = totals.one();
    const auto of_classes = weights.take(node.classes.size());
    double sum = 0.0;
    for (std::size_t i = 0; i < of_classes.size(); ++i) {
      require(of_classes[i] > 0.0 && of_classes[i] <= most(node.classes.all()[i].reached),
              node_name(v) + ": the weight of a class is out of range");
      sum += of_classes[i];
    }
    // Summed in stream order, it was rounded differently.
    require(std::abs(total - sum) <= 1e-6 * sum, node_name(v) + ": the weight is not the sum of those of its classes");
    node.classes.restore_weights(of_classes, total);
  }
  totals.finish();
  weights.finish();
}

void LomTree::load_statistics(const ArrayReader& saved) {
  Pieces swaps("node.swaps", saved.u32("node.swaps"));
  Pieces smallest("node.smallest", saved.u64("node.smallest"));
  Pieces scores("node.score", saved.f64("node.score"));
  Pieces curvatures("node.curvature", saved.f64("node.curvature"));
  Pieces trained("class.trained", saved.u64("class.trained"));
  Pieces right("class.right", saved.u64("class.right"));
  Pieces class_scores("class.score", saved.f64("class.score"));
  const auto fits = [](double score, std::uint64_t of) { return std::abs(score) <= static_cast<double>(of); };
  for (NodeId v = 0; v < nodes_.size(); ++v) {
    Node& node = nodes_[v];
    node.swaps = swaps.one();
    node.smallest = smallest.one();
    node.score = scores.one();
    node.side.restore(node.side.slope(), curvatures.one());
    require(Side::can_be(node.side.slope(), node.side.curvature()), node_name(v) + ": the curvature is out of range");
    for (const ClassCount& known : node.classes.all()) {
      ClassCount& count = node.classes.at(known.label);
      const std::uint64_t learnt = trained.one();
      const std::uint64_t went_right = right.one();
      count.score = class_scores.one();
      require(went_right <= learnt && learnt <= (node.is_leaf() ? 0 : count.reached) && fits(count.score, learnt),
              node_name(v) + ": the statistics of a class are out of range");
      count.trained = static_cast<std::uint32_t>(learnt);
      count.right = static_cast<std::uint32_t>(went_right);
      node.trained += learnt;
    }
    require(fits(node.score, node.trained), node_name(v) + ": the sum of the scores is out of range");
    require(!node.is_leaf() || (node.smallest >= node.reached && node.smallest <= kMostExamples),
            node_name(v) + ": the size of the leaf is out of range");
  }
  swaps.finish();
  smallest.finish();
  scores.finish();
  curvatures.finish();
  trained.finish();
  right.finish();
  class_scores.finish();
  for (const Node& node : nodes_) {
    require(node.is_leaf() || node.smallest == std::min(nodes_[node.left].smallest, nodes_[node.right].smallest),
            "a node's smallest leaf is not that of one of its children");
  }
}

void LomTree::load_regressors(const ArrayReader& saved, bool for_prediction) {
  Pieces sizes("block.features", saved.u32("block.features"));
  Pieces features("weights.feature", saved.u32("weights.feature"));
  Pieces weights("weights.value", saved.f32("weights.value"));
  const bool with_state = options_.learner.has_state() && !for_prediction;
  Pieces states("weights.state", with_state ? saved.f32("weights.state") : std::span<const float>());
  for (NodeId v = 0; v < nodes_.size(); ++v) {
    Node& node = nodes_[v];
    if (node.is_leaf()) continue;
    const auto known = features.take(sizes.one());
    std::vector<FeatureId> sorted(known.begin(), known.end());
    std::ranges::sort(sorted);
    require(sorted.empty() || sorted.back() < kNone / 2, node_name(v) + ": a feature id is out of range");
    require(std::ranges::adjacent_find(sorted) == sorted.end(), node_name(v) + ": a feature occurs twice");
    const auto node_weights = weights.take(known.size() + 1);
    const auto node_states = states.take(with_state ? known.size() + 1 : 0);
    require_learnable(options_.learner, node_weights, node_states, node_name(v));
    node.regressor = Regressor(options_.learner, known, node_weights, node_states, !for_prediction);
  }
  sizes.finish();
  features.finish();
  weights.finish();
  states.finish();
}

}  // namespace labelgrove
