#include <cmath>
#include <vector>

#include "harness.hpp"
#include "labelgrove/row_scale.hpp"
#include "sparse_rows.hpp"

namespace labelgrove::testing {
namespace {

double scale_of(const std::vector<float>& lengths, const std::vector<float>& weights = {}) {
  SparseRows rows;
  for (const float length : lengths) add(rows, {{1, 4}, {0.6F * length, -0.8F * length}});
  return row_scale(rows.view(), weights);
}

TEST("row scale: the power of two nearest to the rows' length, which is 1 for rows about 1 long") {
  for (const float length : {0.71F, 0.9F, 1.0F, 1.4F}) {
    CHECK_EQ(scale_of({length}), 1.0);
    CHECK_EQ(scale_of({64.0F * length}), 1.0 / 64.0);
    CHECK_EQ(scale_of({length / 1024.0F}), 1024.0);
  }
  CHECK_EQ(scale_of({0.7F}), 2.0);
  CHECK_EQ(scale_of({1.42F}), 0.5);
  CHECK_EQ(scale_of({1e9F}), 0x1p-30);
}

TEST("row scale: the median decides, not a few enormous rows or the many empty ones") {
  CHECK_EQ(scale_of({1.0F, 8.0F, 8.0F, 1e9F, 8.0F, 1.0F}), 1.0 / 8.0);
  CHECK_EQ(scale_of({0.0F, 0.0F, 0.0F, 8.0F}), 1.0 / 8.0);
  CHECK_EQ(scale_of({0.0F}), 1.0);
  CHECK_EQ(scale_of({}), 1.0);
}

TEST("row scale: a row counts as often as its weight says") {
  CHECK_EQ(scale_of({1.0F, 1.0F, 8.0F}, {1.0F, 1.0F, 3.0F}), scale_of({1.0F, 1.0F, 8.0F, 8.0F, 8.0F}));
  CHECK_EQ(scale_of({1.0F, 8.0F, 8.0F}, {1.0F, 0.0F, 0.0F}), 1.0);
  CHECK_EQ(scale_of({8.0F}, {0.0F}), 1.0);
}

TEST("row scale: bounded for rows so short that weights would outgrow a model file") {
  CHECK_EQ(scale_of({1e-30F}), 0x1p30);
  CHECK_EQ(scale_of({1e-45F}), 0x1p30);
}

TEST("row scale: dense rows are as long as sparse ones") {
  const std::vector<FeatureId> ids{0, 1, 2};
  const std::vector<float> values{0.0F, 3.0F, -4.0F, 0.0F, 0.0F, 0.0F};
  CHECK_EQ(row_scale(RowView({}, ids, values)), 0.25);
}

}  // namespace
}  // namespace labelgrove::testing
