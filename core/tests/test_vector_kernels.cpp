#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "harness.hpp"
#include "labelgrove/compaction.hpp"
#include "labelgrove/vector_kernels.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

// To the last bit: eight lanes, with even and odd groups of eight summed separately.
float plain_dot(const std::vector<float>& a, const std::vector<float>& b) {
  std::array<std::array<float, kVectorLanes>, 2> sums{};
  for (std::size_t i = 0; i < a.size(); ++i) {
    sums[i / kVectorLanes % 2][i % kVectorLanes] += a[i] * b[i];
  }
  auto& s = sums[0];
  for (std::size_t k = 0; k < kVectorLanes; ++k) s[k] += sums[1][k];
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

TEST("vector kernels: the same as plain loops, to the last bit, at every width") {
  Random random(1);
  for (std::size_t n = kVectorLanes; n <= 30 * kVectorLanes; n += kVectorLanes) {
    const std::vector<float> x = random_floats(random, n);
    const std::vector<float> before = random_floats(random, n);
    std::vector<float> w = before;
    std::vector<float> y = random_floats(random, n);
    CHECK_EQ(vector_kernels().dot(x.data(), w.data(), n), plain_dot(x, w));
    std::vector<float> expected = y;
    for (std::size_t i = 0; i < n; ++i) expected[i] += 0.3F * before[i];
    vector_kernels().add_then_move(0.3F, y.data(), -0.7F, x.data(), w.data(), n);
    CHECK(y == expected);
    std::vector<float> moved = before;
    vector_kernels().move(-0.7F, x.data(), moved.data(), n);
    CHECK(moved == w);
    for (std::size_t i = 0; i < n; ++i) expected[i] = before[i] + -0.7F * x[i];
    CHECK(moved == expected);
    std::vector<float> sum = before;
    vector_kernels().add(-0.7F, x.data(), sum.data(), n);
    CHECK(sum == moved);

    const std::vector<float> table = random_floats(random, 5 * n);
    const std::vector<std::uint32_t> rows{3, 0, 4, 3, 1, 2, 0, 4, 1};
    const std::vector<float> shares = random_floats(random, rows.size());
    std::vector<float> mean(n);
    vector_kernels().combine(table.data(), rows.data(), shares.data(), rows.size(), mean.data(), n);
    std::vector<float> plain(n);
    for (std::size_t j = 0; j < rows.size(); ++j) {
      for (std::size_t i = 0; i < n; ++i) plain[i] += shares[j] * table[rows[j] * n + i];
    }
    CHECK(mean == plain);
  }
}

// Numbers of this type between -2 and 2: their bytes and their values.
template <typename Number, typename Make, typename Value>
void check_stored(WeightType type, Make&& make, Value&& value_of) {
  Random random(2);
  for (std::size_t n = kVectorLanes; n <= 20 * kVectorLanes; n += kVectorLanes) {
    std::vector<Number> numbers(4 * n);
    std::vector<float> values;
    for (Number& number : numbers) {
      number = make(random.between(-2.0F, 2.0F));
      values.push_back(value_of(number));
    }
    const auto* table = reinterpret_cast<const std::uint8_t*>(numbers.data());
    const VectorKernels::Stored& stored = vector_kernels().stored[static_cast<std::size_t>(type)];
    const std::vector<float> x = random_floats(random, n);
    CHECK_EQ(stored.dot(table, x.data(), n), plain_dot({values.begin(), values.begin() + static_cast<long>(n)}, x));
    const std::vector<std::uint32_t> rows{3, 0, 3, 1, 2, 0, 1, 2, 3, 1};
    const std::vector<float> shares = random_floats(random, rows.size());
    const std::vector<float> scale = random_floats(random, 4);
    for (const float* given : {static_cast<const float*>(nullptr), scale.data()}) {
      std::vector<float> mean(n);
      stored.combine(table, rows.data(), shares.data(), given, rows.size(), mean.data(), n);
      std::vector<float> plain(n);
      for (std::size_t j = 0; j < rows.size(); ++j) {
        const float share = given == nullptr ? shares[j] : shares[j] * scale[rows[j]];
        for (std::size_t i = 0; i < n; ++i) plain[i] += share * values[rows[j] * n + i];
      }
      CHECK(mean == plain);
    }
  }
}

TEST("vector kernels: decode every number type of compact models") {
  check_stored<float>(WeightType::float32, [](float x) { return x; }, [](float x) { return x; });
  check_stored<std::uint16_t>(WeightType::float16, to_half, [](std::uint16_t bits) {
    const float size = std::ldexp(static_cast<float>((bits & 0x3FF) | 0x400), ((bits & 0x7FFF) >> 10) - 25);
    return (bits & 0x8000) != 0 ? -size : size;  // none of these is subnormal
  });
  check_stored<std::int8_t>(
      WeightType::int8, [](float x) { return static_cast<std::int8_t>(60.0F * x); },
      [](std::int8_t x) { return static_cast<float>(x); });
}

TEST("vector kernels: no coordinate goes beyond the largest") {
  const std::vector<float> x(kVectorLanes, 1.0F);
  std::vector<float> w(kVectorLanes, -5.0F);
  vector_kernels().move(1e30F, x.data(), w.data(), w.size());
  CHECK(std::ranges::all_of(w, [](float value) { return value == kLargestCoordinate; }));
  std::vector<float> y(kVectorLanes);
  vector_kernels().add_then_move(0.0F, y.data(), -1e30F, x.data(), w.data(), w.size());
  CHECK(std::ranges::all_of(w, [](float value) { return value == -kLargestCoordinate; }));
}

}  // namespace
}  // namespace labelgrove::testing
