#include "labelgrove/routers.hpp"

#include <algorithm>
#include <cmath>

namespace labelgrove {
namespace {

// The limits of a slope: a margin is never meaningless, and never conclusive.
constexpr double kLeastSlope = 0.5;
constexpr double kMostSlope = 30.0;

}  // namespace

void Side::learn(float margin, bool right) {
  const auto m = static_cast<double>(margin);
  const double p = probability(margin);
  curvature_ += p * (1.0 - p) * m * m;
  slope_ = std::clamp(slope_ + ((right ? 1.0 : 0.0) - p) * m / curvature_, kLeastSlope, kMostSlope);
}

bool Side::can_be(double slope, double curvature) {
  return slope >= kLeastSlope && slope <= kMostSlope && curvature >= Side().curvature_ && std::isfinite(curvature);
}

void add_up(std::vector<Share>& shares) {
  std::ranges::stable_sort(shares, {}, &Share::label);
  std::size_t kept = 0;
  for (const Share& one : shares) {
    if (kept > 0 && shares[kept - 1].label == one.label) shares[kept - 1].share += one.share;
    else shares[kept++] = one;
  }
  shares.resize(kept);
}

}  // namespace labelgrove
