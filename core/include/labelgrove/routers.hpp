// Trees that route examples: every inner node has a linear regressor, and an example goes right if its margin is above
// 0. The templates here require that a node has a parent, a left and a right child, a side and is_leaf(); and that a
// tree has nodes(), kRoot, margin(node, x, work), regressor(node) and the probability goes_right(node, margin).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/archive.hpp"
#include "labelgrove/archive_check.hpp"
#include "labelgrove/base.hpp"
#include "labelgrove/budget.hpp"
#include "labelgrove/elementary.hpp"
#include "labelgrove/node_block.hpp"
#include "labelgrove/regressor.hpp"
#include "labelgrove/scored.hpp"

namespace labelgrove {

// The probability that an example belongs to the right, given a node's margin m: sigma(slope m). The slope is learnt
// online by Newton steps on the logistic loss, before the regressor learns from the example.
class Side {
 public:
  // NaN, the result of an overflow, is treated as unknown.
  double probability(float margin) const {
    return std::isnan(margin) ? 0.5 : logistic(slope_ * static_cast<double>(margin));
  }
  void learn(float margin, bool right);

  double slope() const { return slope_; }
  double curvature() const { return curvature_; }
  void restore(double slope, double curvature) {
    slope_ = slope;
    curvature_ = curvature;
  }
  static bool can_be(double slope, double curvature);

 private:
  double slope_ = 3.0;
  double curvature_ = 4.0;  // of the loss, summed
};

// The memory budget of a tree of regressors, counted from shapes. Room is made before memory is taken, by forgetting
// the features of least worth in all regressors (docs/decisions/budget.md). `for_each(visit)` visits all regressors.
class RegressorBudget {
 public:
  explicit RegressorBudget(std::uint64_t most) : most_(most) {}  // 0 is unbounded, and nothing is counted

  bool bounded() const { return most_ > 0; }
  std::uint64_t most() const { return most_; }
  std::uint64_t held() const { return held_; }
  void takes(std::uint64_t bytes) { held_ += bounded() ? bytes : 0; }
  void gives_back(std::uint64_t bytes) { held_ -= bounded() ? bytes : 0; }

  // Makes room for `bytes` bytes; returns false, and forgets nothing, if that is impossible.
  template <typename ForEach>
  bool make_room(std::uint64_t bytes, ForEach&& for_each) {
    if (!bounded() || held_ + bytes <= most_) return true;
    std::uint64_t learnt = 0;
    for_each([&](const Regressor& regressor) { learnt += regressor.most_bytes(); });
    if (held_ - learnt + bytes > most_) return false;
    forget_least(held_ + bytes - kept(most_), for_each);
    held_ -= learnt;
    for_each([this](const Regressor& regressor) { held_ += regressor.most_bytes(); });
    return true;
  }
  // Makes room for `bytes` bytes and takes them; returns false if that is impossible.
  template <typename ForEach>
  bool take(std::uint64_t bytes, ForEach&& for_each) {
    if (!make_room(bytes, for_each)) return false;
    takes(bytes);
    return true;
  }
  template <typename ForEach>
  void take_or_throw(std::uint64_t bytes, ForEach&& for_each) {
    if (!take(bytes, for_each)) throw BudgetExceeded(most_, held_ + bytes);
  }
  // One step of a regressor; skipped if there is no room for it.
  template <typename ForEach>
  Regressor::Margins teach(Regressor& regressor, const LearnerOptions& learner, const Features& x, float target,
                           float weight, float offset, Workspace& work, ForEach&& for_each) {
    if (!bounded()) return regressor.learn(learner, x, target, weight, work, offset);
    if (!make_room(Regressor::kBytesOfTerm * x.size, for_each)) {
      const float margin = regressor.margin(x, work) + offset;
      return {margin, margin};
    }
    held_ -= regressor.most_bytes();
    const Regressor::Margins margins = regressor.learn(learner, x, target, weight, work, offset);
    held_ += regressor.most_bytes();
    return margins;
  }

