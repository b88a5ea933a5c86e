// Loops over rows of bfloat16 weights, with the same bits on every CPU, like those of kernels.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "labelgrove/bfloat16.hpp"

namespace labelgrove {

// Rows are as for Kernels, in bfloat16: after `state` weights follow the variances S, one for each column.
struct HalfKernels {
  // out[c] = sum_j x[j] * rows[j][c] for c < columns.
  void (*margins)(const BFloat16* const* rows, const float* x, std::size_t n, std::size_t columns, float* out);

  // steps[c] *= arow_step(losses[c], sum_j x[j]^2 * S[j][c], r) if steps[c] is not 0.
  void (*arow_steps)(const BFloat16* const* rows, const float* x, std::size_t n, std::size_t columns, std::size_t state,
                     const float* losses, float r, float* steps);

  // AROW (Crammer et al. 2009), diagonal, with S the state: w += step[c] * x[j] * S; S /= 1 + S * x[j]^2 * evidence[c],
  // or S unchanged if evidence is null. The lower half of noise[j] rounds the weights of row j, the upper half its
  // variances. Columns whose step is 0 are not changed.
  void (*arow)(BFloat16* const* rows, const float* x, const std::uint32_t* noise, std::size_t n, std::size_t columns,
               std::size_t state, const float* step, const float* evidence);

  // w -= w * min(1/2, share[c] * (x[j] * S)^2 / (1 - S)) if share[c] is not 0, with 1 - S raised to at least 1/256;
  // rounded as above.
  void (*fade)(BFloat16* const* rows, const float* x, const std::uint32_t* noise, std::size_t n, std::size_t columns,
               std::size_t state, const float* share);

  // What a row says about a feature with this share u of it: weights u w and variances 1 - u^2 (1 - S), rounded as
  // above. `to` may be the row itself.
  void (*take_share)(const BFloat16* row, float share, std::uint32_t noise, std::size_t columns, std::size_t state,
                     BFloat16* to);
};

// The variant that belongs to kernels().
const HalfKernels& half_kernels();

}  // namespace labelgrove
