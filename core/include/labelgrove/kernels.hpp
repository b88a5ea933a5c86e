// The loops over (features x siblings) in which nearly all time is spent, in variants for the CPU at hand.
//
// A row is the run of weights of all siblings for one feature; `state` floats behind each weight stands its optimiser
// state. Every column is computed by the same sequence of IEEE operations wherever it stands and however many columns
// there are, and every operation is symmetric under a change of sign. Both are what makes OPLT proper to the last bit:
// columns may be copied between blocks of different width, and a negated column learns the negated weights. The
// operations are also the same for every CPU: no product is fused with a sum, and a sum along a run has lanes of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace labelgrove {

// AdaGrad's sum of squared gradients stops growing here. It exceeds the square of any single gradient that can arise,
// so no step is ever larger than the rate.
inline constexpr float kLargestSquareSum = 1e32F;

struct Kernels {
  const char* name;

  // out[c] = sum_j x[j] * rows[j][c] for c < columns.
  void (*margins)(const float* const* rows, const float* x, std::size_t n, std::size_t columns, float* out);

  // AdaGrad (Duchi et al. 2011) as in OPLT: g = gradient[c] * x[j]; G += g^2, at most kLargestSquareSum;
  // w -= rate * g / sqrt(epsilon + G).
  void (*adagrad)(float* const* rows, const float* x, std::size_t n, std::size_t columns, std::size_t state,
                  const float* gradient, float rate, float epsilon);

  // w += step[c] * x[j].
  void (*add_scaled)(float* const* rows, const float* x, std::size_t n, std::size_t columns, const float* step);

  // The same two loops where rows are given by number: row r begins at table + r * stride.
  void (*table_margins)(const float* table, std::size_t stride, const std::uint32_t* rows, const float* x,
                        std::size_t n, std::size_t columns, float* out);
  void (*table_add_scaled)(float* table, std::size_t stride, const std::uint32_t* rows, const float* x, std::size_t n,
                           std::size_t columns, const float* step);

  // One column alone, whose weights, and states `state` floats behind them, stand in runs, one for each feature:
  // its margin, also with its variance, and AROW's step. The sums run in the order of the lanes.
  float (*run_margin)(const float* weights, const float* x, std::size_t n);
  void (*run_margin_and_variance)(const float* weights, const float* x, std::size_t n, std::size_t state, float* margin,
                                  float* variance);
  void (*run_arow)(float* weights, const float* x, std::size_t n, std::size_t state, float step, float inverse_r);

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

// The best variant that this processor runs, or the one that LABELGROVE_KERNELS names in the environment; chosen once,
// by the first call, which throws std::runtime_error if it names none that runs here.
const Kernels& kernels();
// The variants that run here, the best one last.
std::vector<const char*> available_kernels();

}  // namespace labelgrove
