#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "harness.hpp"
#include "labelgrove/routers.hpp"
#include "memory_archive.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

struct FixedNode {
  NodeId parent = kNone;
  NodeId left = kNone;
  NodeId right = kNone;
  float right_share = 0.0F;  // as its margin, too
  Side side = {};
  Regressor regressor = {};

  bool is_leaf() const { return left == kNone; }
};

// A tree whose nodes send a fixed share of every example to the right.
class FixedTree {
 public:
  static constexpr NodeId kRoot = 0;

  FixedTree() : nodes_(1) {}
  // Makes a leaf an inner node and returns its left child; the right one is the next.
  NodeId split(NodeId v, float right_share) {
    const auto left = static_cast<NodeId>(nodes_.size());
    nodes_.resize(left + 2);
    nodes_[v].left = left;
    nodes_[v].right = left + 1;
    nodes_[v].right_share = right_share;
    return left;
  }
  std::span<const FixedNode> nodes() const { return nodes_; }
  float margin(NodeId v, const Features&, Workspace&) const { return nodes_[v].right_share; }
  double goes_right(NodeId, float margin) const { return static_cast<double>(margin); }

 private:
  std::vector<FixedNode> nodes_;
};

struct Found {
  std::vector<NodeId> leaves;
  std::vector<double> weights;
  SearchStats stats;
};

Found leaves_of(const FixedTree& tree, std::size_t most) {
  LeafSearch<FixedTree> search(tree, most);
  Workspace work;
  Found found;
  for (const auto& [leaf, weight] : search.find({}, work)) {
    found.leaves.push_back(leaf);
    found.weights.push_back(weight);
  }
  found.stats = search.stats();
  return found;
}

using Leaves = std::vector<NodeId>;

}  // namespace

// --- sides -----------------------------------------------------------------------------------------------------------

TEST("routers: a side's slope takes Newton steps on the logistic loss") {
  Side side;
  const double p = 1.0 / (1.0 + std::exp(-3.0 * 2.0));
  CHECK_NEAR(side.probability(2.0F), p, 1e-12);
  side.learn(2.0F, false);
  const double curvature = 4.0 + p * (1.0 - p) * 4.0;
  CHECK_NEAR(side.curvature(), curvature, 1e-12);
  CHECK_NEAR(side.slope(), 3.0 - p * 2.0 / curvature, 1e-12);
  for (int i = 0; i < 100; ++i) side.learn(2.0F, false);
  CHECK_EQ(side.slope(), 0.5);
}

TEST("routers: the limits of a slope and its curvature can be stored, and nothing beyond") {
  const double nothing = std::numeric_limits<double>::infinity();
  for (const double slope : {0.5, 30.0}) CHECK(Side::can_be(slope, 4.0));
  for (const double slope : {0.49, 30.1, std::nan("")}) CHECK(!Side::can_be(slope, 4.0));
  for (const double curvature : {3.9, nothing, std::nan("")}) CHECK(!Side::can_be(3.0, curvature));
}

// --- the budget ------------------------------------------------------------------------------------------------------

TEST("routers: a budget counts what is taken and given back, and refuses what does not fit") {
  const auto none = [](auto&&) {};
  RegressorBudget unbounded(0);
  CHECK(unbounded.take(1000, none));
  CHECK_EQ(unbounded.held(), 0U);
  unbounded.gives_back(500);
  CHECK_EQ(unbounded.held(), 0U);
  RegressorBudget budget(1600);
  CHECK(budget.take(1000, none));
  CHECK(!budget.take(601, none));
  CHECK_EQ(budget.held(), 1000U);
  std::string refused;
  try {
    budget.take_or_throw(700, none);
  } catch (const BudgetExceeded& error) {
    refused = error.what();
  }
  CHECK(refused.find("need 1700 bytes") != std::string::npos);
  CHECK(budget.take(600, none));
  budget.gives_back(100);
  CHECK_EQ(budget.held(), 1500U);
}

TEST("routers: a full budget forgets features of regressors, but none for what will not fit") {
  LearnerOptions learner;
  learner.kind = LearnerKind::sgd;
  Regressor regressor;
  regressor.start(learner);
  const auto all = [&](auto&& visit) { visit(regressor); };
  const Example x{{0, 1, 2, 3}, {1.0F, 2.0F, 3.0F, 4.0F}};
  Workspace work;
  RegressorBudget budget(160);  // down to 140 when features are forgotten
  budget.takes(20);
  for (FeatureId i = 0; i < 4; ++i) {
    const Features one{x.ids.data() + i, x.values.data() + i, 1};
    budget.teach(regressor, learner, one, 1.0F, 1.0F, 0.0F, work, all);
  }
  CHECK_EQ(budget.held(), 144U);
  CHECK(budget.make_room(16, all));
  CHECK(!budget.make_room(141, all));
  CHECK_EQ(regressor.size(), 4U);
  CHECK(budget.make_room(30, all));
  CHECK_EQ(regressor.size(), 2U);
  CHECK_EQ(budget.held(), 82U);
  CHECK(budget.make_room(140, all));
  CHECK_EQ(regressor.size(), 0U);
  CHECK_EQ(budget.held(), 20U);

  budget.takes(110);
  const Regressor::Margins refused = budget.teach(regressor, learner, x.view(), 1.0F, 1.0F, 0.25F, work, all);
  CHECK_EQ(regressor.size(), 0U);
  CHECK_EQ(refused.before, regressor.margin(x.view(), work) + 0.25F);
  CHECK_EQ(refused.after, refused.before);
}

