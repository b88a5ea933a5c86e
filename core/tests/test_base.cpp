#include "harness.hpp"
#include "labelgrove/base.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

double length_after_scaling(const Example& example) {
  const double scale = unit_scale(example.view());
  double square = 0.0;
  for (const float value : example.values) {
    const auto s = static_cast<double>(scaled(value, scale));
    square += s * s;
  }
  return std::sqrt(square);
}

TEST("base: scaling makes the length one, whatever the magnitude") {
  Random random(1);
  for (const float magnitude : {1e-44F, 1e-30F, 1e-3F, 1.0F, 1e9F, 1e30F, 3e38F}) {
    for (int i = 0; i < 50; ++i) {
      Example example = random_example(random, 40, 0.5);
      example.ids.push_back(40);
      example.values.push_back(1.0F);
      for (float& value : example.values) value *= magnitude;
      CHECK_NEAR(length_after_scaling(example), 1.0, 1e-6);
    }
  }
}

TEST("base: a single smallest or largest float is scaled to 1") {
  const Example smallest{{3}, {1e-45F}};
  CHECK_NEAR(length_after_scaling(smallest), 1.0, 1e-6);
  const Example largest{{3}, {-3.4028235e38F}};
  CHECK_EQ(scaled(largest.values[0], unit_scale(largest.view())), -1.0F);
}

TEST("base: a zero vector is not scaled") {
  CHECK_EQ(unit_scale(Features{}), 1.0);
  const Example zeros{{1, 2}, {0.0F, -0.0F}};
  CHECK_EQ(unit_scale(zeros.view()), 1.0);
}

TEST("base: dense rows have all features up to the last") {
  CHECK(!is_dense(Features{}));
  CHECK(is_dense(Example{{0}, {1}}.view()));
  CHECK(is_dense(Example{{0, 1, 2}, {1, 0, 1}}.view()));
  CHECK(!is_dense(Example{{1}, {1}}.view()));
  CHECK(!is_dense(Example{{0, 2}, {1, 1}}.view()));
}

}  // namespace
}  // namespace labelgrove::testing
