// AROW's variance S of a weight, which shrinks from 1, in 8 bits: its square root, in 256ths from 1 to 256.
//
// Most features are rare and have variances close to 1, where neighbouring values differ by 1/128. At 1/100 they differ
// by an eighth, and the smallest is 2^-16. Rounding is stochastic, as for weights: see bfloat16.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "labelgrove/bfloat16.hpp"

namespace labelgrove {

// Model files store it as an 8-bit number.
struct Variance {
  std::uint8_t root;  // minus 1, so that a variance of 1 is 255
  friend bool operator==(Variance, Variance) = default;
};

inline float widened(Variance variance) {
  const float root = (static_cast<float>(variance.root) + 1.0F) * 0x1p-8F;
  return root * root;
}

// The part of noise below 2^16 that is added to a root, in 256ths, before truncation. Only 15 bits of it are used:
// together with 256 they fit into a float.
inline float rounding_up(std::uint32_t noise) { return static_cast<float>(noise >> 1) * 0x1p-15F; }

// REQUIRES: variance <= 1.
inline Variance rounded_variance(float variance, std::uint32_t noise) {
  const auto root = static_cast<int>(std::sqrt(std::max(variance, 0.0F)) * 256.0F + rounding_up(noise));
  return {static_cast<std::uint8_t>(std::max(root, 1) - 1)};
}

// The type of the optimiser state that goes with weights of this type: AROW's variances, or AdaGrad's sums.
template <typename Weight>
using StateOf = std::conditional_t<std::is_same_v<Weight, BFloat16>, Variance, float>;

}  // namespace labelgrove
