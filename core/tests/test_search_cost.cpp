#include <cstdint>
#include <numeric>
#include <vector>

#include "harness.hpp"
#include "labelgrove/search_cost.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

// Children 1 and 2 of the root have the labels 0, 1 and 2, 3, 4.
ClusterTree two_groups() { return {{-1, 0, 0, 1, 1, 2, 2, 2}, {0, 1, 2, 3, 4}}; }

double cost_of(const ClusterTree& tree, const std::vector<double>& visits, double block_cost) {
  std::vector<double> children(tree.parents.size(), 0.0);
  for (std::size_t v = 1; v < tree.parents.size(); ++v) children[static_cast<std::size_t>(tree.parents[v])] += 1.0;
  double cost = 0.0;
  for (std::size_t v = 0; v < children.size(); ++v) {
    if (children[v] > 0.0) cost += visits[v] * (block_cost + children[v]);
  }
  return cost;
}

// Searches for one label each.
struct Singles {
  std::vector<std::int64_t> indptr;
  std::vector<LabelId> labels;
  std::vector<double> frequencies;

  explicit Singles(std::vector<double> often) : indptr(often.size() + 1), labels(often.size()), frequencies(often) {
    std::iota(indptr.begin(), indptr.end(), 0);
    std::iota(labels.begin(), labels.end(), 0U);
  }
  LabelSets sets() const { return {indptr, labels, frequencies}; }
};

TEST("search cost: a set of labels visits every node above them once") {
  const std::vector<std::int64_t> indptr{0, 2, 4, 4, 5};
  const std::vector<LabelId> labels{0, 1, 1, 4, 2};
  const std::vector<double> frequencies{1.0, 2.0, 4.0, 8.0};
  const std::vector<double> visits = visits_of(two_groups(), {indptr, labels, frequencies});
  CHECK(visits == std::vector<double>{11, 3, 10, 1, 3, 8, 0, 2});
}

TEST("search cost: expensive blocks are merged, free blocks remain") {
  const Singles even({1, 1, 1, 1, 1});
  const std::vector<double> visits = visits_of(two_groups(), even.sets());
  CHECK(cheapest_reduction(two_groups(), visits, 0.0).parents == two_groups().parents);
  const ClusterTree flat = cheapest_reduction(two_groups(), visits, 100.0);
  CHECK(flat.parents == std::vector<std::int64_t>{-1, 0, 0, 0, 0, 0});
  CHECK(flat.labels == std::vector<LabelId>{0, 1, 2, 3, 4});
}

TEST("search cost: among equally cheap trees, the one with fewer nodes") {
  const Singles even({1, 1, 1, 1, 1});
  // Node 1 costs a classifier in 5 searches, and 0.5 + 2 in 2 of them: as much as 2 classifiers in all 5.
  const ClusterTree tree = cheapest_reduction(two_groups(), visits_of(two_groups(), even.sets()), 0.5);
  CHECK(tree.parents == std::vector<std::int64_t>{-1, 0, 0, 0, 0, 0});
}

TEST("search cost: rarely searched labels keep a block of their own") {
  const Singles mostly_two({10, 10, 1, 1, 1});
  const std::vector<double> visits = visits_of(two_groups(), mostly_two.sets());
  const ClusterTree tree = cheapest_reduction(two_groups(), visits, 2.0);
  CHECK(tree.parents == std::vector<std::int64_t>{-1, 0, 0, 0, 3, 3, 3});
  CHECK(tree.labels == std::vector<LabelId>{0, 1, 2, 3, 4});
}

TEST("search cost: a single root, and a root with one leaf, are unchanged") {
  for (const ClusterTree& tree : {ClusterTree{{-1}, {}}, ClusterTree{{-1}, {0}}, ClusterTree{{-1, 0}, {0}}}) {
    const std::vector<double> visits(tree.parents.size(), 1.0);
    const ClusterTree reduced = cheapest_reduction(tree, visits, 5.0);
    CHECK(reduced.parents == tree.parents);
    CHECK(reduced.labels == tree.labels);
  }
  CHECK(visits_of({{-1}, {}}, Singles({}).sets()) == std::vector<double>{0});
}

TEST(
    "search cost: the reduction is no more expensive than the full tree, the flat tree, or the reduction for another "
    "block cost") {
  Random random(4);
  for (int trial = 0; trial < 40; ++trial) {
    // A random tree, numbered level by level: the parents of each level ascend.
    ClusterTree tree{{-1}, {}};
    std::vector<std::int64_t> level{0};
    while (tree.parents.size() < 60) {
      std::vector<std::int64_t> next;
      for (const std::int64_t v : level) {
        if (v != level.front() && random.chance(0.3)) continue;
        for (std::uint32_t c = 0; c < 2 + random.below(2); ++c) {
          next.push_back(static_cast<std::int64_t>(tree.parents.size()));
          tree.parents.push_back(v);
        }
      }
      level = next;
    }
    std::vector<std::uint8_t> inner(tree.parents.size(), 0);
    for (std::size_t v = 1; v < inner.size(); ++v) inner[static_cast<std::size_t>(tree.parents[v])] = 1;
    for (const std::uint8_t is_inner : inner) {
      if (is_inner == 0) tree.labels.push_back(static_cast<LabelId>(tree.labels.size()));
    }
    std::vector<double> often(tree.labels.size());
    for (double& x : often) x = random.uniform();
    const Singles singles(often);
    const std::vector<double> visits = visits_of(tree, singles.sets());
    const auto price = static_cast<double>(random.below(10));
    const ClusterTree best = cheapest_reduction(tree, visits, price);
    const double least = cost_of(best, visits_of(best, singles.sets()), price);
    for (const double other : {0.0, 3.0, 6.0, 1e9}) {
      const ClusterTree tree_then = cheapest_reduction(tree, visits, other);
      CHECK(least <= cost_of(tree_then, visits_of(tree_then, singles.sets()), price) + 1e-9);
    }
    CHECK(least <= cost_of(tree, visits, price) + 1e-9);
  }
}

}  // namespace
}  // namespace labelgrove::testing
