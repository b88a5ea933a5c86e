// What labels weigh when a group of them is cut in two: from all alike (balanced 2-means) over their frequencies
// (weighted 2-means) to frequency alone (Fano). Baharav et al. (2021), Equation 4 and Lemma 1.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/base.hpp"

namespace labelgrove {

// The paper's parameters. Without frequencies all labels weigh the same, which is its lambda = 0.
struct Interpolation {
  std::span<const double> frequencies;       // f, of every label; not negative, of any sum
  std::span<const double> fano_frequencies;  // f with a tilde
  double lambda = 0.0;                       // in [0, 2]
  double smoothing = 0.0;                    // gamma
  bool weighted_intermediate = true;         // false: straight from balanced 2-means to Fano, past weighted 2-means
};

// A group's labels in Equation 5, where label l has beta_l = weight_l * (similarity * v_l'(mu_+ - mu_-) + bonus_l).
struct SplitWeights {
  std::vector<double> weight;  // f(lambda), scaled so that the largest is 1
  std::vector<double> bonus;   // (lambda - 1)_+ f(lambda), f(lambda) summing to 1
  double similarity = 1.0;     // (2 - lambda) / 2
};

// Both vectors of frequencies are first scaled to sum 1 over the group. Where f with a tilde is all zero there, f
// stands in for it; where f is, every label counts alike.
SplitWeights split_weights(const Interpolation& interpolation, std::span<const LabelId> group);

// Lemma 1, rounded: in descending order of keys (beta / f; among equals the earlier label first) labels go to the
// front until it has its share of the weight. The label that the share cuts goes to the front as well; but if it is
// cut in equal halves, it goes where the sign of its key says, as the middle label does in balanced 2-means. Neither
// side stays empty. `order` is working space. REQUIRES: two labels or more, 0 < share < 1.
void assign_sides(std::span<const double> keys, std::span<const double> weights, double share,
                  std::vector<std::uint32_t>& order, std::span<std::uint8_t> front);

}  // namespace labelgrove
