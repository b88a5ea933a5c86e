// The memory budget of a model, and what it forgets to stay within it: docs/decisions/budget.md.
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

// The budget is too small even after forgetting. All earlier examples have been learnt.
class BudgetExceeded : public std::length_error {
 public:
  BudgetExceeded(std::uint64_t most, std::uint64_t needed)
      : std::length_error("max_bytes=" + std::to_string(most) + ": the labels and one example need " +
                          std::to_string(needed) + " bytes; expected a larger budget") {}
};

// Forgetting starts above full(budget) and stops at kept(budget). The gap trades memory for fewer rounds of forgetting.
constexpr std::uint64_t full(std::uint64_t budget) { return budget / 16 * 15; }
constexpr std::uint64_t kept(std::uint64_t budget) { return budget / 16 * 14; }
// Remembered examples are reduced to this part of the budget, `lasting` bytes of which nothing can forget.
constexpr std::uint64_t for_examples(std::uint64_t budget, std::uint64_t lasting) { return (budget - lasting) / 8 * 3; }

// The worth of a weight is an index below kWorths, which grows with its magnitude: the bits of a non-negative float are
// ordered as its value.
inline constexpr std::size_t kWorths = std::size_t{1} << 15;
inline std::uint32_t worth_of(float weight) { return std::bit_cast<std::uint32_t>(std::abs(weight)) >> 16; }

// The smallest worth such that all that is worth no more takes at least `bytes` bytes; the largest worth if there is
// not that much. worths[w] is the number of bytes of worth w.
inline std::uint32_t worth_of_bytes(std::span<const std::uint64_t> worths, std::uint64_t bytes) {
  std::uint32_t worth = 0;
  for (std::uint64_t freed = worths[0]; freed < bytes && worth + 1 < worths.size(); freed += worths[++worth]) continue;
  return worth;
}

// Frees at least `bytes` bytes, if there are as many, by forgetting the least worth from all parts that for_each(visit)
// visits.
template <typename ForEach>
void forget_least(std::uint64_t bytes, ForEach&& for_each) {
  std::vector<std::uint64_t> worths(kWorths);
  for_each([&](const auto& part) { part.add_worths(worths); });
  const std::uint32_t worth = worth_of_bytes(worths, bytes);
  for_each([&](auto& part) { part.forget(worth); });
}

}  // namespace labelgrove
