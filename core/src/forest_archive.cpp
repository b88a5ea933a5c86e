// Saving and loading: docs/format.md documents every array.
#include <algorithm>
#include <string>

#include "labelgrove/archive_check.hpp"
#include "labelgrove/forest.hpp"

namespace labelgrove {
namespace {

// Calls visit(node) for the nodes of all trees, in order.
template <typename Trees, typename Visit>
void for_each_node(Trees& trees, Visit&& visit) {
  for (auto& tree : trees) {
    for (auto& node : tree.nodes) visit(node);
  }
}

// What all trees hold together.
struct Totals {
  std::size_t nodes = 0;
  std::size_t inner = 0;
  std::size_t entries = 0;  // of the leaves' histograms
  std::size_t features = 0;
  std::size_t weights = 0;
};

Totals totals_of(std::span<const ForestTree> trees) {
  Totals all;
  for_each_node(trees, [&](const ForestTree::Node& node) {
    ++all.nodes;
    all.entries += node.end - node.begin;
    if (node.is_leaf()) return;
    ++all.inner;
    all.features += node.planes->features().size();
    all.weights += node.planes->weights().size();
  });
  return all;
}

bool in_unit_range(float value) { return value >= 0.0F && value <= 1.0F; }

// Every node except the root must be the child of exactly one earlier node.
void check_children(const ForestTree& tree, std::uint32_t children, const std::string& where) {
  const auto n = static_cast<NodeId>(tree.nodes.size());
  require(n % children == 1 % children, where, "the number of nodes does not match the number of children");
  std::vector<std::uint8_t> has_parent(n);
  NodeId inner = 0;
  for (NodeId v = 0; v < n; ++v) {
    const NodeId first = tree.nodes[v].first_child;
    if (first == kNone) continue;
    ++inner;
    require(first > v && first < n && (first - 1) % children == 0 && has_parent[first] == 0, where, "node ", v,
            " has children that are out of place or belong to another node");
    has_parent[first] = 1;
  }
  require(std::uint64_t{inner} * children + 1 == n, where, "a node has no parent");
}

}  // namespace

void Forest::save(ArrayWriter& out, bool for_prediction) const {
  auto counters = out.u64("counters", 2);
  counters[0] = known_.count();
  counters[1] = examples_seen_;
  auto flags = out.bytes("label.known", known_.count());
  for (LabelId label = 0; label < known_.count(); ++label) flags[label] = known_.has(label) ? 1 : 0;
  save_structure(out);
  const Totals all = totals_of(trees_);
  auto leaf_sizes = out.u32("node.labels", all.nodes).begin();
  auto block_sizes = out.u32("block.features", all.inner).begin();
  for_each_node(trees_, [&](const ForestTree::Node& node) {
    *leaf_sizes++ = static_cast<std::uint32_t>(node.end - node.begin);
    if (!node.is_leaf()) *block_sizes++ = static_cast<std::uint32_t>(node.planes->features().size());
  });
  const auto by_tree = [this]<typename T>(std::vector<T> ForestTree::* part) {
    return one_by_one<T>(trees_.size(), [this, part](std::size_t tree, std::vector<T>& to) {
      const std::vector<T>& more = trees_[tree].*part;
      to.insert(to.end(), more.begin(), more.end());
    });
  };
  const auto by_plane = [this]<typename T>(std::span<const T> (Hyperplanes::*part)() const) -> Source<T> {
    return [this, part, tree = std::size_t{0}, v = std::size_t{0}](std::vector<T>& to) mutable {
      if (tree == trees_.size()) return false;
      const ForestTree::Node& node = trees_[tree].nodes[v];
      if (!node.is_leaf()) {
        const std::span<const T> more = ((*node.planes).*part)();
        to.insert(to.end(), more.begin(), more.end());
      }
      if (++v == trees_[tree].nodes.size()) ++tree, v = 0;
      return true;
    };
  };
  out.u32("leaf.label", all.entries, by_tree(&ForestTree::labels));
  out.f32("leaf.share", all.entries, by_tree(&ForestTree::shares));
  out.u32("weights.feature", all.features, by_plane(&Hyperplanes::features));
  out.f32("weights.value", all.weights, by_plane(&Hyperplanes::weights));
  if (options_.tail_weight > 0.0) centroids_.save(out);
  if (!for_prediction) save_statistics(out);
}

void Forest::save_structure(ArrayWriter& out) const {
  auto sizes = out.u32("tree.nodes", trees_.size()).begin();
  auto children = out.u32("node.first_child", totals_of(trees_).nodes).begin();
  for (const ForestTree& tree : trees_) {
    *sizes++ = static_cast<std::uint32_t>(tree.nodes.size());
    for (const ForestTree::Node& node : tree.nodes) *children++ = node.first_child;
  }
}

void Forest::save_statistics(ArrayWriter& out) const {
  const Totals all = totals_of(trees_);
  auto examples = out.u32("node.examples", all.nodes).begin();
  auto objective = out.f32("split.objective", all.inner).begin();
  for_each_node(trees_, [&](const ForestTree::Node& node) {
    *examples++ = node.examples;
    if (!node.is_leaf()) *objective++ = node.split.objective;
  });
  if (options_.ldsm() == nullptr) return;
  auto course = out.f32("split.course", all.inner * options_.ldsm()->epochs).begin();
  auto balance = out.f32("split.balance", all.inner).begin();
  auto purity = out.f32("split.purity", all.inner).begin();
  for_each_node(trees_, [&](const ForestTree::Node& node) {
    if (node.is_leaf()) return;
    course = std::ranges::copy(node.split.course, course).out;
    *balance++ = node.split.balance;
    *purity++ = node.split.purity;
  });
}

Forest::Forest(const ForestOptions& options, const ArrayReader& saved, bool borrow, bool check_only)
    : options_(options), borrowed_(borrow) {
  const auto counters = saved.u64("counters");
  const auto known = saved.bytes("label.known");
  require(
      counters.size() == 2 && counters[0] == known.size() && counters[0] < kNone / 2 && counters[1] <= kMostExamples,
      "array 'counters' must hold the number of labels, as in 'label.known', and the number of examples");
  require(std::ranges::all_of(known, [](std::uint8_t flag) { return flag <= 1; }),
          "array 'label.known' must hold 0 or 1");
  known_ = KnownLabels(static_cast<LabelId>(known.size()));
  for (LabelId label = 0; label < known.size(); ++label) {
    if (known[label] != 0) known_.see(label);
  }
  examples_seen_ = counters[1];

  const auto sizes = saved.u32("tree.nodes");
  require(sizes.size() == options_.trees, "array 'tree.nodes' must hold one number for each tree");
  Pieces<std::uint32_t> children(saved, "node.first_child");
  Pieces<std::uint32_t> leaf_sizes(saved, "node.labels");
  Pieces<std::uint32_t> labels(saved, "leaf.label");
  Pieces<float> shares(saved, "leaf.share");
  Pieces<std::uint32_t> block_sizes(saved, "block.features");
  Pieces<std::uint32_t> features(saved, "weights.feature");
  Pieces<float> weights(saved, "weights.value");
  Reading reading(saved);
  for (std::size_t t = 0; t < sizes.size(); ++t) {
    const std::string where = "tree " + std::to_string(t) + ": ";
    require(sizes[t] > 0, where, "there is no root");
    ForestTree& tree = trees_.emplace_back();
    const auto first_children = children.take(sizes[t]);
    const auto histogram_sizes = leaf_sizes.take(sizes[t]);
    tree.nodes.resize(sizes[t]);
    for (NodeId v = 0; v < sizes[t]; ++v) tree.nodes[v].first_child = first_children[v];
    check_children(tree, options_.children, where);
    for (NodeId v = 0; v < sizes[t]; ++v) {
      ForestTree::Node& node = tree.nodes[v];
      node.begin = tree.labels.size();
      const auto leaf_labels = labels.take(histogram_sizes[v]);
      const auto leaf_shares = shares.take(histogram_sizes[v]);
      require(node.is_leaf() || leaf_labels.empty(), where, "an inner node has a histogram");
      require(increases_below(leaf_labels, known_.count()), where, "a leaf's labels do not increase, or do not exist");
      require(std::ranges::all_of(leaf_shares, in_unit_range), where, "a label's share is not between 0 and 1");
      if (!check_only) {
        tree.labels.insert(tree.labels.end(), leaf_labels.begin(), leaf_labels.end());
        tree.shares.insert(tree.shares.end(), leaf_shares.begin(), leaf_shares.end());
      }
      node.end = tree.labels.size();
      if (node.is_leaf()) continue;
      for (std::uint32_t m = 0; m < options_.children; ++m) tree.nodes[node.first_child + m].depth = node.depth + 1;
      require(node.depth < kMostDepth, where, "it is deeper than ", kMostDepth, " levels");
      const auto block_features = features.take(block_sizes.one());
      const auto block_weights = weights.take((block_features.size() + std::uint64_t{1}) * options_.hyperplanes());
      require(all_finite(block_weights), where, "a weight is not a finite number");
      require(increases_below(block_features, kNone / 2), where,
              "the features of a node do not increase, or are out of range");
      node.planes.emplace(options_.hyperplanes(), block_features, block_weights, borrow || check_only);
      reading.went_over(block_features.size_bytes() + block_weights.size_bytes());
    }
  }
  finish_all(children, leaf_sizes, labels, shares, block_sizes, features, weights);
  if (options_.tail_weight > 0.0) centroids_ = LabelCentroids(saved, known_.count(), check_only);
  if (!borrow) load_statistics(saved);
}

void Forest::load_statistics(const ArrayReader& saved) {
  Pieces<std::uint32_t> examples(saved, "node.examples");
  Pieces<float> objective(saved, "split.objective");
  for_each_node(trees_, [&](ForestTree::Node& node) {
    node.examples = examples.one();
    if (!node.is_leaf()) node.split.objective = objective.one();
  });
  finish_all(examples, objective);
  if (options_.ldsm() == nullptr) return;
  Pieces<float> course(saved, "split.course");
  Pieces<float> balance(saved, "split.balance");
  Pieces<float> purity(saved, "split.purity");
  for_each_node(trees_, [&](ForestTree::Node& node) {
    if (node.is_leaf()) return;
    const auto values = course.take(options_.ldsm()->epochs);
    node.split = {node.split.objective, {values.begin(), values.end()}, balance.one(), purity.one()};
  });
  finish_all(course, balance, purity);
}

}  // namespace labelgrove
