// The weights of labels when a group of them is split: from equal weights (balanced 2-means) through frequencies
// (weighted 2-means) to frequency alone (Fano). Baharav et al. (2021), Equation 4 and Lemma 1.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/base.hpp"

namespace labelgrove {

// The paper's parameters. Without frequencies all labels have the same weight, as with lambda = 0.
struct Interpolation {
  std::span<const double> frequencies;       // f, by label; not negative, with any sum
  std::span<const double> fano_frequencies;  // f tilde
  double lambda = 0.0;                       // in [0, 2]
  double smoothing = 0.0;                    // gamma
  bool weighted_intermediate = true;         // false: from balanced 2-means directly to Fano
};

// The terms of Equation 5 for a group's labels: beta_l = weight_l * (similarity * v_l'(mu_+ - mu_-) + bonus_l).
struct SplitWeights {
  std::vector<double> weight;  // f(lambda), scaled so that the largest is 1
  std::vector<double> bonus;   // (lambda - 1)_+ f(lambda), where f(lambda) sums to 1
  double similarity = 1.0;     // (2 - lambda) / 2
};

// Both vectors of frequencies are first scaled to sum to 1 over the group. If f tilde is all zero there, f replaces it;
// if f is, all labels count alike.
SplitWeights split_weights(const Interpolation& interpolation, std::span<const LabelId> group);

// Lemma 1, rounded: in descending order of keys (beta / f; the earlier label first among equals) labels go to the front
// until it has its share of the weight. The label that crosses this limit goes to the front as well. If the limit
// divides it exactly in half, the sign of its key decides, as for the middle label in balanced 2-means. Neither side is
// left empty. `order` is scratch space. REQUIRES: at least two labels, 0 < share < 1.
void assign_sides(std::span<const double> keys, std::span<const double> weights, double share,
                  std::vector<std::uint32_t>& order, std::span<std::uint8_t> front);

}  // namespace labelgrove
