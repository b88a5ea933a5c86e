#include "labelgrove/link.hpp"

#include <algorithm>

#include "labelgrove/kernels.hpp"

namespace labelgrove {

void softmax(float* margins, std::uint32_t n) {
  const float most = *std::max_element(margins, margins + n);
  for (std::uint32_t c = 0; c < n; ++c) margins[c] -= most;
  kernels().exponential(margins, n, margins);
  float sum = 0.0F;
  for (std::uint32_t c = 0; c < n; ++c) sum += margins[c];
  for (std::uint32_t c = 0; c < n; ++c) margins[c] /= sum;
}

void apply_link(Link link, float* margins, std::uint32_t n, float* probabilities) {
  switch (link) {
    case Link::logistic:
      kernels().sigmoid(margins, n, probabilities);
      break;
    case Link::calibrated:
      break;
    case Link::squared_hinge:
      for (std::uint32_t c = 0; c < n; ++c) {
        const float loss = std::max(0.0F, 1.0F - margins[c]);
        margins[c] = -loss * loss;
      }
      kernels().exponential(margins, n, probabilities);
      break;
    case Link::cubic_hinge:
      for (std::uint32_t c = 0; c < n; ++c) {
        const float loss = std::max(0.0F, 1.0F - margins[c]);
        margins[c] = -loss * loss * loss;
      }
      kernels().exponential(margins, n, probabilities);
      break;
    case Link::softmax:
      softmax(margins, n);
      std::copy_n(margins, n, probabilities);
      break;
  }
}

}  // namespace labelgrove
