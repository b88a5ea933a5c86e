// Converts margins to probabilities.
#pragma once

#include <cstdint>

namespace labelgrove {

enum class Link : std::uint8_t {
  logistic = 0,       // 1 / (1 + exp(-m))
  squared_hinge = 1,  // exp(-max(0, 1 - m)^2)  (Parabel: Prabhu et al. 2018)
  softmax = 2,        // exp(m) / sum over the siblings
  cubic_hinge = 3,    // exp(-max(0, 1 - m)^3)  (PECOS: Yu et al. 2022)
  calibrated = 4,     // measured: the model's Calibration
};

// In place: the softmax of n siblings' margins. REQUIRES: n > 0.
void softmax(float* margins, std::uint32_t n);

// Computes the probabilities of n siblings; overwrites the margins. REQUIRES: the link is not `calibrated`.
void apply_link(Link link, float* margins, std::uint32_t n, float* probabilities);

}  // namespace labelgrove
