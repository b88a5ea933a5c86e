// How margins become probabilities.
#pragma once

#include <cstdint>

namespace labelgrove {

enum class Link : std::uint8_t {
  logistic = 0,       // 1 / (1 + exp(-m))
  squared_hinge = 1,  // exp(-max(0, 1 - m)^2)  (Parabel: Prabhu et al. 2018)
  softmax = 2,        // exp(m) / sum over the siblings
  cubic_hinge = 3,    // exp(-max(0, 1 - m)^3)  (PECOS: Yu et al. 2022)
};

// In place: the shares of n competing siblings, from their margins. REQUIRES: n > 0.
void softmax(float* margins, std::uint32_t n);

// The probabilities of n siblings; margins are overwritten.
void apply_link(Link link, float* margins, std::uint32_t n, float* probabilities);

}  // namespace labelgrove
