#include "labelgrove/batch_solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "labelgrove/elementary.hpp"
#include "labelgrove/hash.hpp"
#include "labelgrove/kernels.hpp"
#include "labelgrove/link.hpp"

namespace labelgrove {
namespace {

// If none of an example's derivatives is further from optimal than kQuiet times the tolerance, the example is skipped
// for a while: for 1, then 3, then 7 passes. Below kStill times the tolerance its dual variables are not moved.
constexpr float kQuiet = 0.5F;
constexpr float kStill = 0.1F;
constexpr std::uint32_t kLongestNap = 7;

// Examples are held out until no derivative is further from optimal than this multiple of the tolerance, and never more
// than this much, or until so many passes are left. Then they are visited alone in the next passes, while the others
// sleep.
constexpr float kNearlyLearnt = 2.0F;
constexpr float kFarFromLearnt = 0.6F;
constexpr std::uint32_t kPassesForHeldOut = 4;
constexpr std::uint32_t kPassesAlone = 2;
constexpr std::size_t kFewestToHoldOut = 16;  // a node with fewer examples learns from all of them at once
constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

constexpr std::size_t kExamplesBetweenChecks = 256;

constexpr std::uint32_t kVector = 16;  // floats: rows are padded to whole vectors and cache lines

// Bounds of the costs, so that divisions by a cost and its products with squared lengths stay finite.
constexpr float kLeastCost = 1e-20F;
constexpr float kMostCost = 1e20F;

}  // namespace

double constant_margin(const SolverOptions& options, double cost) {
  // Even a model without a bias gets one if there is nothing else to learn.
  const double bias = options.bias > 0.0F ? static_cast<double>(options.bias) : 1.0;
  const double strength = static_cast<double>(options.cost) * cost * bias * bias;
  if (options.loss == BatchLoss::squared_hinge) return 2.0 * strength / (1.0 + 2.0 * strength);
  if (options.loss == BatchLoss::softmax) return 0.0;
  double low = 0.0;  // m = strength / (1 + exp(m)) has one solution; bisection finds it to the last bit of a float
  double high = std::min(strength / 2.0, 1000.0);  // exp(1000) exceeds any strength
  for (int i = 0; i < 100 && low < high; ++i) {
    const double middle = 0.5 * (low + high);
    (middle * (1.0 + fixed_exp(middle)) < strength ? low : high) = middle;
  }
  return low;
}

void BatchSolver::solve(const SolverOptions& options, const NodeProblem& problem, const NodeExamples& targets,
                        std::span<const std::uint32_t> children, std::span<const float> example_costs,
                        std::uint64_t stream, const Progress& progress) {
  options_ = options;
  start(problem, children);
  find_shares(problem, targets, example_costs);
  rarities_.assign(columns_, 0);
  if (!targets.rarities.empty())
    std::ranges::transform(children, rarities_.begin(), [&](std::uint32_t child) { return targets.rarities[child]; });
  hold_out(stream ^ (std::uint64_t{children.front()} << 32));  // others for the siblings learnt apart
  bool everyone = held_out_.empty();  // whether this pass visits all examples: only then may it be the last
  bool converged = false;
  for (std::uint32_t pass = 0; pass < options_.max_passes && !converged; ++pass) {
    choose_order(pass, everyone, stream);
    float worst = 0.0F;
    for (std::size_t k = 0; k < order_.size(); ++k) {
      if (k % kExamplesBetweenChecks == 0) progress.check();
      const std::uint32_t i = order_[k];
      if (k + 1 < order_.size()) {  // the beginning of the data; hardware prefetching does the rest
        problem.prefetch(order_[k + 1]);
        __builtin_prefetch(targets.ends.data() + order_[k + 1]);
        __builtin_prefetch(duals_.data() + order_[k + 1] * std::size_t{stride_});
      }
      const float share = example_costs.empty() ? 1.0F : example_costs[targets.examples[i]];
      const float violation = visit(problem[i], problem.square(i), targets, i, options_.cost * share);
      worst = std::max(worst, violation);
      Turn& turn = turns_[i];
      turn.nap = violation <= kQuiet * options_.tolerance ? std::min(2 * turn.nap + 1, kLongestNap) : 0;
      turn.due = pass + 1 + turn.nap;
    }
    const bool nearly = worst <= std::min(kNearlyLearnt * options_.tolerance, kFarFromLearnt);
    if (!held_out_.empty() && (nearly || pass + 1 + kPassesForHeldOut >= options_.max_passes)) {
      learn_from_all(problem, targets, example_costs, pass);
      continue;
    }
    const bool done = worst <= options_.tolerance;
    converged = done && everyone;
    everyone = done;
  }
}

void BatchSolver::start(const NodeProblem& problem, std::span<const std::uint32_t> children) {
  columns_ = static_cast<std::uint32_t>(children.size());
  stride_ = (columns_ + kVector - 1) / kVector * kVector;
  std::ranges::fill(column_of_, kNone);
  for (std::uint32_t c = 0; c < columns_; ++c) {
    if (children[c] >= column_of_.size()) column_of_.resize(children[c] + std::size_t{1}, kNone);
    column_of_[children[c]] = c;
  }
  weights_.assign(std::size_t{problem.table_rows()} * stride_, 0.0F);
  duals_.assign(problem.size() * stride_, 0.0F);
  turns_.assign(problem.size(), {});
  margins_.assign(stride_, 0.0F);
  targets_.assign(stride_, -1.0F);
  costs_.assign(stride_, 0.0F);
  softness_.assign(stride_, 0.0F);
  changes_.assign(stride_, 0.0F);
  steps_.assign(stride_, 0.0F);
  cost_ = 0.0F;
}

// Examples are counted by weight, so that two identical ones count like one of twice the weight.
void BatchSolver::find_shares(const NodeProblem& problem, const NodeExamples& targets,
                              std::span<const float> example_costs) {
  shares_.assign(columns_, 1.0F);
  if (options_.plenty <= 0.0F) return;
  std::vector<double> weight(columns_);
  for (std::size_t i = 0; i < problem.size(); ++i) {
    const double one = example_costs.empty() ? 1.0 : static_cast<double>(example_costs[targets.examples[i]]);
    for_each_positive(targets, i, [&](std::uint32_t column, std::uint64_t) { weight[column] += one; });
  }
  const auto plenty = static_cast<double>(options_.plenty);
  for (std::uint32_t c = 0; c < columns_; ++c) {
    if (weight[c] > plenty) shares_[c] = static_cast<float>(std::sqrt(plenty / weight[c]));
  }
}

void BatchSolver::hold_out(std::uint64_t stream) {
  held_out_.clear();
  margin_counts_ = {};
  if (options_.held_out <= 0.0F) return;
  if (turns_.size() < kFewestToHoldOut || options_.max_passes < 2 * kPassesForHeldOut) return;
  for (std::uint32_t i = 0; i < turns_.size(); ++i) {
    const std::uint64_t bits = draw(options_.seed, Draw::holding_out, stream, i) >> 40;
    if (static_cast<float>(bits) * 0x1p-24F >= options_.held_out) continue;
    held_out_.push_back(i);
    turns_[i].due = kNever;
  }
}

// Counts the margins of the examples held out, then wakes these and lets the others sleep for a while.
void BatchSolver::learn_from_all(const NodeProblem& problem, const NodeExamples& targets,
                                 std::span<const float> example_costs, std::uint32_t pass) {
  for (Turn& turn : turns_) {
    if (turn.due != kNever) turn.due = std::max(turn.due, pass + 1 + kPassesAlone);
  }
  for (const std::uint32_t i : held_out_) {
    turns_[i] = {.due = pass + 1};
    if (!example_costs.empty() && example_costs[targets.examples[i]] == 0.0F) continue;
    const Features x = problem[i];
    kernels().table_margins(weights_.data(), stride_, x.ids, x.values, x.size, stride_, margins_.data());
    set_positives(targets, i, options_.cost);
    for (std::uint32_t c = 0; c < columns_; ++c) {
      margin_counts_.add(margins_[c], targets_[c] > 0.0F, rarities_[c]);
    }
    forget_positives(targets, i);
  }
  held_out_.clear();
}

void BatchSolver::choose_order(std::uint32_t pass, bool everyone, std::uint64_t stream) {
  order_.clear();
  for (std::uint32_t i = 0; i < turns_.size(); ++i) {
    if (everyone || turns_[i].due <= pass) order_.push_back(i);
  }
  const std::uint64_t counter = stream ^ (std::uint64_t{pass} << 32);
  shuffle(order_, [&](std::size_t n) { return draw(options_.seed, Draw::solver, counter, n); });
}

// Moves the dual variables of one example. Returns how far the worst of them was from optimal.
float BatchSolver::visit(const Features& x, float square, const NodeExamples& targets, std::size_t i, float cost) {
  const Kernels& kernel = kernels();
  kernel.table_margins(weights_.data(), stride_, x.ids, x.values, x.size, stride_, margins_.data());
  float* duals = duals_.data() + i * stride_;
  set_cost(std::clamp(cost, kLeastCost, kMostCost));
  set_positives(targets, i, cost);
  const float violation = find_steps(duals, square);
  forget_positives(targets, i);
  if (violation <= kStill * options_.tolerance) return violation;
  for (std::uint32_t c = 0; c < columns_; ++c) duals[c] += changes_[c];
  kernel.table_add_scaled(weights_.data(), stride_, x.ids, x.values, x.size, stride_, steps_.data());
  return violation;
}

void BatchSolver::set_cost(float cost) {
  if (cost == cost_) return;
  cost_ = cost;
  for (std::uint32_t c = 0; c < columns_; ++c) set_cost_of(c, cost);
}

void BatchSolver::set_cost_of(std::uint32_t column, float cost) {
  costs_[column] = cost * shares_[column];
  softness_[column] = 0.5F / costs_[column];
}

void BatchSolver::set_positives(const NodeExamples& targets, std::size_t i, float cost) {
  for_each_positive(targets, i, [&](std::uint32_t column, std::uint64_t p) {
    targets_[column] = 1.0F;
    if (targets.costs != nullptr) set_cost_of(column, std::clamp(cost * targets.costs[p], kLeastCost, kMostCost));
  });
}

void BatchSolver::forget_positives(const NodeExamples& targets, std::size_t i) {
  for_each_positive(targets, i, [&](std::uint32_t column, std::uint64_t) {
    targets_[column] = -1.0F;
    if (targets.costs != nullptr) set_cost_of(column, cost_);
  });
}

// Sets changes_ and steps_; returns how far the worst derivative is from optimal.
float BatchSolver::find_steps(const float* duals, float square) {
  switch (options_.loss) {
    case BatchLoss::log:
      return find_log_steps(duals, square);
    case BatchLoss::softmax:
      return find_softmax_steps(duals, square);
    default:
      return kernels().hinge_steps(margins_.data(), targets_.data(), softness_.data(), duals, square, columns_,
                                   changes_.data(), steps_.data());
  }
}

// Moves a_i towards its optimum C sigma(-y m) by the step 1 / (1 + C |x|^2 / 4). This never overshoots, because the
// loss's second derivative is at most 1/4 (Shalev-Shwartz & Zhang 2013, section 6.2).
float BatchSolver::find_log_steps(const float* duals, float square) {
  float* shares = margins_.data();
  float worst = 0.0F;
  for (std::uint32_t c = 0; c < columns_; ++c) shares[c] *= -targets_[c];
  kernels().sigmoid(shares, columns_, shares);
  for (std::uint32_t c = 0; c < columns_; ++c) {
    const float gain = costs_[c] * shares[c] - duals[c];
    changes_[c] = gain / (1.0F + 0.25F * costs_[c] * square);
    steps_[c] = changes_[c] * targets_[c];
    worst = std::max(worst, std::fabs(gain) / costs_[c]);
  }
  return worst;
}

// The same for all siblings at once: towards C (y - p), with the second derivatives of the multinomial loss being at
// most 1/2 in every direction.
float BatchSolver::find_softmax_steps(const float* duals, float square) {
  float* shares = margins_.data();
  softmax(shares, columns_);
  const auto right = static_cast<std::size_t>(std::ranges::max_element(targets_) - targets_.begin());
  const float cost = costs_[right];
  float worst = 0.0F;
  for (std::uint32_t c = 0; c < columns_; ++c) {
    const float gain = cost * ((c == right ? 1.0F : 0.0F) - shares[c]) - duals[c];
    steps_[c] = changes_[c] = gain / (1.0F + 0.5F * cost * square);
    worst = std::max(worst, std::fabs(gain) / cost);
  }
  return worst;
}

}  // namespace labelgrove