 private:
  std::uint64_t most_;
  std::uint64_t held_ = 0;
};

// A part of a label's probability.
struct Share {
  LabelId label;
  double share;
};

// Adds up the shares of every label, in their order, and sorts by label.
void add_up(std::vector<Share>& shares);

// Finds an example's most probable leaves, where each node gives the probabilities of its sides. A best-first search
// goes down to a leaf before it returns to the best node left aside, and visits no more nodes than a multiple of the
// logarithm of their number. Not thread-safe: use one for each thread.
template <typename Tree>
class LeafSearch {
 public:
  struct Reached {
    NodeId leaf;
    double weight;  // its probability, scaled so that those of all leaves found sum to 1
  };

  LeafSearch(const Tree& tree, std::size_t leaves) : tree_(tree), leaves_(leaves) {}

  // Most probable first. Valid until the next call.
  std::span<const Reached> find(const Features& x, Workspace& work) {
    stats_ = SearchStats();
    reached_.clear();
    const auto logarithm = static_cast<std::size_t>(std::bit_width(tree_.nodes().size()));
    const std::size_t most = leaves_ > 1 ? leaves_ * kBreadth * logarithm : 1;
    queue_.assign(1, {1.0, Tree::kRoot, 0});
    while (!queue_.empty() && !hopeless(queue_.front()) && (reached_.empty() || stats_.classifiers < most)) {
      std::ranges::pop_heap(queue_, less_probable);
      const Item item = queue_.back();
      queue_.pop_back();
      follow(item, x, work);
    }
    double sum = 0.0;
    for (const Reached& reached : reached_) sum += reached.weight;
    // On a path of thousands of nodes the product may underflow to 0.
    const double even = 1.0 / static_cast<double>(reached_.size());
    for (Reached& reached : reached_) reached.weight = sum > 0.0 ? reached.weight / sum : even;
    return reached_;
  }

  // Regressors evaluated, and the depth of the deepest node visited.
  const SearchStats& stats() const { return stats_; }

 private:
  // If the sides of nodes have similar probabilities, finding the most probable leaves with certainty would mean
  // visiting nearly all nodes. The search therefore stops after this many times (leaves wanted) x (depth of a balanced
  // tree) nodes.
  static constexpr std::size_t kBreadth = 2;

  struct Item {
    double probability;
    NodeId node;
    std::uint32_t depth;
  };

  static bool less_probable(const Item& a, const Item& b) {
    return a.probability != b.probability ? a.probability < b.probability : a.node > b.node;
  }

  // Whether no leaf below can be among the most probable ones.
  bool hopeless(const Item& item) const {
    return reached_.size() == leaves_ && item.probability <= reached_.back().weight;
  }

  // Descends to a leaf along the more probable sides, queueing the other sides; stops early once no leaf below can be a
  // result.
  void follow(Item item, const Features& x, Workspace& work) {
    for (;;) {
      const auto& node = tree_.nodes()[item.node];
      if (node.is_leaf()) break;
      const double right = tree_.goes_right(item.node, tree_.margin(item.node, x, work));
      ++stats_.classifiers;
      stats_.depth = std::max(stats_.depth, ++item.depth);
      const bool goes_right = right > 0.5;
      Item other = item;
      other.node = goes_right ? node.left : node.right;
      other.probability *= goes_right ? 1.0 - right : right;
      if (leaves_ > 1) {
        queue_.push_back(other);
        std::ranges::push_heap(queue_, less_probable);
      }
      item.node = goes_right ? node.right : node.left;
      item.probability *= goes_right ? right : 1.0 - right;
      if (hopeless(item)) return;
    }
    if (reached_.size() == leaves_) reached_.pop_back();
    const auto worse =
        std::ranges::find_if(reached_, [&](const Reached& one) { return one.weight < item.probability; });
    reached_.insert(worse, {item.node, item.probability});
  }

