#include "labelgrove/row_scale.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace labelgrove {
namespace {

constexpr int kShortest = -30;

// The exponent of the power of two that is nearest to a positive length, given the length's square: it is k for lengths
// from 2^(k - 1/2) up to 2^(k + 1/2).
int exponent_of_length(double square) {
  int exponent = 0;
  std::frexp(square, &exponent);
  return exponent >> 1;
}

}  // namespace

double row_scale(const RowView& rows, std::span<const float> weights) {
  std::map<int, double> counts;  // by exponent of the length
  double total = 0.0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Features x = rows[i];
    const double square = squared_length(x.values, x.size);
    if (square == 0.0) continue;
    const double weight = weights.empty() ? 1.0 : static_cast<double>(weights[i]);
    counts[exponent_of_length(square)] += weight;
    total += weight;
  }
  if (total == 0.0) return 1.0;
  double below = 0.0;
  int median = 0;
  for (const auto& [exponent, count] : counts) {
    median = exponent;
    below += count;
    if (2.0 * below >= total) break;
  }
  return std::ldexp(1.0, -std::max(median, kShortest));
}

}  // namespace labelgrove
