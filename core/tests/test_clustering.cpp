#include <algorithm>
#include <cstdint>
#include <vector>

#include "harness.hpp"
#include "labelgrove/clustering.hpp"
#include "sparse_rows.hpp"

namespace labelgrove::testing {
namespace {

// The labels below every node, and its number of children.
struct Shape {
  std::vector<std::uint32_t> labels;
  std::vector<std::uint32_t> children;

  explicit Shape(const ClusterTree& tree) : labels(tree.parents.size(), 0), children(tree.parents.size(), 0) {
    for (std::size_t v = 1; v < tree.parents.size(); ++v) ++children[static_cast<std::size_t>(tree.parents[v])];
    for (std::size_t v = tree.parents.size(); v-- > 0;) {
      if (children[v] == 0) labels[v] = 1;
      if (v > 0) labels[static_cast<std::size_t>(tree.parents[v])] += labels[v];
    }
  }
};

void check_tree(const ClusterTree& tree, std::uint32_t count) {
  REQUIRE(!tree.parents.empty() && tree.parents[0] == -1);
  for (std::size_t v = 1; v < tree.parents.size(); ++v) {
    REQUIRE(tree.parents[v] >= 0 && tree.parents[v] < static_cast<std::int64_t>(v));
    CHECK(v == 1 || tree.parents[v - 1] <= tree.parents[v]);  // level by level
  }
  std::vector<LabelId> labels = tree.labels;
  std::ranges::sort(labels);
  REQUIRE(labels.size() == count);
  for (LabelId label = 0; label < count; ++label) CHECK_EQ(labels[label], label);
}

TEST("clustering: every label has a leaf, and nodes have the requested arity") {
  for (const std::uint32_t count : {1U, 2U, 3U, 7U, 64U, 200U}) {
    const SparseRows vectors = random_vectors(count, 30, 0.2);
    for (const std::uint32_t arity : {2U, 3U, 5U, 16U}) {
      for (const std::uint32_t size : {1U, 4U, 30U}) {
        const ClusterTree tree = cluster_labels(vectors.view(), 30, {}, {arity, size}, 1);
        check_tree(tree, count);
        const Shape shape(tree);
        for (std::size_t v = 0; v < tree.parents.size(); ++v) {
          const bool whole = shape.labels[v] <= std::max(arity, size);
          if (shape.children[v] > 0) CHECK_EQ(shape.children[v], whole ? shape.labels[v] : arity);
        }
      }
    }
  }
}

TEST("clustering: the same for any number of threads, with and without weights") {
  const SparseRows vectors = random_vectors(5000, 40, 0.4);  // 80 000 values: enough for all threads at once
  std::vector<double> often(5000);
  for (std::size_t i = 0; i < often.size(); ++i) often[i] = 1.0 / static_cast<double>(i + 1);
  for (const double lambda : {0.0, 0.7, 1.3, 2.0}) {
    const Interpolation interpolation{often, often, lambda, 0.1, true};
    const ClusterTree one = cluster_labels(vectors.view(), 40, interpolation, {2, 10}, 1);
    const ClusterTree four = cluster_labels(vectors.view(), 40, interpolation, {2, 10}, 4);
    check_tree(one, 5000);
    CHECK(one.parents == four.parents);
    CHECK(one.labels == four.labels);
  }
}

TEST("clustering: one heavy label leaves its share of a wide node's parts to the others") {
  const SparseRows vectors = random_vectors(60, 10, 0.4);
  std::vector<double> often(60, 1.0);
  often[17] = 1000.0;
  const ClusterTree tree = cluster_labels(vectors.view(), 10, {often, often, 1.0, 0.0, true}, {8, 1}, 1);
  check_tree(tree, 60);
  const Shape shape(tree);
  CHECK_EQ(shape.children[0], 8U);
  const auto leaf = static_cast<std::size_t>(std::ranges::find(shape.children, 0U) - shape.children.begin());
  CHECK_EQ(tree.parents[leaf], 0);
  CHECK_EQ(tree.labels[0], 17U);
}

TEST("clustering: without labels there is only a root") {
  const std::vector<std::int64_t> indptr{0};
  const ClusterTree tree = cluster_labels(RowView(indptr, {}, {}), 3, {}, {}, 2);
  CHECK(tree.parents == std::vector<std::int64_t>{-1});
  CHECK(tree.labels.empty());
}

}  // namespace
}  // namespace labelgrove::testing
