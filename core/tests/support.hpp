// Shared by several test files: random numbers that are the same on every platform, and examples made from them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "harness.hpp"
#include "labelgrove/base.hpp"
#include "labelgrove/hash.hpp"
#include "labelgrove/learner.hpp"
#include "labelgrove/scored.hpp"

namespace labelgrove::testing {

inline constexpr LearnerKind kEveryLearner[] = {LearnerKind::adagrad, LearnerKind::sgd, LearnerKind::arow};

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(mix(seed)) {}

  std::uint64_t bits() { return mix(state_++); }
  std::uint32_t below(std::uint64_t n) { return static_cast<std::uint32_t>(bits() % n); }
  bool chance(double p) { return uniform() < p; }
  // In [0, 1).
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }
  float between(float low, float high) { return low + static_cast<float>(uniform()) * (high - low); }

  template <typename T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::uint64_t state_;
};

// i * kColliding, for small i, are features that the core's hash tables send to the same slot.
inline constexpr std::uint32_t kColliding = [] {
  std::uint32_t inverse = scattered(1);  // modulo 2^32, by Newton's iteration
  for (int i = 0; i < 5; ++i) inverse *= 2 - scattered(1) * inverse;
  return inverse;
}();
static_assert(scattered(kColliding) == 1);

// An example that owns its features.
struct Example {
  std::vector<FeatureId> ids;
  std::vector<float> values;

  Features view() const { return {ids.data(), values.data(), static_cast<std::uint32_t>(ids.size())}; }
};

// Each of `features` features occurs with probability `density`.
inline Example random_example(Random& random, std::uint32_t features, double density) {
  Example example;
  for (FeatureId id = 0; id < features; ++id) {
    if (!random.chance(density)) continue;
    example.ids.push_back(id);
    example.values.push_back(random.between(-1.0F, 1.0F));
  }
  return example;
}

inline std::vector<float> random_floats(Random& random, std::size_t n, float least = -1.0F, float most = 1.0F) {
  std::vector<float> numbers(n);
  for (float& number : numbers) number = random.between(least, most);
  return numbers;
}
// A step for every column; half of them are 0.
inline std::vector<float> random_steps(Random& random, std::size_t columns) {
  std::vector<float> steps = random_floats(random, columns);
  for (float& step : steps) step = random.chance(0.5) ? 0.0F : step;
  return steps;
}

// Some of the numbers below `n`, increasing.
inline std::vector<std::uint32_t> random_subset(Random& random, std::uint32_t n, double density) {
  std::vector<std::uint32_t> chosen;
  for (std::uint32_t i = 0; i < n; ++i) {
    if (random.chance(density)) chosen.push_back(i);
  }
  return chosen;
}

inline bool same_bits(float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return std::ranges::equal(a, b, [](float x, float y) { return same_bits(x, y); });
}

inline void check_same(std::span<const Scored> found, std::span<const Scored> expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK_EQ(found[i].label, expected[i].label);
    CHECK(same_bits(found[i].probability, expected[i].probability));
  }
}

}  // namespace labelgrove::testing
