#include <cmath>
#include <vector>

#include "harness.hpp"
#include "labelgrove/l1_logistic.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

struct Problem {
  SparseColumns x;
  std::vector<std::int8_t> sides;
  std::vector<double> costs;
};

// Of the entries of a column a share is not 0; an `offset` makes the columns alike.
Problem some_problem(std::uint64_t seed, std::uint32_t n, std::uint32_t columns, double cost, double share = 0.3,
                     float offset = 0.0F) {
  Random random(seed);
  Problem problem;
  for (std::uint32_t i = 0; i < n; ++i) {
    problem.sides.push_back(random.chance(0.4) ? 1 : -1);
    problem.costs.push_back(cost * random.uniform());
  }
  for (std::uint32_t j = 0; j < columns; ++j) {
    for (std::uint32_t i = 0; i < n; ++i) {
      if (j > 0 && !random.chance(share)) continue;
      const float value = j == 0 ? 1.0F : random.between(-0.5F, 1.0F) * static_cast<float>(problem.sides[i]);
      problem.x.rows.push_back(i);
      problem.x.values.push_back(j == 0 ? value : value + offset);
    }
    problem.x.begin.push_back(problem.x.rows.size());
  }
  return problem;
}

// By column: the derivative of the loss.
std::vector<double> gradient(const Problem& problem, std::span<const double> weights) {
  std::vector<double> margins(problem.sides.size());
  for (std::uint32_t j = 0; j < problem.x.size(); ++j) {
    for (std::size_t at = problem.x.begin[j]; at < problem.x.begin[j + 1]; ++at)
      margins[problem.x.rows[at]] += weights[j] * static_cast<double>(problem.x.values[at]);
  }
  std::vector<double> gradient(problem.x.size());
  for (std::uint32_t j = 0; j < problem.x.size(); ++j) {
    for (std::size_t at = problem.x.begin[j]; at < problem.x.begin[j + 1]; ++at) {
      const std::uint32_t i = problem.x.rows[at];
      const double side = problem.sides[i];
      gradient[j] -=
          problem.costs[i] * side * static_cast<double>(problem.x.values[at]) / (1.0 + std::exp(side * margins[i]));
    }
  }
  return gradient;
}

void check_optimal(L1Logistic& solver, const Problem& problem) {
  const std::vector<double> start = gradient(problem, std::vector<double>(problem.x.size()));
  solver.solve(problem.x, problem.sides, problem.costs, 1e-6, nullptr);
  const std::vector<double> end = gradient(problem, solver.weights());
  double first = 0.0;
  double last = 0.0;
  for (std::uint32_t j = 0; j < problem.x.size(); ++j) {
    const double weight = solver.weights()[j];
    first += std::max(0.0, std::fabs(start[j]) - 1.0);
    last += weight != 0.0 ? std::fabs(end[j] + std::copysign(1.0, weight)) : std::max(0.0, std::fabs(end[j]) - 1.0);
  }
  CHECK(last <= 1e-6 * first + 1e-12);
}

TEST("l1 logistic: the solution is optimal for every weight") {
  L1Logistic solver;
  for (const double cost : {0.1, 1.0, 20.0, 1e5}) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) check_optimal(solver, some_problem(seed, 60, 25, cost));
  }
}

TEST("l1 logistic: the solution is optimal for columns that are alike") {
  L1Logistic solver;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    for (const double share : {0.9, 1.0}) check_optimal(solver, some_problem(seed, 200, 25, 1.0, share, 5.0F));
  }
}

TEST("l1 logistic: learns nothing without data") {
  L1Logistic solver;
  solver.solve({}, {}, {}, 0.01, nullptr);
  CHECK(solver.weights().empty());
  const Problem problem = some_problem(1, 20, 5, 1e-3);
  solver.solve(problem.x, problem.sides, problem.costs, 0.01, nullptr);
  for (const double weight : solver.weights()) CHECK(std::fabs(weight) <= 0.0);
}

}  // namespace
}  // namespace labelgrove::testing
