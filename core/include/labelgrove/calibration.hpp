// The measured link of a batch model: how often a child was right at each margin, counted on examples that its node
// had not learnt from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace labelgrove {

// A child's rarity among its node's examples: 0 if at least a quarter of them have it, 1 if at least a sixteenth, and
// so on; the last one has no bound.
inline constexpr std::size_t kRarities = 5;
std::uint8_t rarity_of(std::uint64_t positives, std::uint64_t examples);

// A histogram of margins from -4 to 4 for the children of each rarity; margins beyond fall into the outermost bins.
// Counts are whole numbers, so the sum over nodes is the same in any order.
class MarginCounts {
 public:
  static constexpr std::size_t kBins = 256;
  static constexpr float kRange = 4.0F;
  using Counts = std::array<std::uint64_t, kRarities * kBins>;  // by rarity, then by bin

  // REQUIRES: the rarity is less than kRarities.
  void add(float margin, bool positive, std::uint8_t rarity);
  void add(const MarginCounts& other);
  // REQUIRES: equally many, one for each bin of the first rarities.
  void add(std::span<const std::uint64_t> negatives, std::span<const std::uint64_t> positives);

  const Counts& negatives() const { return negatives_; }
  const Counts& positives() const { return positives_; }

 private:
  Counts negatives_{};
  Counts positives_{};
};

// Maps margins to probabilities by the counts. The curve of all children is an isotonic regression, made strictly
// increasing within the range by interpolating the log-odds linearly between the means of the pooled margins. Each
// rarity has a curve whose log-odds are a rising, piecewise linear function of these, fitted to its own counts, so
// siblings of one rarity keep their order. With too few positives to measure anything, every curve is the link of the
// squared hinge. NaN, which the search takes for 0, stays NaN. Immutable.
class Calibration {
 public:
  explicit Calibration(const MarginCounts& counts);

  const MarginCounts& counts() const { return counts_; }
  // Whether there were enough positives.
  bool measured() const { return measured_; }
  // `rarities` are those of the n children; null if all are 0.
  void apply(const float* margins, const std::uint8_t* rarities, std::uint32_t n, float* probabilities) const;

 private:
  MarginCounts counts_;
  bool measured_;
  using Curve = std::array<float, MarginCounts::kBins>;  // by bin: the probability at its centre
  std::array<Curve, kRarities> curves_{};
};

}  // namespace labelgrove
