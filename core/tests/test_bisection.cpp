#include <cstdint>
#include <numeric>
#include <vector>

#include "harness.hpp"
#include "labelgrove/bisection.hpp"
#include "sparse_rows.hpp"

namespace labelgrove::testing {
namespace {

std::vector<LabelId> all_of(const SparseRows& vectors) {
  std::vector<LabelId> labels(vectors.view().size());
  std::iota(labels.begin(), labels.end(), 0U);
  return labels;
}

std::vector<double> scales_of(const SparseRows& vectors) {
  std::vector<double> scales;
  for (const LabelId label : all_of(vectors)) scales.push_back(unit_scale(vectors.view()[label]));
  return scales;
}

TEST("bisection: separates two bundles of vectors, from any two centres") {
  SparseRows vectors;
  for (int i = 0; i < 10; ++i) {
    const float slant = 0.01F * static_cast<float>(i);
    add(vectors, {{i % 2 == 0 ? 0U : 1U, 2U}, {1.0F, slant}});
  }
  const std::vector<LabelId> group = all_of(vectors);
  const std::vector<double> scales = scales_of(vectors);
  const RowView view = vectors.view();
  Bisection bisection(view, scales, 3, 1e-4, 100);
  for (std::size_t a = 0; a < 10; ++a) {
    for (std::size_t b = 0; b < 10; ++b) {
      if (a % 2 == b % 2) continue;
      const auto front = bisection.split(group, split_weights({}, group), 0.5, {a, b}, nullptr);
      for (std::size_t i = 0; i < 10; ++i) CHECK_EQ(front[i] != 0, i % 2 == a % 2);
    }
  }
}

TEST("bisection: a crew finds what one thread finds") {
  const SparseRows vectors = random_vectors(2000, 50, 0.1);
  const std::vector<LabelId> group = all_of(vectors);
  const std::vector<double> scales = scales_of(vectors);
  const RowView view = vectors.view();
  Bisection alone(view, scales, 50, 1e-4, 100);
  Bisection helped(view, scales, 50, 1e-4, 100);
  Crew crew(3);
  for (const double share : {0.5, 0.625}) {
    const SplitWeights weights = split_weights({}, group);
    const auto a = alone.split(group, weights, share, {1, 7}, nullptr);
    const auto b = helped.split(group, weights, share, {1, 7}, &crew);
    CHECK(std::ranges::equal(a, b));
    CHECK_EQ(std::accumulate(a.begin(), a.end(), 0), static_cast<int>(share * 2000));
  }
}

TEST("bisection: a group with few features is cut as if no others existed") {
  const SparseRows narrow = random_vectors(40, 5, 0.5);
  SparseRows wide = narrow;
  for (FeatureId& id : wide.ids) id = 1000 * (id + 1);
  const std::vector<LabelId> group = all_of(narrow);
  const std::vector<double> scales = scales_of(narrow);
  const RowView few = narrow.view();
  const RowView many = wide.view();
  Bisection a(few, scales, 5, 1e-4, 100);
  Bisection b(many, scales, 6000, 1e-4, 100);
  for (std::size_t centre = 1; centre < 40; ++centre) {
    const SplitWeights weights = split_weights({}, group);
    CHECK(std::ranges::equal(a.split(group, weights, 0.5, {0, centre}, nullptr),
                             b.split(group, weights, 0.5, {0, centre}, nullptr)));
  }
}

TEST("bisection: Fano only uses frequencies") {
  const SparseRows vectors = random_vectors(4, 5, 0.5);
  const std::vector<LabelId> group = all_of(vectors);
  const std::vector<double> scales = scales_of(vectors);
  const RowView view = vectors.view();
  const std::vector<double> often{1, 6, 2, 2};
  Bisection bisection(view, scales, 5, 1e-4, 100);
  const auto front = bisection.split(group, split_weights({often, often, 2.0, 0.0, true}, group), 0.5, {0, 1}, nullptr);
  CHECK(std::ranges::equal(front, std::vector<std::uint8_t>{0, 1, 0, 0}));
}

}  // namespace
}  // namespace labelgrove::testing
