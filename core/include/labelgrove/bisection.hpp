// Splits a group of labels in two by alternating maximisation: labels move to the more similar centre, within their
// side's share of the weight, and centres move to the mean of their labels. This is balanced spherical 2-means (Prabhu
// et al. 2018), and its weighted forms of Baharav et al. (2021), section 4.2.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "labelgrove/interpolation.hpp"
#include "labelgrove/parallel.hpp"
#include "labelgrove/row_view.hpp"

namespace labelgrove {

// Not thread-safe: use one for each thread.
class Bisection {
 public:
  // Borrows the labels' vectors; `scales` are the factors that bring them to unit length. Iterations end when the
  // objective rises by less than `tolerance`.
  Bisection(const RowView& vectors, std::span<const double> scales, std::uint32_t dimension, double tolerance,
            std::uint32_t max_iterations)
      : vectors_(vectors),
        scales_(scales),
        dimension_(dimension),
        tolerance_(tolerance),
        max_iterations_(max_iterations) {}

  // Returns, for each label of the group, whether it goes to the front, which gets `share` of the weight. The initial
  // centres of front and back are the vectors of two of the group's labels, given by position. An optional crew helps;
  // the result does not depend on it, and is valid until the next call. REQUIRES: one weight per label of the group;
  // 0 < share < 1; two different positions in the group.
  std::span<const std::uint8_t> split(std::span<const LabelId> group, const SplitWeights& weights, double share,
                                      std::pair<std::size_t, std::size_t> centres, Crew* crew);

 private:
  void number_features(std::span<const LabelId> group);
  Features local(std::size_t i) const;
  void begin(std::pair<std::size_t, std::size_t> centres, double similarity);
  void score(const SplitWeights& weights, Crew* crew);
  double follow(const SplitWeights& weights);

  const RowView& vectors_;
  std::span<const double> scales_;
  std::uint32_t dimension_;
  double tolerance_;
  std::uint32_t max_iterations_;

  std::span<const LabelId> group_;
  std::vector<std::uint32_t> number_of_;  // by feature: its number within the group; kNone between calls
  std::vector<FeatureId> numbers_;        // of all features of all labels of the group, concatenated
  std::vector<std::size_t> starts_;
  bool renumbered_ = false;
  std::vector<double> total_;      // sum of weight * vector over the group
  std::vector<double> front_sum_;  // the same over the front
  std::vector<float> direction_;   // similarity * (mu_+ - mu_-)
  std::vector<double> keys_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint8_t> front_;
  std::vector<std::uint8_t> next_;
};

}  // namespace labelgrove
