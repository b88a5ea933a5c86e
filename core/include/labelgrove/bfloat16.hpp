// The upper half of a float: its sign, its exponent and 8 bits of its mantissa.
//
// What learns in small steps must not be rounded to the nearest such number, since steps below half a unit would be
// lost. Stochastic rounding adds noise, drawn from 0 to 2^16 - 1, to the half that is cut off: then the mean of what
// is kept is what there was. The same noise rounds w and -w to opposite numbers. Zero has no sign.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace labelgrove {

// Files hold its bits, where they may lie as numbers of 16 bits.
struct [[gnu::may_alias]] BFloat16 {
  std::uint16_t bits;
  friend bool operator==(BFloat16, BFloat16) = default;
};

// The noise that rounds to the nearest.
inline constexpr std::uint32_t kToNearest = 0x8000;

inline float widened(float number) { return number; }
inline float widened(BFloat16 number) { return std::bit_cast<float>(std::uint32_t{number.bits} << 16); }

inline BFloat16 rounded(float number, std::uint32_t noise) {
  const auto bits = static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(number) + noise) >> 16);
  return {(bits & 0x7FFFU) == 0 ? std::uint16_t{0} : bits};
}

// Numbers somewhere: floats, or those of a type that takes less room.
template <typename Small>
struct Numbers {
  Numbers() = default;
  Numbers(std::nullptr_t) {}
  Numbers(const float* numbers) : floats(numbers) {}
  Numbers(const Small* numbers) : small(numbers) {}

  explicit operator bool() const { return floats != nullptr || small != nullptr; }

  const float* floats = nullptr;
  const Small* small = nullptr;
};

}  // namespace labelgrove
