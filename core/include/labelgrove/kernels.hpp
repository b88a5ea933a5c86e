// The loops over (features x siblings) in which nearly all time is spent, in variants for different CPUs.
//
// A row holds the weights of all siblings for one feature; the optimiser state of a weight is `state` floats after it.
// Every column is computed by the same sequence of IEEE operations whatever its position and the number of columns, and
// every operation is symmetric under a change of sign. OPLT's equivalence to IPLT rests on both: columns may be copied
// between blocks of different widths, and a negated column learns the negated weights. The operations are also the same
// on every CPU: products and sums are never fused, and sums along a run use a fixed assignment of elements to lanes.
//
// Changing any operation changes the models that are learnt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace labelgrove {

// Upper limit of AdaGrad's sum of squared gradients. It exceeds the square of any possible gradient, so no step is ever
// larger than the rate.
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

  // The same two loops with rows given by number: row r begins at table + r * stride.
  void (*table_margins)(const float* table, std::size_t stride, const std::uint32_t* rows, const float* x,
                        std::size_t n, std::size_t columns, float* out);
  void (*table_add_scaled)(float* table, std::size_t stride, const std::uint32_t* rows, const float* x, std::size_t n,
                           std::size_t columns, const float* step);

  // A single column: its weights are a run, one for each feature, followed by its states `state` floats later. These
  // compute its margin, its margin and variance, and AROW's step. Sums use a fixed assignment to lanes.
  float (*run_margin)(const float* weights, const float* x, std::size_t n);
  void (*run_margin_and_variance)(const float* weights, const float* x, std::size_t n, std::size_t state, float* margin,
                                  float* variance);
  void (*run_arow)(float* weights, const float* x, std::size_t n, std::size_t state, float step, float inverse_r);

  // out[c] = 1 / (1 + exp(-in[c])).
  void (*sigmoid)(const float* in, std::size_t n, float* out);

  // Squared hinge (Hsieh et al. 2008, Algorithm 1 for L2-SVM): moves each dual variable a[c] >= 0 of an example to its
  // minimum along its own axis. With the derivative g = y m - 1 + softness[c] a, changes[c] = max(-a, -g / (square +
  // softness[c])) and steps[c] = y changes[c], where y = targets[c]. Returns the largest violation of optimality: |g|,
  // or -g where a is 0; 0 if there is none.
  float (*hinge_steps)(const float* margins, const float* targets, const float* softness, const float* a, float square,
                       std::size_t columns, float* changes, float* steps);

  // out[c] = exp(max(in[c], -87)). REQUIRES: in[c] <= 0.
  void (*exponential)(const float* in, std::size_t n, float* out);
};

struct CompactKernels;
struct HalfKernels;
struct VectorKernels;
// All kernels as compiled for one instruction set.
struct KernelVariant {
  const Kernels* kernels;
  const CompactKernels* compact_kernels;
  const HalfKernels* half_kernels;
  const VectorKernels* vector_kernels;
};
// The variants that run here, best last.
std::vector<KernelVariant> available_kernels();

// The best variant for this processor, or the one named by the environment variable LABELGROVE_KERNELS. Chosen by the
// first call, which throws std::runtime_error if the variable names no variant that runs here.
const Kernels& kernels();

}  // namespace labelgrove
