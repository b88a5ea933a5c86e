// What a model may take, and what is forgotten so that the rest fits: docs/decisions/budget.md.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace labelgrove {

// More bytes are needed than may be, whatever is forgotten. Everything that came before is learnt.
class BudgetExceeded : public std::length_error {
 public:
  BudgetExceeded(std::uint64_t most, std::uint64_t needed)
      : std::length_error("max_bytes=" + std::to_string(most) + ": the labels, and what one example needs, take " +
                          std::to_string(needed) + " bytes; expected a larger budget") {}
};

// When not all fits, so many of its parts stay: the fewer, the more seldom something is forgotten.
constexpr std::uint64_t full(std::uint64_t budget) { return budget / 16 * 15; }
constexpr std::uint64_t kept(std::uint64_t budget) { return budget / 16 * 14; }
// And so many of them may be remembered examples.
constexpr std::uint64_t for_examples(std::uint64_t budget) { return budget / 16 * 4; }

// What a weight is worth, a number below kWorths, whatever the sign: floats are ordered as their bits are.
inline constexpr std::size_t kWorths = std::size_t{1} << 15;
inline std::uint32_t worth_of(float weight) { return std::bit_cast<std::uint32_t>(std::abs(weight)) >> 16; }

// What is worth at most so much takes that many bytes, by how many bytes are worth how much; the most there is, if all of
// it does not.
inline std::uint32_t worth_of_bytes(std::span<const std::uint64_t> worths, std::uint64_t bytes) {
  std::uint32_t worth = 0;
  for (std::uint64_t freed = worths[0]; freed < bytes && worth + 1 < worths.size(); freed += worths[++worth]) continue;
  return worth;
}

// Forgets what is worth least until so many bytes are free, of all parts that for_each(visit) visits.
template <typename ForEach>
void forget_least(std::uint64_t bytes, ForEach&& for_each) {
  std::vector<std::uint64_t> worths(kWorths);
  for_each([&](const auto& part) { part.add_worths(worths); });
  const std::uint32_t worth = worth_of_bytes(worths, bytes);
  for_each([&](auto& part) { part.forget(worth); });
}

}  // namespace labelgrove
