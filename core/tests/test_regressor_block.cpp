#include <cmath>
#include <stdexcept>

#include "harness.hpp"
#include "labelgrove/regressor_block.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

constexpr std::uint32_t kColumns = 3;
constexpr std::uint32_t kFeatures = 6;

LearnerOptions options_for(LearnerKind kind) {
  LearnerOptions options;
  options.kind = kind;
  options.loss = Loss::squared;
  options.rate = 0.3F;
  return options;
}

double margin(const std::vector<float>& weights, const Features& x, std::uint32_t c) {
  double sum = double{weights[c]};
  for (std::uint32_t j = 0; j < x.size; ++j)
    sum += double{x.values[j]} * double{weights[(x.ids[j] + 1) * kColumns + c]};
  return sum;
}

TEST("regressor block: steps move towards the targets, and SGD never overshoots") {
  for (const LearnerKind kind : {LearnerKind::sgd, LearnerKind::adagrad, LearnerKind::nag}) {
    Random random(1);
    Workspace work;
    RegressorBlock block(options_for(kind), kColumns, kFeatures, 5);
    std::vector<float> margins(kColumns);
    for (int i = 0; i < 100; ++i) {
      const Example x = random_example(random, kFeatures, 0.6);
      const std::vector<float> targets{random.between(-1.0F, 1.0F), 0.0F, 1.0F};
      const std::vector<float> before = block.weights();
      const float weight = random.between(0.5F, 50.0F);
      block.learn(x.view(), targets, weight, work, margins.data());
      const std::vector<float> after = block.weights();
      for (std::uint32_t c = 0; c < kColumns; ++c) {
        CHECK_NEAR(margins[c], margin(after, x.view(), c), 1e-4);
        if (kind != LearnerKind::sgd) continue;
        const double error = margin(before, x.view(), c) - double{targets[c]};
        const double left = double{margins[c]} - double{targets[c]};
        CHECK(std::abs(left) <= std::abs(error) + 1e-5);
        CHECK(left * error >= -1e-5);
      }
    }
  }
}

TEST("regressor block: initial weights are within the spread, and depend on the key") {
  LearnerOptions options = options_for(LearnerKind::sgd);
  options.spread = 0.25F;
  const std::vector<float> one = RegressorBlock(options, kColumns, kFeatures, 1).weights();
  CHECK_EQ(one.size(), std::size_t{(kFeatures + 1) * kColumns});
  CHECK(std::ranges::all_of(one, [](float w) { return std::abs(w) <= 0.25F; }));
  CHECK(same_bits(one, RegressorBlock(options, kColumns, kFeatures, 1).weights()));
  CHECK(!same_bits(one, RegressorBlock(options, kColumns, kFeatures, 2).weights()));
}

TEST("regressor block: AROW is refused") {
  CHECK_THROWS(std::invalid_argument, RegressorBlock(options_for(LearnerKind::arow), 2, 2, 0));
}

}  // namespace
}  // namespace labelgrove::testing