// --- the search for leaves -------------------------------------------------------------------------------------------

TEST("routers: the most probable leaves are found, the first ones among equals") {
  FixedTree tree;
  tree.split(0, 0.5F);
  tree.split(1, 0.25F);
  tree.split(2, 0.25F);
  const Found two = leaves_of(tree, 2);
  CHECK(two.leaves == Leaves{3, 5});
  CHECK(two.weights == std::vector<double>{0.5, 0.5});
  CHECK_EQ(two.stats.classifiers, 3U);
  CHECK_EQ(two.stats.depth, 2U);
  CHECK(leaves_of(tree, 1).leaves == Leaves{3});
  const Found three = leaves_of(tree, 3);
  CHECK(three.leaves == Leaves{3, 5, 4});
  CHECK_NEAR(three.weights[2], 1.0 / 7.0, 1e-12);
  CHECK(leaves_of(tree, 10).leaves == Leaves{3, 5, 4, 6});
}

TEST("routers: a side is left as soon as no leaf below it can be among the best") {
  FixedTree tree;
  tree.split(0, 0.375F);
  tree.split(1, 0.45F);  // leaf 3 has 0.34375, node 4 has 0.28125
  tree.split(2, 0.4F);   // leaf 5 has 0.225, leaf 6 has 0.15
  tree.split(4, 0.5F);   // two leaves of 0.140625
  const Found found = leaves_of(tree, 2);
  CHECK(found.leaves == Leaves{3, 5});
  CHECK_EQ(found.stats.classifiers, 4U);
  CHECK_EQ(found.stats.depth, 3U);
}

TEST("routers: the depth is that of the deepest node visited, wherever the search goes on") {
  FixedTree tree;
  tree.split(0, 0.375F);
  tree.split(tree.split(1, 0.125F), 0.125F);
  tree.split(2, 0.125F);
  CHECK_EQ(leaves_of(tree, 2).stats.depth, 3U);
}

TEST("routers: among equals the search ends after a multiple of the depth") {
  FixedTree tree;
  for (NodeId v = 0; v < 63; ++v) tree.split(v, 0.5F);
  const Found found = leaves_of(tree, 2);
  CHECK(found.leaves == Leaves{63, 95});
  CHECK_EQ(found.stats.classifiers, 28U);  // 2 leaves, twice the 7 levels
}

TEST("routers: a leaf is found even if its probability underflows") {
  FixedTree tree;
  NodeId v = 0;
  for (int i = 0; i < 1100; ++i) v = tree.split(v, 0.5F);
  const Found found = leaves_of(tree, 1);
  CHECK(found.leaves == Leaves{v});
  CHECK_EQ(found.weights[0], 1.0);
}

TEST("routers: an example on the border goes left") {
  FixedTree tree;
  tree.split(tree.split(0, 0.0F), 0.25F);
  CHECK(explain_route(tree, {}).nodes == Leaves{0, 1, 4});
}

TEST("routers: shares of a label are added up in their order") {
  std::vector<Share> shares{{7, 0.5}, {2, 0.25}, {7, 0.125}, {2, 1.0}, {0, 2.0}};
  add_up(shares);
  REQUIRE(shares.size() == 3);
  CHECK_EQ(shares[0].label, 0U);
  CHECK_EQ(shares[1].share, 1.25);
  CHECK_EQ(shares[2].share, 0.625);
}

// --- files -----------------------------------------------------------------------------------------------------------

TEST("routers: nodes that are no binary tree are refused") {
  const auto archive = [](std::vector<std::uint32_t> left, std::vector<std::uint32_t> right) {
    MemoryArchive saved;
    saved.arrays()["node.slope"] = std::vector<double>(left.size(), 3.0);
    saved.arrays()["node.curvature"] = std::vector<double>(left.size(), 4.0);
    saved.arrays()["node.left"] = std::move(left);
    saved.arrays()["node.right"] = std::move(right);
    return saved;
  };
  const auto nodes = [](const MemoryArchive& saved) { return saved_routes<FixedNode>(saved, false); };
  const MemoryArchive good = archive({1, kNone, kNone}, {2, kNone, kNone});
  CHECK_EQ(nodes(good)[2].parent, 0U);
  const auto refused = [&](const MemoryArchive& saved) { CHECK_THROWS(std::invalid_argument, nodes(saved)); };
  refused(archive({}, {}));
  refused(archive({1, kNone, kNone}, {2, kNone, kNone, kNone}));
  refused(archive({1, kNone, kNone}, {3, kNone, kNone}));                // does not exist
  refused(archive({1, kNone, kNone}, {kNone, kNone, kNone}));            // only one child
  refused(archive({1, kNone, kNone}, {1, kNone, kNone}));                // twice the same child
  refused(archive({1, 0, kNone, kNone}, {2, 3, kNone, kNone}));          // the root below a node
  refused(archive({kNone, 2, kNone, kNone}, {kNone, 3, kNone, kNone}));  // not below the root
  for (const char* name : {"node.slope", "node.curvature"}) {
    refused(changed(good, name, [](auto& numbers) { numbers[1] = 0; }));
    refused(changed(good, name, [](auto& numbers) { numbers.push_back(numbers[0]); }));
  }
}

}  // namespace labelgrove::testing
