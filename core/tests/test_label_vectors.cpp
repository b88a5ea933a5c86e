#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "harness.hpp"
#include "labelgrove/label_vectors.hpp"
#include "sparse_rows.hpp"

namespace labelgrove::testing {
namespace {

TEST("label vectors: the direction of the sum of a label's rows, each of unit length") {
  SparseRows rows;
  add(rows, {{1, 70}, {3.0F, 4.0F}});
  add(rows, {{0, 70}, {2.0F, -2.0F}});
  add(rows, {{5000}, {0.0F}});
  add(rows, {{0}, {1.0F}});
  add(rows, {{0}, {-5.0F}});
  const std::vector<std::int64_t> ends{0, 2, 2, 3, 5};  // rows 0 and 1; no rows; a zero row; two rows that cancel out
  const std::vector<std::uint32_t> examples{0, 1, 2, 3, 4};
  const SparseRows vectors = label_vectors(rows.view(), 5001, ends, examples, 1);
  CHECK(vectors.indptr == std::vector<std::int64_t>({0, 3, 3, 3, 3}));
  CHECK(vectors.ids == std::vector<FeatureId>({0, 1, 70}));
  const double half = std::sqrt(0.5);
  const double length = std::sqrt(0.5 + 0.36 + (0.8 - half) * (0.8 - half));
  const double expected[] = {half / length, 0.6 / length, (0.8 - half) / length};
  for (std::size_t j = 0; j < 3; ++j) CHECK(std::abs(static_cast<double>(vectors.values[j]) - expected[j]) < 1e-6);
}

TEST("label vectors: the same for any number of threads") {
  const SparseRows rows = random_vectors(5000, 300, 0.05);
  std::vector<std::int64_t> ends{0};
  std::vector<std::uint32_t> examples;
  for (std::uint32_t label = 0; label < 600; ++label) {
    for (std::uint32_t row = label; row < 5000; row += 1 + label) examples.push_back(row);
    ends.push_back(static_cast<std::int64_t>(examples.size()));
  }
  const SparseRows one = label_vectors(rows.view(), 300, ends, examples, 1);
  const SparseRows three = label_vectors(rows.view(), 300, ends, examples, 3);
  REQUIRE(one.indptr.size() == 601);
  CHECK(one.indptr == three.indptr && one.ids == three.ids && one.values == three.values);
}

TEST("label vectors: features and examples out of range are refused") {
  SparseRows rows;
  add(rows, {{7}, {1.0F}});
  const std::vector<std::int64_t> ends{0, 1};
  const std::vector<std::uint32_t> first{0};
  const std::vector<std::uint32_t> second{1};
  CHECK_THROWS(std::invalid_argument, label_vectors(rows.view(), 7, ends, first, 1));
  CHECK_THROWS(std::invalid_argument, label_vectors(rows.view(), 8, ends, second, 1));
  CHECK_EQ(label_vectors(rows.view(), 8, ends, first, 1).ids.size(), 1U);
}

}  // namespace
}  // namespace labelgrove::testing
