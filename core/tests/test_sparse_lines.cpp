#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness.hpp"
#include "labelgrove/sparse_lines.hpp"

namespace labelgrove::testing {
namespace {

constexpr std::int64_t kAny = std::numeric_limits<std::int32_t>::max();
constexpr LineSyntax kRepository = {FirstField::labels, false, kAny, kAny};
constexpr LineSyntax kSvmlight = {FirstField::labels_or_feature, true, kAny, kAny};
constexpr LineSyntax kFeatures = {FirstField::feature, true, kAny, kAny};

void check_rows(std::string_view text, const LineSyntax& syntax, const SparseLines& expected) {
  const auto found = parse_sparse_lines(text, syntax);
  REQUIRE(found.has_value());
  CHECK_EQ(found->indptr, expected.indptr);
  CHECK_EQ(found->ids, expected.ids);
  CHECK_EQ(found->values, expected.values);
  CHECK_EQ(found->label_indptr, expected.label_indptr);
  CHECK_EQ(found->labels, expected.labels);
  CHECK(found->hard.empty());
}

TEST("sparse lines: labels and features, in any order") {
  check_rows("3,17,3 9 0:0.5\n  4:-1e1 \n5", kRepository,
             {{0, 2, 3, 3}, {0, 9, 4}, {0.5F, 1, -10}, {0, 2, 2, 3}, {3, 17, 5}, {}});
}

TEST("sparse lines: labels may be missing, or no part of the line") {
  check_rows("3 1:2\n4:1 9:2\n 4:1", kSvmlight, {{0, 1, 3, 4}, {1, 4, 9, 4}, {2, 1, 2, 1}, {0, 1, 1, 1}, {3}, {}});
  check_rows("\n4:1\n", kFeatures, {{0, 0, 1, 1}, {4}, {1}, {0, 0, 0, 0}, {}, {}});
  check_rows("", kRepository, {});
}

TEST("sparse lines: what cannot be rounded is left, with its place after sorting") {
  const std::string digits = "0.12345678901234567890";
  const auto found = parse_sparse_lines("7:1 5:" + digits + " 6:-" + digits, kSvmlight);
  REQUIRE(found.has_value());
  CHECK_EQ(found->ids, std::vector<std::int32_t>({5, 6, 7}));
  REQUIRE(found->hard.size() == 2);
  CHECK_EQ(found->hard[0].place, 0U);
  CHECK_EQ(found->hard[0].begin, 6U);
  CHECK_EQ(found->hard[0].end, 28U);
  CHECK_EQ(found->hard[1].place, 1U);
}

TEST("sparse lines: refused") {
  for (const char* line : {"1 2:3 2:4", "x 1:1", "1 1:nan", "1 1:100000000000000000e22", "1 1:", "1 :1", "1, 1:1",
                           "1 1:1:1", "1\t1:1", "1 99999999999:1", "1 2147483647:1", "1 1:1\n\n2 1:1"}) {
    CHECK(!parse_sparse_lines(line, kRepository).has_value());
  }
  CHECK(!parse_sparse_lines("1 5", kSvmlight).has_value());
}

}  // namespace
}  // namespace labelgrove::testing
