#include <cstdint>
#include <stdexcept>
#include <vector>

#include "harness.hpp"
#include "labelgrove/row_view.hpp"

namespace labelgrove::testing {
namespace {

const std::vector<std::int64_t> kNoIndptr;
const std::vector<FeatureId> kIds{0, 1, 2};

TEST("row view: sparse rows have the features given by their pointers") {
  const std::vector<std::int64_t> indptr{0, 2, 2, 3};
  const std::vector<float> values{1.0F, 2.0F, 3.0F};
  const RowView rows(indptr, kIds, values);
  CHECK(!rows.dense());
  CHECK_EQ(rows.size(), 3U);
  CHECK_EQ(rows[0].size, 2U);
  CHECK_EQ(rows[1].size, 0U);
  CHECK_EQ(rows[2].ids[0], 2U);
  CHECK_EQ(rows[2].values[0], 3.0F);
}

TEST("row view: dense rows have all features") {
  const std::vector<float> values{1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F};
  const RowView rows(kNoIndptr, kIds, values);
  CHECK(rows.dense());
  CHECK_EQ(rows.size(), 2U);
  CHECK_EQ(rows[1].size, 3U);
  CHECK_EQ(rows[1].values[2], 6.0F);
}

TEST("row view: arrays that do not fit together are refused") {
  const std::vector<float> values{1.0F, 2.0F};
  CHECK_THROWS(std::invalid_argument, RowView(kNoIndptr, kIds, values));
  CHECK_THROWS(std::invalid_argument, RowView(kNoIndptr, {}, values));
  CHECK_THROWS(std::invalid_argument, RowView(std::vector<std::int64_t>{0, 3}, kIds, values));
  CHECK_THROWS(std::invalid_argument, RowView(std::vector<std::int64_t>{0, 2}, kIds, std::vector<float>{1, 2, 3}));
  CHECK_THROWS(std::invalid_argument, RowView(std::vector<std::int64_t>{1, 3}, kIds, std::vector<float>{1, 2, 3}));
}

}  // namespace
}  // namespace labelgrove::testing
