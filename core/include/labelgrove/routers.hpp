// Trees that route examples: every inner node has a linear regressor, and an example goes right where its margin is
// above 0. A node has a parent, a left and a right child, a side and is_leaf(); a tree has nodes(), kRoot,
// margin(node, x, work), goes_right(node, margin), the probability, and regressor(node).
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
#include "labelgrove/search.hpp"

namespace labelgrove {

// How likely an example belongs to the right, from a node's margin m: sigma(slope m). The slope is learnt online,
// before the regressor has seen the example, by Newton steps on the logistic loss.
class Side {
 public:
  // A margin that overflowed into NaN says nothing.
  double probability(float margin) const {
    return std::isnan(margin) ? 0.5 : 1.0 / (1.0 + fixed_exp(-slope_ * static_cast<double>(margin)));
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

// What a tree of regressors holds, counted from shapes at any time: room is made before something is taken, by
// forgetting features of regressors, all of which are worth as little (docs/decisions/budget.md). `for_each(visit)`
// visits all regressors that there are.
class RegressorBudget {
 public:
  explicit RegressorBudget(std::uint64_t most) : most_(most) {}  // 0 is no bound: nothing is counted then

  bool bounded() const { return most_ > 0; }
  std::uint64_t most() const { return most_; }
  std::uint64_t held() const { return held_; }
  void takes(std::uint64_t bytes) { held_ += bytes; }
  void gives_back(std::uint64_t bytes) { held_ -= bytes; }

  // False, if there is none for so many bytes.
  template <typename ForEach>
  bool make_room(std::uint64_t bytes, ForEach&& for_each) {
    if (!bounded() || held_ + bytes <= most_) return true;
    const std::uint64_t needed = held_ + bytes - kept(most_);
    for_each([this](const Regressor& regressor) { held_ -= regressor.most_bytes(); });
    forget_least(needed, for_each);
    for_each([this](const Regressor& regressor) { held_ += regressor.most_bytes(); });
    return held_ + bytes <= most_;
  }
  // As make_room, or throws BudgetExceeded; takes them.
  template <typename ForEach>
  void take_or_throw(std::uint64_t bytes, ForEach&& for_each) {
    if (!make_room(bytes, for_each)) throw BudgetExceeded(most_, held_ + bytes);
    held_ += bytes;
  }
  // A step; one that there is no room for is left out.
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

// Finds the most probable leaves of an example, where it goes to a side with the node's probability: by best-first
// search, which goes down to a leaf before it turns to the best of what it has left aside, and asks no more nodes than
// a multiple of the logarithm of their number.
template <typename Tree>
class LeafSearch {
 public:
  struct Reached {
    NodeId leaf;
    double weight;  // its probability; once all are found, they sum to 1
  };

  LeafSearch(const Tree& tree, std::size_t leaves) : tree_(tree), leaves_(leaves) {}

  // The most probable first.
  std::span<const Reached> find(const Features& x, Workspace& work) {
    stats_ = SearchStats();
    reached_.clear();
    const std::size_t most = leaves_ > 1 ? leaves_ * kBreadth * std::bit_width(tree_.nodes().size()) : 1;
    queue_.assign(1, {1.0, Tree::kRoot, 0});
    while (!queue_.empty() && !hopeless(queue_.front()) && (reached_.empty() || stats_.classifiers < most)) {
      std::ranges::pop_heap(queue_, less_probable);
      const Item item = queue_.back();
      queue_.pop_back();
      follow(item, x, work);
    }
    double sum = 0.0;
    for (const Reached& reached : reached_) sum += reached.weight;
    // Along a path of thousands of nodes the product underflows to 0.
    const double even = 1.0 / static_cast<double>(reached_.size());
    for (Reached& reached : reached_) reached.weight = sum > 0.0 ? reached.weight / sum : even;
    return reached_;
  }

  // Regressors asked, and the depth of the deepest node looked at.
  const SearchStats& stats() const { return stats_; }

 private:
  // Where neither side is much more probable than the other, finding the most probable leaves for certain would mean
  // asking nearly all nodes. So the search stops after this many times (leaves wanted) x (depth of a balanced tree)
  // nodes.
  static constexpr std::size_t kBreadth = 2;

  struct Item {
    double probability;
    NodeId node;
    std::uint32_t depth;
  };

  static bool less_probable(const Item& a, const Item& b) {
    return a.probability != b.probability ? a.probability < b.probability : a.node > b.node;
  }

  // Whether no leaf below can be among the most probable.
  bool hopeless(const Item& item) const {
    return reached_.size() == leaves_ && item.probability <= reached_.back().weight;
  }

  // Descends to a leaf by the more probable side, queueing the other sides; stops early once no leaf below can count.
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

// The one path of an example, and what each of its features says at the inner nodes.
struct Route {
  std::vector<NodeId> nodes;         // the leaf is the last one
  std::vector<float> bias;           // of inner nodes: the margin without any feature
  std::vector<float> contributions;  // (inner nodes, features of x): what each feature adds to the margin
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

// --- files: docs/format.md names every array ------------------------------------------------------------------------

// The children of nodes, and their slopes.
template <typename Node>
void save_routes(ArrayWriter& out, std::span<const Node> nodes) {
  auto left = out.u32("node.left", nodes.size());
  auto right = out.u32("node.right", nodes.size());
  auto slopes = out.f64("node.slope", nodes.size());
  for (NodeId v = 0; v < nodes.size(); ++v) {
    left[v] = nodes[v].left;
    right[v] = nodes[v].right;
    slopes[v] = nodes[v].side.slope();
  }
}

// Throws std::invalid_argument unless they are a binary tree with all nodes below the first.
template <typename Node>
std::vector<Node> saved_routes(const ArrayReader& saved) {
  const auto left = saved.u32("node.left");
  const auto right = saved.u32("node.right");
  require(!left.empty() && left.size() == right.size() && left.size() < kNone,
          "arrays 'node.left' and 'node.right' must hold a number for every node");
  std::vector<Node> nodes(left.size());
  const auto n = static_cast<NodeId>(nodes.size());
  Pieces slopes("node.slope", saved.f64("node.slope"));
  for (NodeId v = 0; v < n; ++v) {
    const double slope = slopes.one();
    require(Side::can_be(slope, Side().curvature()), "node ", v, ": the slope is out of range");
    nodes[v].side.restore(slope, Side().curvature());
    nodes[v].left = left[v];
    nodes[v].right = right[v];
    if (left[v] == kNone && right[v] == kNone) continue;
    for (const NodeId child : {left[v], right[v]}) {
      require(child < n && child != 0 && nodes[child].parent == kNone, "node ", v,
              ": a child does not exist, or has another parent");
      nodes[child].parent = v;
    }
  }
  slopes.finish();
  std::vector<NodeId> found{0};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Node& node = nodes[found[i]];
    if (!node.is_leaf()) found.insert(found.end(), {node.left, node.right});
  }
  require(found.size() == nodes.size(), "a node is not below the root");
  return nodes;
}

}  // namespace labelgrove
