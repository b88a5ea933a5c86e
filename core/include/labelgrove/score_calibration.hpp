// How often labels of a given score are right, for a second stage.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace labelgrove {

// The share of labels with a given score and place that are right, learnt by counting.
//
// Of labels with the same score, those further down the ranking of their example are right less often. A label with p
// labels before it is treated as a top label whose log-odds are lower by f ln(1 + p); f is chosen to minimise the
// entropy of the outcomes given these log-odds. Places further down share groups, of 2, 2, 4, 4, 8, 8 and 16, with the p
// of their first, and a full group counts as much as a single place: otherwise hundreds of hopeless labels would decide
// how probable the best are. Labels are counted at the two nearest of 65 knots from -8 to 8; the shares of right ones
// are made monotone (pool adjacent violators) and interpolated linearly as log-odds, which rise strictly. Beyond the
// outermost knots the log-odds are shifted. A new calibration is the identity.
//
// Where every example has one label, labels compete: each is the only right one with a probability in proportion to a
// power of its odds. The power q, a multiple of 1/4 up to 4, is the one with the least sum of log-losses over the
// rankings counted that hold one right label, plus (ln(q/q'))² / 4 for an expected power q': a few rankings alone would
// choose the smallest or the largest.
//
// Any number of threads may call the const methods.
class ScoreCalibration {
 public:
  static constexpr std::size_t kKnots = 65;
  static constexpr std::size_t kPowers = 16;
  using Losses = std::array<double, kPowers>;  // by power

  // `places` are told apart, the group of the last one standing for all later ones, too. REQUIRES: places > 0.
  explicit ScoreCalibration(std::size_t places);
  // From its parts. Throws std::invalid_argument if no calibration has such.
  ScoreCalibration(double weight, std::vector<double> counts, std::vector<double> hits, const Losses& losses);

  // Counts the labels of an example, best first; a log-odds of NaN means no label. All earlier counts are multiplied by
  // `keep`, cut to [2^-10, 1 - 2^-12].
  void add(std::span<const double> logits, const bool* right, double keep);

  // found[i] = the probability of a label with log-odds logits[i] that has places[i] labels before it.
  void apply(std::span<const double> logits, std::span<const std::size_t> places, double* found) const;
  // least[i] = the score, as a probability, from which on labels at this place reach thresholds[i]; it may be too low
  // by a few units in the last place. Thresholds outside (0, 1] stay as they are.
  void uncalibrate(std::span<const float> thresholds, std::size_t place, float* least) const;
  // The same for one threshold at every place from 0.
  void uncalibrate_by_place(float threshold, std::span<float> least) const;
  struct Curve {
    double fall = 0.0;                    // f
    std::array<double, kKnots> logits{};  // by knot
  };
  Curve curve() const;
  // The power of the odds, before calibration. `expected` is returned until rankings tell otherwise. REQUIRES: it is a
  // multiple of 1/4 from 1/4 to 4.
  double power(double expected) const;

  double weight() const { return weight_; }
  // By group of places and knot.
  std::span<const double> counts() const { return counts_; }
  std::span<const double> hits() const { return hits_; }
  const Losses& losses() const { return losses_; }

 private:
  std::size_t groups() const { return counts_.size() / kKnots; }
  Curve fit() const;
  void add_losses(std::span<const double> logits, std::size_t right);

  double weight_ = 1.0;  // of the newest example, in [1, 2): it grows, where counts would decay
  std::vector<double> counts_;
  std::vector<double> hits_;
  Losses losses_{};
  mutable std::mutex fitting_;
  mutable std::optional<Curve> fitted_;
};

}  // namespace labelgrove
