#include <cmath>
#include <limits>
#include <random>

#include "harness.hpp"
#include "labelgrove/elementary.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Whether they differ by at most a few units in the last place.
bool close(double found, double expected) { return std::fabs(found - expected) <= 1e-15 * std::fabs(expected); }

TEST("elementary functions agree with the C library to a few units in the last place") {
  std::mt19937_64 bits(1);
  std::uniform_real_distribution<double> any(-1.0, 1.0);
  for (int i = 0; i < 100'000; ++i) {
    const double x = any(bits) * (i % 2 == 0 ? 700.0 : 1.0);
    CHECK(close(fixed_exp(x), std::exp(x)));
    const double positive = std::exp(x);
    CHECK(close(fixed_log(positive), std::log(positive)) || std::fabs(fixed_log(positive) - x) < 1e-15);
    CHECK(close(fixed_log1p(positive), std::log1p(positive)));
    const double share = std::fabs(any(bits));
    CHECK(std::fabs(fixed_pow(share, 0.3) - std::pow(share, 0.3)) < 1e-15);
  }
}

TEST("elementary functions are exact where a model counts on it") {
  CHECK_EQ(fixed_exp(0.0), 1.0);
  CHECK_EQ(fixed_log(1.0), 0.0);
  CHECK_EQ(fixed_log(2.0) / kLog2, 1.0);
  CHECK_EQ(fixed_pow(0.3, 0.0), 1.0);
  CHECK_EQ(fixed_pow(0.0, 0.0), 1.0);
  CHECK_EQ(fixed_pow(0.0, 0.5), 0.0);
}

TEST("elementary functions have the right limits") {
  CHECK_EQ(fixed_exp(-kInfinity), 0.0);
  CHECK_EQ(fixed_exp(kInfinity), kInfinity);
  CHECK_EQ(fixed_log(0.0), -kInfinity);
  CHECK_EQ(fixed_log(kInfinity), kInfinity);
  CHECK_EQ(fixed_log1p(1e-300), 1e-300);
  CHECK(close(fixed_log(5e-324), std::log(5e-324)));
  CHECK_EQ(log_odds(0.0), -kInfinity);
  CHECK_EQ(log_odds(1.0), kInfinity);
  for (const double x : {fixed_exp(kNan), fixed_log(kNan), fixed_log(-1.0), fixed_log1p(kNan), log_odds(kNan)}) {
    CHECK(std::isnan(x));
  }
}

}  // namespace
}  // namespace labelgrove::testing
