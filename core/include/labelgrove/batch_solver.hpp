// Trains the classifiers of siblings together, from all examples of their node, as L2-regularised linear models
//
//   min over w:  1/2 |w|^2 + sum_i C_i loss(w; x_i, y_i)
//
// where C_i is C times the example's cost, reduced for children with very many examples (see `plenty`).
//
// The solver is stochastic dual coordinate ascent (Hsieh et al. 2008; Shalev-Shwartz & Zhang 2013). It maintains
// w = sum_i y_i a_i x_i and visits one example at a time, updating its dual variables a_i, one for each sibling. One
// pass over an example's features serves all siblings.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "labelgrove/base.hpp"
#include "labelgrove/calibration.hpp"
#include "labelgrove/node_problem.hpp"
#include "labelgrove/progress.hpp"
#include "labelgrove/room.hpp"
#include "labelgrove/training_set.hpp"

namespace labelgrove {

enum class BatchLoss : std::uint8_t {
  squared_hinge = 0,  // max(0, 1 - y m)^2
  log = 1,            // log(1 + exp(-y m))
  softmax = 2,        // -log of the true child's probability: siblings compete
};

struct SolverOptions {
  BatchLoss loss = BatchLoss::squared_hinge;
  float cost = 1.0F;  // C
  // For a child with n > plenty examples, C becomes C sqrt(plenty / n); 0 disables this. Ignored by softmax.
  float plenty = 0.0F;
  float bias = 1.0F;  // value of the constant feature; 0 for none
  // Stop when every dual derivative (divided by C for log and softmax) is within this of optimal.
  float tolerance = 0.1F;
  std::uint32_t max_passes = 20;
  std::uint64_t seed = 0;
  // The share of a node's examples that it learns from only once the others are nearly learnt, so that their margins
  // can be counted first. REQUIRES: 0 unless the loss is the squared hinge.
  float held_out = 0.0F;
};

// The margin m >= 0 learnt from the bias alone if all examples are alike and their total cost is `cost`.
double constant_margin(const SolverOptions& options, double cost);

// Reuses its memory from one node to the next. Not thread-safe: use one for each thread.
class BatchSolver {
 public:
  // The dual variables are stored in `room`, if given.
  explicit BatchSolver(Room* room = nullptr) : duals_(RoomAllocator<float>(room)) {}

  // Trains the given children of a node. `stream` distinguishes the random choices of different nodes. REQUIRES:
  // softmax trains all children at once, and every example has exactly one positive. Throws Stopped if `progress` is
  // told to stop.
  void solve(const SolverOptions& options, const NodeProblem& problem, const NodeExamples& targets,
             std::span<const std::uint32_t> children, std::span<const float> example_costs, std::uint64_t stream,
             const Progress& progress);

  // weights()[row * stride() + c] is the weight of children[c].
  std::span<const float> weights() const { return weights_; }
  std::uint32_t stride() const { return stride_; }
  // Margins of the examples held out, before the first step on any of them.
  const MarginCounts& margin_counts() const { return margin_counts_; }

 private:
  // When to visit an example again: in pass `due`, after a nap of `nap` passes.
  struct Turn {
    std::uint32_t due = 0;
    std::uint32_t nap = 0;
  };

  void start(const NodeProblem& problem, std::span<const std::uint32_t> children);
  void hold_out(std::uint64_t stream);
  void learn_from_all(const NodeProblem& problem, const NodeExamples& targets, std::span<const float> example_costs,
                      std::uint32_t pass);
  void choose_order(std::uint32_t pass, bool everyone, std::uint64_t stream);
  float visit(const Features& x, float square, const NodeExamples& targets, std::size_t i, float cost);
  // Calls take(column, p) for the positives p of the i-th example that are being trained.
  template <typename Take>
  void for_each_positive(const NodeExamples& targets, std::size_t i, Take&& take) const {
    for (std::uint64_t p = targets.ends[i]; p < targets.ends[i + 1]; ++p) {
      const std::uint32_t child = targets.positives[p];
      if (child < column_of_.size() && column_of_[child] != kNone) take(column_of_[child], p);
    }
  }
  void find_shares(const NodeProblem& problem, const NodeExamples& targets, std::span<const float> example_costs);
  void set_cost(float cost);
  void set_cost_of(std::uint32_t column, float cost);
  void set_positives(const NodeExamples& targets, std::size_t i, float cost);
  void forget_positives(const NodeExamples& targets, std::size_t i);
  float find_steps(const float* duals, float square);
  float find_log_steps(const float* duals, float square);
  float find_softmax_steps(const float* duals, float square);

  SolverOptions options_;
  std::uint32_t columns_ = 0;
  std::uint32_t stride_ = 0;
  std::vector<std::uint32_t> column_of_;  // by child; kNone if it is not being trained
  std::vector<float> weights_;            // (rows of the node's table, stride)
  RoomVector<float> duals_;               // (examples, stride): a_i; with softmax y_i a_i
  std::vector<float> shares_;             // by column: the factor of C
  std::vector<Turn> turns_;               // by example
  std::vector<std::uint32_t> held_out_;   // examples that are not learnt from yet, increasing
  MarginCounts margin_counts_;
  std::vector<std::uint8_t> rarities_;  // by column
  std::vector<std::uint32_t> order_;
  // The example being visited, by column; between visits the values of an example without positives.
  std::vector<float> margins_;
  std::vector<float> targets_;
  std::vector<float> costs_;
  std::vector<float> softness_;  // 1 / (2 C)
  std::vector<float> changes_;   // of dual variables
  std::vector<float> steps_;     // of weights, for a feature of value 1
  float cost_ = 0.0F;            // of non-positive columns
};

}  // namespace labelgrove
