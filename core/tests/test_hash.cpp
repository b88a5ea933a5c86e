#include <array>
#include <bit>
#include <set>

#include "harness.hpp"
#include "labelgrove/hash.hpp"

namespace labelgrove::testing {
namespace {

// The first outputs of SplitMix64 for the seeds 0 and 1234567, as published with it.
static_assert(mix(0) == 0xe220a8397b1dcdafULL);
static_assert(mix(1234567) == 6457827717110365317ULL);
static_assert(mix(1234567 + 0x9e3779b97f4a7c15ULL) == 3203168211198807973ULL);

TEST("hash: depends on seed, stream, counter and sub") {
  std::set<std::uint64_t> seen;
  std::size_t draws = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    for (const Draw stream : {Draw::policy, Draw::replay, Draw::reservoir, Draw::shuffle}) {
      for (std::uint64_t counter = 0; counter < 32; ++counter) {
        for (std::uint64_t sub = 0; sub < 4; ++sub, ++draws) seen.insert(draw(seed, stream, counter, sub));
      }
    }
  }
  CHECK_EQ(seen.size(), draws);
}

// Chi-square of draws modulo a number that is not a power of two, over consecutive counters.
TEST("hash: draws modulo n are uniform") {
  constexpr std::size_t kCells = 97;
  constexpr std::size_t kDraws = 97 * 1000;
  for (const Draw stream : {Draw::policy, Draw::replay, Draw::reservoir, Draw::shuffle}) {
    std::array<double, kCells> count{};
    for (std::uint64_t i = 0; i < kDraws; ++i) count[draw(3, stream, i) % kCells] += 1.0;
    double chi_square = 0.0;
    for (const double c : count) chi_square += (c - 1000.0) * (c - 1000.0) / 1000.0;
    CHECK(chi_square > 48.0 && chi_square < 158.0);  // 96 degrees of freedom: almost six sigma on either side
  }
}

TEST("hash: one bit of the counter flips half of the bits of the draw") {
  double turned = 0.0;
  constexpr int kTrials = 2000;
  for (int i = 0; i < kTrials; ++i) {
    const auto counter = static_cast<std::uint64_t>(i);
    turned += std::popcount(draw(1, Draw::policy, counter) ^ draw(1, Draw::policy, counter ^ (1ULL << (i % 64))));
  }
  CHECK_NEAR(turned / kTrials, 32.0, 0.6);
}

}  // namespace
}  // namespace labelgrove::testing
