// The measured link of a batch model: how often a child was right at each margin, counted on examples that its node
// had not learnt from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace labelgrove {

// A histogram of margins from -4 to 4; margins beyond fall into the outermost bins. Counts are whole numbers, so the
// sum over nodes is the same in any order.
class MarginCounts {
 public:
  static constexpr std::size_t kBins = 256;
  static constexpr float kRange = 4.0F;
  using Counts = std::array<std::uint64_t, kBins>;

  void add(float margin, bool positive);
  void add(const MarginCounts& other);
  void add(std::span<const std::uint64_t, kBins> negatives, std::span<const std::uint64_t, kBins> positives);

  const Counts& negatives() const { return negatives_; }
  const Counts& positives() const { return positives_; }

 private:
  Counts negatives_{};
  Counts positives_{};
};

// Maps margins to probabilities by the counts: isotonic regression, made strictly increasing within the range by
// interpolating the log-odds linearly between the means of the pooled margins, so siblings keep their order. With too
// few positives to measure anything it is the link of the squared hinge. NaN, which the search takes for 0, stays NaN.
// Immutable.
class Calibration {
 public:
  explicit Calibration(const MarginCounts& counts);

  const MarginCounts& counts() const { return counts_; }
  // Whether there were enough positives.
  bool measured() const { return measured_; }
  void apply(const float* margins, std::uint32_t n, float* probabilities) const;

 private:
  MarginCounts counts_;
  bool measured_;
  std::array<float, MarginCounts::kBins> at_centre_{};  // by bin: the probability at its centre
};

}  // namespace labelgrove