  const Tree& tree_;
  std::size_t leaves_;
  SearchStats stats_;
  std::vector<Item> queue_;
  std::vector<Reached> reached_;
};

// An example's single path, and each feature's contribution at its inner nodes.
struct Route {
  std::vector<NodeId> nodes;         // the leaf is the last
  std::vector<float> bias;           // of inner nodes: the margin of an example without features
  std::vector<float> contributions;  // (inner nodes, features of x): each feature's contribution to the margin
};

template <typename Tree>
Route explain_route(const Tree& tree, const Features& x) {
  Route route;
  Workspace work;
  NodeId v = Tree::kRoot;
  while (!tree.nodes()[v].is_leaf()) {
    const auto& node = tree.nodes()[v];
    route.nodes.push_back(v);
    route.contributions.resize(route.nodes.size() * x.size);
    route.bias.push_back(
        node.regressor.margin_parts(x, route.contributions.data() + (route.nodes.size() - 1) * x.size));
    v = tree.margin(v, x, work) > 0.0F ? node.right : node.left;
  }
  route.nodes.push_back(v);
  return route;
}

// --- files: docs/format.md documents every array ---------------------------------------------------------------------

// Saves the children and slopes of all nodes, and unless `for_prediction` the curvatures that go with the slopes.
template <typename Node>
void save_routes(ArrayWriter& out, std::span<const Node> nodes, bool for_prediction) {
  const std::size_t n = nodes.size();
  std::ranges::transform(nodes, out.u32("node.left", n).begin(), &Node::left);
  std::ranges::transform(nodes, out.u32("node.right", n).begin(), &Node::right);
  std::ranges::transform(nodes, out.f64("node.slope", n).begin(), &Side::slope, &Node::side);
  if (for_prediction) return;
  std::ranges::transform(nodes, out.f64("node.curvature", n).begin(), &Side::curvature, &Node::side);
}

// The nodes at and below the first one, parents first.
template <typename Node>
std::vector<NodeId> parents_first(std::span<const Node> nodes) {
  std::vector<NodeId> found{0};
  found.reserve(nodes.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Node& node = nodes[found[i]];
    if (!node.is_leaf()) found.insert(found.end(), {node.left, node.right});
  }
  return found;
}

// Loads what save_routes() saved. Throws std::invalid_argument unless the nodes form a binary tree with the first one as
// its root.
template <typename Node>
std::vector<Node> saved_routes(const ArrayReader& saved, bool for_prediction) {
  const auto left = saved.u32("node.left");
  const auto right = saved.u32("node.right");
  require(!left.empty() && left.size() == right.size() && left.size() < kNone,
          "arrays 'node.left' and 'node.right' must hold a number for every node");
  std::vector<Node> nodes(left.size());
  const auto n = static_cast<NodeId>(nodes.size());
  Pieces<double> slopes(saved, "node.slope");
  Pieces<double> curvatures(saved, "node.curvature", !for_prediction);
  for (NodeId v = 0; v < n; ++v) {
    const double slope = slopes.one();
    const double curvature = for_prediction ? Side().curvature() : curvatures.one();
    require(Side::can_be(slope, Side().curvature()), "node ", v, ": the slope is out of range");
    require(Side::can_be(slope, curvature), "node ", v, ": the curvature is out of range");
    nodes[v].side.restore(slope, curvature);
    nodes[v].left = left[v];
    nodes[v].right = right[v];
    if (left[v] == kNone && right[v] == kNone) continue;
    for (const NodeId child : {left[v], right[v]}) {
      require(child < n && child != 0 && nodes[child].parent == kNone, "node ", v,
              ": a child does not exist, or has another parent");
      nodes[child].parent = v;
    }
  }
  finish_all(slopes, curvatures);
  require(parents_first(std::span<const Node>(nodes)).size() == nodes.size(), "a node is not below the root");
  return nodes;
}

}  // namespace labelgrove
