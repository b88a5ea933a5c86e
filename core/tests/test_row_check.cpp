#include <cmath>
#include <limits>
#include <vector>

#include "harness.hpp"
#include "labelgrove/row_check.hpp"
#include "sparse_rows.hpp"

namespace labelgrove::testing {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

RowCheck checked(const SparseRows& rows, std::uint64_t columns) {
  return check_rows(rows.indptr, rows.ids, rows.values, columns);
}

SparseRows three_rows() {
  SparseRows rows;
  add(rows, {{0, 3, 9}, {1, 2, 3}});
  add(rows, {});
  add(rows, {{2, 3}, {4, 5}});
  return rows;
}

void check_fault(const RowCheck& found, RowFault fault, std::size_t row, std::size_t position) {
  CHECK_EQ(static_cast<int>(found.fault), static_cast<int>(fault));
  CHECK_EQ(found.row, row);
  CHECK_EQ(found.position, position);
}

TEST("row check: nothing wrong") {
  check_fault(checked(three_rows(), 10), RowFault::none, 0, 0);
  check_fault(checked({}, 0), RowFault::none, 0, 0);
  SparseRows empty_rows;
  add(empty_rows, {});
  add(empty_rows, {});
  check_fault(checked(empty_rows, 0), RowFault::none, 0, 0);
}

TEST("row check: row pointers") {
  SparseRows rows = three_rows();
  rows.indptr.clear();
  check_fault(checked(rows, 10), RowFault::indptr, 0, 0);

  rows = three_rows();
  rows.indptr[0] = 1;
  check_fault(checked(rows, 10), RowFault::indptr, 0, 0);
  rows.indptr[0] = -1;
  check_fault(checked(rows, 10), RowFault::indptr, 0, 0);

  for (const std::int64_t wrong :
       {std::int64_t{-1}, std::int64_t{2}, std::int64_t{6}, std::numeric_limits<std::int64_t>::min(),
        std::numeric_limits<std::int64_t>::max()}) {
    rows = three_rows();
    rows.indptr[2] = wrong;  // the end of row 1
    check_fault(checked(rows, 10), RowFault::indptr, 1, 0);
  }

  rows = three_rows();
  rows.indptr[3] = 4;  // leaves numbers that belong to no row
  check_fault(checked(rows, 10), RowFault::indptr, 3, 0);

  rows = three_rows();
  rows.values.pop_back();
  check_fault(checked(rows, 10), RowFault::indptr, 0, 0);
}

TEST("row check: ids out of range") {
  check_fault(checked(three_rows(), 9), RowFault::range, 0, 2);
  SparseRows rows = three_rows();
  rows.ids[4] = kNone;  // -1 before the conversion
  check_fault(checked(rows, std::uint64_t{1} << 31), RowFault::range, 2, 4);
  check_fault(checked(rows, std::uint64_t{1} << 32), RowFault::none, 0, 0);
}

TEST("row check: numbers that are not finite") {
  for (const float wrong : {kNan, kInfinity, -kInfinity}) {
    SparseRows rows = three_rows();
    rows.values[3] = wrong;
    check_fault(checked(rows, 10), RowFault::not_finite, 2, 3);
  }
}

TEST("row check: ids that do not increase are reported only if nothing else is wrong") {
  SparseRows rows = three_rows();
  rows.ids[1] = 0;
  check_fault(checked(rows, 10), RowFault::order, 0, 1);
  rows.ids[4] = 2;
  check_fault(checked(rows, 10), RowFault::order, 0, 1);
  rows.values[4] = kNan;
  check_fault(checked(rows, 10), RowFault::not_finite, 2, 4);
}

// One number of a random matrix is damaged. A direct implementation of the contract must find the same position.
TEST("row check: the first fault, wherever it is") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    SparseRows rows;
    const std::uint32_t columns = 1 + random.below(12);
    const std::uint32_t n = random.below(5);
    for (std::uint32_t i = 0; i < n; ++i) add(rows, random_example(random, columns, 0.6));
    if (rows.ids.empty()) continue;
    for (std::uint32_t damage = random.below(3); damage > 0; --damage) {
      const std::uint32_t at = random.below(rows.ids.size());
      if (random.chance(0.3)) rows.values[at] = kNan;
      else rows.ids[at] = random.below(columns + 2);
    }
    RowCheck expected;
    for (std::size_t row = rows.indptr.size() - 1; row-- > 0;) {
      const auto begin = static_cast<std::size_t>(rows.indptr[row]);
      for (auto i = static_cast<std::size_t>(rows.indptr[row + 1]); i-- > begin;) {
        const bool disorder = i > begin && rows.ids[i] <= rows.ids[i - 1];
        const bool grave_found = expected.fault == RowFault::range || expected.fault == RowFault::not_finite;
        if (rows.ids[i] >= columns) expected = {RowFault::range, row, i};
        else if (std::isnan(rows.values[i])) expected = {RowFault::not_finite, row, i};
        else if (disorder && !grave_found) expected = {RowFault::order, row, i};
      }
    }
    check_fault(checked(rows, columns), expected.fault, expected.row, expected.position);
  }
}

}  // namespace
}  // namespace labelgrove::testing
