// Loops over rows of bfloat16 numbers, and functions over columns, with the same bits for every CPU, as those of
// kernels.hpp: each column is computed by the same operations, wherever it stands.
#pragma once

#include <cstddef>
#include <cstdint>

#include "labelgrove/bfloat16.hpp"

namespace labelgrove {

// Rows are as for Kernels, of bfloat16 numbers; behind `state` of them stand the variances S, a column each.
struct ExactKernels {
  // out[c] = sum_j x[j] * rows[j][c] for c < columns.
  void (*margins)(const BFloat16* const* rows, const float* x, std::size_t n, std::size_t columns, float* out);

  // out[c] = sum_j x[j]^2 * S[j][c] where wanted[c] is not 0; elsewhere out[c] may become anything. It is
  // AROW's confidence of the margin.
  void (*variances)(const BFloat16* const* rows, const float* x, std::size_t n, std::size_t columns, std::size_t state,
                    const float* wanted, float* out);

  // AROW (Crammer et al. 2009), diagonal: with S the state, w += step[c] * x[j] * S; S /= 1 + S * x[j]^2 * evidence[c],
  // or S as it is if evidence is null. The lower half of noise[j] rounds the weights of row j, the upper half its
  // variances. Columns whose step is 0 stay as they are.
  void (*arow)(BFloat16* const* rows, const float* x, const std::uint32_t* noise, std::size_t n, std::size_t columns,
               std::size_t state, const float* step, const float* evidence);

  // out[c] = 1 / (1 + exp(-in[c])).
  void (*sigmoid)(const float* in, std::size_t n, float* out);

  // Squared hinge (Hsieh et al. 2008, Algorithm 1 for L2-SVM): where the dual variables a[c] >= 0 of an example have
  // their minimum, each along its own axis. With the derivative g = y m - 1 + softness[c] a, changes[c] becomes
  // max(-a, -g / (square + softness[c])), and steps[c] that times y = targets[c]. Returns how far the worst derivative
  // is from optimal: |g|, or -g where a is 0; 0 if there is none.
  float (*hinge_steps)(const float* margins, const float* targets, const float* softness, const float* a, float square,
                       std::size_t columns, float* changes, float* steps);

  // out[c] = exp(in[c]); below -87 as at -87. REQUIRES: in[c] <= 0.
  void (*exponential)(const float* in, std::size_t n, float* out);
};

// The variant that goes with kernels().
const ExactKernels& exact_kernels();

}  // namespace labelgrove
