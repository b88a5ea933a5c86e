// AROW's variance S of a weight, which shrinks from 1, in 8 bits: its root, in 256ths from 1 to 256.
//
// Most features are rare, and their variances close to 1, where neighbours differ by 1/128; a hundredth is known to an
// eighth, and 2^-16 is the least. Rounding is stochastic, as that of weights: see bfloat16.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "labelgrove/bfloat16.hpp"

namespace labelgrove {

// Files hold it, where it is a number of 8 bits.
struct Variance {
  std::uint8_t root;  // less 1, so that 1 is 255
  friend bool operator==(Variance, Variance) = default;
};

inline float widened(Variance variance) {
  const float root = (static_cast<float>(variance.root) + 1.0F) * 0x1p-8F;
  return root * root;
}

// What is added to a root, in 256ths, before it is cut to whole ones, for noise below 2^16. Only 15 bits of it count: then
// 256 and they are a float.
inline float rounding_up(std::uint32_t noise) { return static_cast<float>(noise >> 1) * 0x1p-15F; }

// REQUIRES: variance <= 1.
inline Variance rounded_variance(float variance, std::uint32_t noise) {
  const auto root = static_cast<int>(std::sqrt(std::max(variance, 0.0F)) * 256.0F + rounding_up(noise));
  return {static_cast<std::uint8_t>(std::max(root, 1) - 1)};
}

// What stands behind weights of this type: AROW's variances, or AdaGrad's sums.
template <typename Weight>
using StateOf = std::conditional_t<std::is_same_v<Weight, BFloat16>, Variance, float>;

}  // namespace labelgrove
