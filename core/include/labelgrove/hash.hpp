// Deterministic hashing. Every "random" choice of the core is a function of the seed and a counter, so it depends
// neither on the number of threads nor on how a stream is divided into calls. Changing anything here changes every
// model learnt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace labelgrove {

// Uncorrelated streams of choices.
enum class Draw : std::uint64_t {
  policy = 1,
  replay = 2,
  reservoir = 3,
  shuffle = 4,
  clustering = 5,
  weights = 6,
  places = 7,
  tree = 8,
  solver = 9,
  label = 10,
  rounding = 11,
  reward = 12,
  asking = 13,
  holding_out = 14,
};

// Finaliser of Steele, Lea & Flood (2014), SplitMix64.
constexpr std::uint64_t mix(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// draw(seed, stream, counter, sub) is mix(draws_at(seed, stream, counter) ^ sub).
constexpr std::uint64_t draws_at(std::uint64_t seed, Draw stream, std::uint64_t counter) {
  return mix(mix(seed ^ mix(static_cast<std::uint64_t>(stream))) ^ counter);
}
constexpr std::uint64_t draw(std::uint64_t seed, Draw stream, std::uint64_t counter, std::uint64_t sub = 0) {
  return mix(draws_at(seed, stream, counter) ^ sub);
}

// Fisher-Yates shuffle; draw_at(n) is drawn when n items are left.
template <typename T, typename DrawAt>
void shuffle(std::vector<T>& items, DrawAt&& draw_at) {
  for (std::size_t n = items.size(); n > 1; --n) std::swap(items[n - 1], items[draw_at(n) % n]);
}

// The key multiplied so that all its bits affect the high bits (Knuth's multiplicative hashing).
constexpr std::uint32_t scattered(std::uint32_t key) { return key * 0x9e3779b1U; }

// The largest distance of a hash table entry from its home. Keys that were not chosen to collide never get there: with
// 7 of 8 slots in use, the probability falls by a quarter with every step.
inline constexpr std::uint32_t kFarthestProbe = 128;

}  // namespace labelgrove
