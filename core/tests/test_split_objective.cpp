#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "harness.hpp"
#include "labelgrove/split_objective.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

// Eq. 1 computed directly from the sums.
double plain_objective(const std::vector<std::vector<double>>& sent, const std::vector<double>& counts,
                       ObjectiveWeights weights) {
  const std::size_t arity = sent[0].size();
  double total = 0.0;
  std::vector<double> all(arity);
  for (std::size_t i = 0; i < sent.size(); ++i) {
    total += counts[i];
    for (std::size_t j = 0; j < arity; ++j) all[j] += sent[i][j];
  }
  double value = 0.0;
  double sum = 0.0;
  for (std::size_t j = 0; j < arity; ++j) {
    sum += all[j];
    for (std::size_t l = j + 1; l < arity; ++l) {
      value += std::fabs(all[j] - all[l]);
      for (const auto& label : sent) value -= weights.lambda1 * std::fabs(label[j] - label[l]);
    }
  }
  return (value + weights.lambda2 * std::fabs(sum - total)) / total;
}

TEST("split objective: the directions chosen are those of an exhaustive search") {
  for (std::uint32_t arity = 2; arity <= kMostDirections; ++arity) {
    Random random(arity);
    const ObjectiveWeights weights{random.uniform() * 3.0, random.uniform() * 3.0};
    SplitObjective objective(arity, weights);
    objective.start(6);
    std::vector<std::vector<double>> sent(6, std::vector<double>(arity));
    std::vector<double> counts(6);
    for (int step = 0; step < 60; ++step) {
      const std::vector<std::uint32_t> labels = random_subset(random, 6, 0.4);
      if (labels.empty()) continue;
      const double weight = random.chance(0.5) ? 1.0 : 0.25;
      for (const std::uint32_t label : labels) counts[label] += weight;
      const auto value_of = [&](std::uint32_t set) {
        auto moved = sent;
        for (const std::uint32_t label : labels)
          for (std::uint32_t j = 0; j < arity; ++j) moved[label][j] += (set >> j & 1U) != 0 ? weight : 0.0;
        return plain_objective(moved, counts, weights);
      };
      double least = std::numeric_limits<double>::infinity();
      for (std::uint32_t set = 1; set < 1U << arity; ++set) least = std::min(least, value_of(set));
      const std::uint32_t chosen = objective.choose(labels, weight);
      REQUIRE(chosen > 0 && chosen < 1U << arity);
      CHECK_NEAR(value_of(chosen), least, 1e-8);
      for (std::uint32_t set = 1; set < 1U << arity; ++set) {
        if (std::popcount(set) < std::popcount(chosen)) CHECK(value_of(set) > least + 1e-10);
      }
      std::vector<float> margins(arity);
      for (float& margin : margins) margin = random.between(-0.5F, 1.5F);
      objective.record(labels, weight, margins);
      for (const std::uint32_t label : labels)
        for (std::uint32_t j = 0; j < arity; ++j)
          sent[label][j] += weight * static_cast<double>(std::clamp(margins[j], 0.0F, 1.0F));
      CHECK_NEAR(objective.value(), plain_objective(sent, counts, weights), 1e-9);
    }
  }
}

TEST("split objective: a balanced and pure split has the smallest value, and beta and alpha are 0") {
  SplitObjective objective(3, {1.5, 2.0});
  objective.start(3);
  for (std::uint32_t label = 0; label < 3; ++label) {
    std::vector<double> sent(3);
    sent[label] = 4.0;
    objective.add(label, 4.0, sent);
  }
  CHECK_NEAR(objective.value(), -1.5 * 2.0, 1e-12);
  CHECK_NEAR(objective.balance(), 0.0, 1e-12);
  CHECK_NEAR(objective.purity(), 0.0, 1e-12);
}

TEST("split objective: everything to one child is as uneven as can be, everything everywhere as impure") {
  SplitObjective one(2, {1.0, 1.0});
  one.start(1);
  one.add(0, 3.0, std::vector<double>{3.0, 0.0});
  CHECK_NEAR(one.balance(), 0.5, 1e-12);
  CHECK_NEAR(one.purity(), 0.0, 1e-12);
  SplitObjective all(2, {1.0, 1.0});
  all.start(1);
  all.add(0, 3.0, std::vector<double>{3.0, 3.0});
  CHECK_NEAR(all.balance(), 0.0, 1e-12);
  CHECK_NEAR(all.purity(), 1.0, 1e-12);
  CHECK_NEAR(all.value(), 1.0, 1e-12);
}

TEST("split objective: the initial value is 0") {
  SplitObjective objective(4, {});
  objective.start(2);
  CHECK_EQ(objective.value(), 0.0);
  CHECK_EQ(objective.balance(), 0.0);
  CHECK_EQ(objective.purity(), 0.0);
}

}  // namespace
}  // namespace labelgrove::testing
