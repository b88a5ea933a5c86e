#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "harness.hpp"
#include "labelgrove/batch_solver.hpp"
#include "labelgrove/link.hpp"
#include "stream.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

TEST("node problem: renumbers small and large features, and forgets the previous node") {
  const std::vector<FeatureId> far{3, 7, FeatureId{1} << 23};
  const std::vector<FeatureId> near{7, 9};
  const std::vector<float> values{3.0F, 4.0F, 12.0F};
  TrainingSet data;
  data.size = 2;
  data.example = [&](std::size_t i) {
    const auto& ids = i == 0 ? far : near;
    return LabelledExample{{ids.data(), values.data(), static_cast<std::uint32_t>(ids.size())}, {}};
  };
  NodeProblem problem;
  for (int again = 0; again < 2; ++again) {
    const std::vector<std::uint32_t> both{0, 1};
    problem.build(data, both, 2.0F);
    REQUIRE(problem.size() == 2);
    CHECK_EQ(problem.table_rows(), 5U);
    CHECK(std::ranges::equal(problem.features(), std::vector<FeatureId>{3, 7, FeatureId{1} << 23, 9}));
    CHECK(std::ranges::equal(std::span(problem[1].ids, problem[1].size), std::vector<FeatureId>{0, 2, 4}));
    CHECK_NEAR(problem[0].values[0], 2.0, 0.0);
    CHECK_NEAR(problem[0].values[1], 3.0 / 13.0, 1e-6);
    CHECK_NEAR(problem.square(0), 5.0, 1e-5);
    const std::vector<std::uint32_t> second{1};
    problem.build(data, second, 0.0F);
    CHECK_EQ(problem.table_rows(), 3U);
    CHECK_NEAR(problem.square(0), 1.0, 1e-5);
  }
}

TEST("links: probabilities of margins, and softmax of any size") {
  std::vector<float> margins{-1.0F, 0.0F, 1.0F, 5.0F};
  std::vector<float> found(4);
  apply_link(Link::squared_hinge, margins.data(), 4, found.data());
  CHECK_NEAR(found[0], std::exp(-4.0), 1e-6);
  CHECK_NEAR(found[1], std::exp(-1.0), 1e-6);
  CHECK_NEAR(found[2], 1.0, 0.0);
  CHECK_NEAR(found[3], 1.0, 0.0);
  margins = {-1.0F, 0.5F, 1.0F, -1e20F};
  apply_link(Link::cubic_hinge, margins.data(), 4, found.data());
  CHECK_NEAR(found[0], std::exp(-8.0), 1e-7);
  CHECK_NEAR(found[1], std::exp(-0.125), 1e-6);
  CHECK_NEAR(found[2], 1.0, 0.0);
  CHECK_NEAR(found[3], 0.0, 1e-30);
  margins = {1000.0F, 999.0F, -1000.0F};
  apply_link(Link::softmax, margins.data(), 3, found.data());
  CHECK_NEAR(found[0], 1.0 / (1.0 + std::exp(-1.0)), 1e-6);
  CHECK_NEAR(found[0] + found[1] + found[2], 1.0, 1e-6);
  float alone = -3.0F;
  softmax(&alone, 1);
  CHECK_NEAR(alone, 1.0, 0.0);
}

TEST("batch solver: its stopping rule holds, with every loss") {
  Random random(11);
  const Stream stream = random_stream(random, 60, 4);
  const TrainingSet data = training_set(stream);
  std::vector<std::uint32_t> examples(60);
  std::iota(examples.begin(), examples.end(), 0U);
  std::vector<std::uint64_t> ends(61);
  std::vector<std::uint32_t> positives(60);
  for (std::size_t i = 0; i < 60; ++i) {
    ends[i + 1] = i + 1;
    positives[i] = random.below(3);
  }
  const NodeExamples targets{examples, ends, positives.data(), nullptr};
  NodeProblem problem;
  problem.build(data, examples, 1.0F);
  const std::vector<std::uint32_t> children{0, 1, 2};
  const std::vector<std::pair<BatchLoss, float>> cases{{BatchLoss::squared_hinge, 0.0F},
                                                       {BatchLoss::squared_hinge, 0.3F},
                                                       {BatchLoss::log, 0.0F},
                                                       {BatchLoss::softmax, 0.0F}};
  for (const auto& [loss, held_out] : cases) {
    SolverOptions options;
    options.loss = loss;
    options.held_out = held_out;
    options.tolerance = 1e-3F;
    options.max_passes = kNone;  // so only the stopping rule ends it
    BatchSolver solver;
    solver.solve(options, problem, targets, children, {}, 0, Progress());
    // At the optimum, w is the sum of the examples' gradients.
    std::vector<double> pull(solver.weights().size());
    for (std::size_t i = 0; i < problem.size(); ++i) {
      const Features x = problem[i];
      std::vector<float> m(3);
      for (std::size_t c = 0; c < 3; ++c) {
        for (std::uint32_t j = 0; j < x.size; ++j)
          m[c] += x.values[j] * solver.weights()[x.ids[j] * solver.stride() + c];
      }
      std::vector<float> shares = m;
      softmax(shares.data(), 3);
      for (std::size_t c = 0; c < 3; ++c) {
        const double y = positives[i] == c ? 1.0 : -1.0;
        const double ym = y * static_cast<double>(m[c]);
        const double dual = loss == BatchLoss::squared_hinge ? y * 2.0 * std::max(0.0, 1.0 - ym)
                            : loss == BatchLoss::log         ? y / (1.0 + std::exp(ym))
                                                             : (y > 0.0 ? 1.0 : 0.0) - static_cast<double>(shares[c]);
        for (std::uint32_t j = 0; j < x.size; ++j) {
          pull[x.ids[j] * solver.stride() + c] += dual * static_cast<double>(x.values[j]);
        }
      }
    }
    for (std::uint32_t r = 0; r < problem.table_rows(); ++r) {
      for (std::uint32_t c = 0; c < 3; ++c) {
        const std::size_t at = r * solver.stride() + c;
        CHECK_NEAR(solver.weights()[at], pull[at], 0.05);
      }
    }
  }
}

TEST("batch solver: the margin that the bias alone reaches") {
  SolverOptions options;
  options.cost = 2.0F;
  CHECK_NEAR(constant_margin(options, 3.0), 12.0 / 13.0, 1e-9);
  options.bias = 0.0F;
  CHECK_NEAR(constant_margin(options, 0.0), 0.0, 0.0);
  options.loss = BatchLoss::log;
  const double m = constant_margin(options, 50.0);
  CHECK_NEAR(m * (1.0 + std::exp(m)), 100.0, 1e-6);
}

}  // namespace
}  // namespace labelgrove::testing
