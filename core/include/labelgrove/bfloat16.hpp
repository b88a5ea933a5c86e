// The upper half of a float: sign, exponent and 8 bits of mantissa.
//
// A weight learnt in small steps must not be rounded to nearest, which would lose all steps below half a unit.
// Stochastic rounding adds noise, drawn from 0 to 2^16 - 1, before the lower half is cut off, so that the mean is
// unchanged. The same noise rounds w and -w to opposite numbers. Zero has no sign.
#pragma once

#include <bit>
#include <cstdint>

namespace labelgrove {

// Model files store these bits; in a mapped file they may be accessed as 16-bit numbers.
struct [[gnu::may_alias]] BFloat16 {
  std::uint16_t bits;
  friend bool operator==(BFloat16, BFloat16) = default;
};

// The noise that rounds to nearest.
inline constexpr std::uint32_t kToNearest = 0x8000;

inline float widened(float number) { return number; }
inline float widened(BFloat16 number) { return std::bit_cast<float>(std::uint32_t{number.bits} << 16); }

inline BFloat16 rounded(float number, std::uint32_t noise) {
  const auto bits = static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(number) + noise) >> 16);
  return {(bits & 0x7FFFU) == 0 ? std::uint16_t{0} : bits};
}

// A pointer to numbers: floats, or a smaller type.
template <typename Small>
struct Numbers {
  Numbers() = default;
  Numbers(const float* numbers) : floats(numbers) {}
  Numbers(const Small* numbers) : small(numbers) {}

  explicit operator bool() const { return floats != nullptr || small != nullptr; }

  const float* floats = nullptr;
  const Small* small = nullptr;
};

}  // namespace labelgrove
