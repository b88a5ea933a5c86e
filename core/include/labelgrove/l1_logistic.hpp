// L1-regularised logistic regression
//
//   min over w:  |w|_1 + sum_i C_i log(1 + exp(-y_i w . x_i))
//
// by coordinate descent on quadratic models of the loss (newGLMNET: Yuan, Ho & Lin 2012). Deterministic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/progress.hpp"

namespace labelgrove {

// A matrix by columns: column j has the entries from begin[j] to begin[j + 1].
struct SparseColumns {
  std::vector<std::size_t> begin{0};
  std::vector<std::uint32_t> rows;
  std::vector<float> values;

  std::uint32_t size() const { return static_cast<std::uint32_t>(begin.size() - 1); }
};

// Reuses its memory from one problem to the next. Not thread-safe: use one for each thread.
class L1Logistic {
 public:
  // Stops when the subgradient's L1 norm is at most `tolerance` times its value at w = 0. `sides` holds y_i, 1 or -1.
  // Throws Stopped if `progress`, which may be null, is told to stop.
  void solve(const SparseColumns& x, std::span<const std::int8_t> sides, std::span<const double> costs,
             double tolerance, const Progress* progress);

  // By column.
  std::span<const double> weights() const { return weights_; }
  // By example: w . x_i.
  std::span<const double> margins() const { return margins_; }

 private:
  double model(const SparseColumns& x, std::span<const std::int8_t> sides, std::span<const double> costs);
  void improve(const SparseColumns& x, double enough);
  double pass_over_examples(const SparseColumns& x);
  double pass_over_hessian();
  double descend(std::size_t f, double gradient, double& sum);
  double along(const SparseColumns& x, std::size_t f, double gradient) const;
  void move(const SparseColumns& x, std::size_t f, double change);
  void find_hessian(const SparseColumns& x);
  bool step(std::span<const std::int8_t> sides, std::span<const double> costs);

  std::vector<double> weights_;
  std::vector<double> margins_;
  // The quadratic model at the current weights, and the step d:
  std::vector<double> slopes_;       // by example: first derivative of the loss by its margin
  std::vector<double> curvatures_;   // by example: second derivative
  std::vector<double> moves_;        // by example: d . x_i
  std::vector<std::uint32_t> free_;  // columns that may change: w is not 0, or would not remain 0
  std::vector<double> gradient_;     // by free column, of the loss
  std::vector<double> hessian_;      // its diagonal
  std::vector<double> steps_;        // d
  std::vector<double> full_;         // the whole Hessian of the free columns, row by row; empty if not used
  std::vector<double> slopes_now_;   // with it, by free column: derivative of the model at w + d
  double inner_ = 1.0;               // the relative accuracy to which the next model is solved
};

}  // namespace labelgrove
