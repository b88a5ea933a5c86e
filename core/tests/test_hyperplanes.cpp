#include <vector>

#include "harness.hpp"
#include "labelgrove/hyperplanes.hpp"
#include "labelgrove/regressor_block.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

TEST("hyperplanes: finds rows in the order of the example's features") {
  for (const std::uint32_t known : {0U, 1U, 2U, 7U, 64U, 100U}) {
    std::vector<FeatureId> features;
    std::vector<float> weights(2, -1.0F);
    for (FeatureId f = 0; f < known; ++f) {
      features.push_back(3 * f + 1);
      weights.insert(weights.end(), 2, static_cast<float>(3 * f + 1));
    }
    for (const bool borrow : {false, true}) {
      Hyperplanes first(2, features, weights, borrow);
      const Hyperplanes node(std::move(first));
      CHECK_EQ(node.bytes() > 0, !borrow);
      for (const FeatureId step : {1U, 2U, 5U, 90U}) {
        std::vector<FeatureId> ids;
        for (FeatureId id = step - 1; id < 320; id += step) ids.push_back(id);
        const std::vector<float> values(ids.size(), 1.0F);
        std::size_t taken = 0;
        node.for_each_row({ids.data(), values.data(), static_cast<std::uint32_t>(ids.size())},
                          [&](std::uint32_t j, const float* row) {
                            CHECK_EQ(j, taken++);
                            const bool is_known = ids[j] % 3 == 1 && ids[j] < 3 * known + 1;
                            CHECK_EQ(row != nullptr, is_known);
                            if (row != nullptr) CHECK_EQ(row[1], static_cast<float>(ids[j]));
                          });
        CHECK_EQ(taken, ids.size());
      }
    }
  }
}

TEST("hyperplanes: keep a block's weights of numbered features") {
  LearnerOptions options;
  options.kind = LearnerKind::adagrad;
  options.loss = Loss::squared;
  options.spread = 0.1F;
  RegressorBlock block(options, 3, 2, 7);
  const std::vector<FeatureId> ids{0, 1};
  const std::vector<float> values{1.0F, -2.0F};
  const std::vector<float> targets{0.0F, 1.0F, 0.5F};
  std::vector<float> margins(3);
  Workspace work;
  const Features x{ids.data(), values.data(), 2};
  block.learn(x, targets, 1.0F, work, margins.data());
  const std::vector<FeatureId> names{5, 900};
  const Hyperplanes node(3, names, block.weights(), false);
  std::vector<float> again(3);
  node.margins_by_place(x, work, again.data());
  CHECK(same_bits(again, margins));
  for (std::uint32_t m = 0; m < 3; ++m)
    CHECK_NEAR(node.bias()[m] + node.row(0)[m] - 2.0F * node.row(1)[m], margins[m], 1e-6);
}

}  // namespace
}  // namespace labelgrove::testing
