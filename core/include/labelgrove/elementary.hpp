// Exponentials and logarithms made of operations that IEEE 754 rounds identically on every machine. C libraries differ
// in the last bits, and so would the models.
#pragma once

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>

namespace labelgrove {

static_assert(FLT_EVAL_METHOD == 0, "sums are rounded to their own type after every step");

inline constexpr double kLog2 = 0.693147180559945309417;

// exp(x), to a few units in the last place; 0 below -708, infinity above 709.
inline double fixed_exp(double x) {
  constexpr double kLog2High = 0x1.62e42fee00000p-1;  // ends in so many zeros that k times it is exact
  constexpr double kLog2Low = 0x1.a39ef35793c76p-33;
  if (x < -708.0) return 0.0;
  if (x > 709.0) return std::numeric_limits<double>::infinity();
  if (x != x) return x;
  const double k = std::floor(x / kLog2 + 0.5);
  const double r = (x - k * kLog2High) - k * kLog2Low;
  double sum = 1.0;
  for (int i = 13; i >= 1; --i) sum = 1.0 + sum * r * (1.0 / i);
  return sum * std::bit_cast<double>(static_cast<std::uint64_t>(static_cast<std::int64_t>(k) + 1023) << 52);
}

// log(x), to a few units in the last place; -inf at 0, NaN below.
inline double fixed_log(double x) {
  if (!(x > 0.0) || x > std::numeric_limits<double>::max()) {
    if (x == 0.0) return -std::numeric_limits<double>::infinity();
    return x > 0.0 ? x : std::numeric_limits<double>::quiet_NaN();
  }
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < 0x1.6a09e667f3bcdp-1) {  // sqrt(1/2)
    mantissa *= 2.0;
    --exponent;
  }
  const double s = (mantissa - 1.0) / (mantissa + 1.0);
  const double square = s * s;
  double sum = 0.0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return exponent * kLog2 + 2.0 * s * sum;
}

// log(1 + x) for finite x >= 0, accurate for tiny x.
inline double fixed_log1p(double x) {
  const double above = 1.0 + x;
  return above == 1.0 ? x : fixed_log(above) * (x / (above - 1.0));
}

// x to the power of y. REQUIRES: x >= 0.
inline double fixed_pow(double x, double y) { return y == 0.0 ? 1.0 : fixed_exp(y * fixed_log(x)); }

// 1 / (1 + exp(-x)).
inline double logistic(double x) { return 1.0 / (1.0 + fixed_exp(-x)); }

// The log-odds of a probability; -inf at 0, +inf at 1, NaN beyond.
inline double log_odds(double probability) { return fixed_log(probability) - fixed_log(1.0 - probability); }

// log(1 + exp(-margin)), the logistic loss.
inline double log_loss(double margin) {
  return (margin < 0.0 ? -margin : 0.0) + fixed_log1p(fixed_exp(-std::fabs(margin)));
}

}  // namespace labelgrove
