#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "harness.hpp"
#include "labelgrove/interpolation.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

constexpr std::array<LabelId, 4> kAll{0, 1, 2, 3};
constexpr std::array<double, 4> kOften{6.0, 3.0, 1.0, 0.0};
constexpr std::array<double, 4> kFano{8.0, 0.0, 2.0, 0.0};

SplitWeights weights_at(double lambda, double smoothing = 0.0, bool weighted = true,
                        std::span<const LabelId> group = kAll) {
  return split_weights({kOften, kFano, lambda, smoothing, weighted}, group);
}

std::vector<std::uint8_t> sides(const std::vector<double>& keys, const std::vector<double>& weights, double share) {
  std::vector<std::uint8_t> front(keys.size());
  std::vector<std::uint32_t> order;
  assign_sides(keys, weights, share, order, front);
  return front;
}

using Sides = std::vector<std::uint8_t>;

TEST("interpolation: without frequencies all labels weigh 1 and nothing is added") {
  const SplitWeights weights = split_weights({}, kAll);
  CHECK(weights.weight == std::vector<double>(4, 1.0));
  CHECK(weights.bonus == std::vector<double>(4, 0.0));
  CHECK_EQ(weights.similarity, 1.0);
}

TEST("interpolation: lambda 0 is the same to the last bit, smoothed or not") {
  for (const double smoothing : {0.0, 0.1, 3.0}) {
    for (const bool weighted : {false, true}) {
      const SplitWeights weights = weights_at(0.0, smoothing, weighted);
      CHECK(weights.weight == std::vector<double>(4, 1.0));
      CHECK(weights.bonus == std::vector<double>(4, 0.0));
      CHECK_EQ(weights.similarity, 1.0);
    }
  }
}

TEST("interpolation: lambda 1 weighs by frequency, lambda 2 by the frequencies for Fano") {
  const SplitWeights one = weights_at(1.0);
  CHECK_NEAR(one.weight[1], 0.5, 1e-15);
  CHECK_EQ(one.weight[3], 0.0);
  CHECK_EQ(one.bonus[0], 0.0);
  CHECK_EQ(one.similarity, 0.5);
  for (const bool weighted : {false, true}) {
    const SplitWeights two = weights_at(2.0, 0.0, weighted);
    CHECK_NEAR(two.weight[2], 0.25, 1e-15);
    CHECK_NEAR(two.bonus[0], weighted ? 0.8 : 1.6, 1e-15);
    CHECK_EQ(two.similarity, 0.0);
  }
}

TEST("interpolation: only frequencies of the group count; if all are zero, others replace them") {
  const std::array<LabelId, 2> middle{1, 3};
  CHECK_EQ(weights_at(2.0, 0.0, true, middle).bonus[0], 1.0);  // no Fano frequencies: uses the plain ones
  const std::array<double, 4> none{};
  const SplitWeights weights = split_weights({none, none, 1.5, 0.0, true}, kAll);
  CHECK(weights.weight == std::vector<double>(4, 1.0));
}

TEST("sides: fills the share by descending keys; the label that crosses the limit goes to the front") {
  CHECK(sides({0.4, 0.1, 0.2, 0.3}, {1, 1, 1, 1}, 0.5) == Sides{1, 0, 0, 1});
  CHECK(sides({0.4, 0.3, 0.2, 0.1}, {3, 4, 2, 1}, 0.5) == Sides{1, 1, 0, 0});
  CHECK(sides({0.4, 0.3, 0.2, 0.1}, {9, 1, 1, 1}, 0.5) == Sides{1, 0, 0, 0});
  CHECK(sides({0.1, 0.2, 0.3, 0.4}, {1, 1, 1, 9}, 0.5) == Sides{0, 0, 0, 1});
}

TEST("sides: the sign of the key decides about a label in the middle") {
  CHECK(sides({0.5, 0.1, -0.5}, {1, 1, 1}, 0.5) == Sides{1, 1, 0});
  CHECK(sides({0.5, -0.1, -0.5}, {1, 1, 1}, 0.5) == Sides{1, 0, 0});
  CHECK(sides({0.5, 0.0, -0.5}, {1, 1, 1}, 0.5) == Sides{1, 0, 0});
}

TEST("sides: none is empty, whatever the keys and weights") {
  CHECK(sides({0.3, 0.2}, {1, 1}, 0.5) == Sides{1, 0});
  CHECK(sides({-0.1, -0.2}, {1, 0}, 0.5) == Sides{1, 0});
  CHECK(sides({0.3, 0.2, 0.1}, {0, 0, 7}, 0.5) == Sides{1, 1, 0});
  CHECK(sides({0.3, 0.3, 0.3}, {0, 0, 0}, 0.5) == Sides{1, 0, 0});
}

TEST("sides: among equal keys the earlier label goes first") {
  CHECK(sides({0, 0, 0, 0}, {1, 1, 1, 1}, 0.5) == Sides{1, 1, 0, 0});
  CHECK(sides({0, 0, 0, 0}, {1, 1, 1, 1}, 0.25) == Sides{1, 0, 0, 0});
}

TEST("sides: the front has its share, and less than one label more") {
  Random random(5);
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t n = 2 + random.below(20);
    std::vector<double> keys(n);
    std::vector<double> weights(n);
    for (std::size_t i = 0; i < n; ++i) {
      keys[i] = random.uniform() - 0.5;
      weights[i] = random.uniform();
    }
    const double share = 0.1 + 0.8 * random.uniform();
    const Sides front = sides(keys, weights, share);
    double taken = 0.0;
    double least = 2.0;
    double last = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      if (front[i] == 0) continue;
      taken += weights[i];
      if (keys[i] < least) {
        least = keys[i];
        last = weights[i];
      }
    }
    for (std::size_t i = 0; i < n; ++i) CHECK((front[i] != 0) == (keys[i] >= least));
    const double wanted = share * std::accumulate(weights.begin(), weights.end(), 0.0);
    CHECK(taken - last < wanted + 1e-9);
    const bool all_but_one = std::accumulate(front.begin(), front.end(), std::size_t{0}) == n - 1;
    CHECK(all_but_one || taken >= wanted - 1e-9);
  }
}

}  // namespace
}  // namespace labelgrove::testing
