// The online learners of node classifiers: one seam for all of them.
//
// Every learner sees a margin m and a target y in {-1, +1} and is symmetric: learning (x, -y) with weights -w gives the
// exact negation of learning (x, y) with weights w. So the "inverse classifier" of OPLT (Algorithm 6) is a negated copy.
#pragma once

#include <cmath>
#include <cstdint>

namespace labelgrove {

enum class LearnerKind : std::uint8_t { adagrad = 0, sgd = 1, arow = 2, nag = 3 };

// Of AdaGrad and SGD; AROW has its squared hinge. Squared: of the target and the margin, which is clipped to [-1, 1].
enum class Loss : std::uint8_t { logistic = 0, squared = 1 };

struct LearnerOptions {
  LearnerKind kind = LearnerKind::arow;
  float rate = 1.0F;      // AdaGrad, NAG: eta. SGD: gamma. AROW: unused.
  float epsilon = 0.01F;  // AdaGrad: added to the sum of squared gradients.
  float l2 = 0.0F;        // SGD: lambda.
  float r = 1.0F;         // AROW: r.
  Loss loss = Loss::logistic;
  float spread = 0.0F;  // Weights begin between -spread and +spread, drawn for each.

  // Optimiser state stands beside each weight for all but SGD.
  bool has_state() const { return kind != LearnerKind::sgd; }
  // What the state of a weight is before it has learnt: AdaGrad sums from 0, AROW's variance shrinks from 1.
  float initial_state() const { return kind == LearnerKind::arow ? 1.0F : 0.0F; }
};

// How far SGD goes for an example of that squared length. A squared loss has steps that never overshoot (Karampatziakis &
// Langford 2011): what a step of rate eta comes to when it is taken in ever smaller ones.
inline double sgd_step(const LearnerOptions& options, double square, double weight = 1.0) {
  const double rate = static_cast<double>(options.rate) * weight;
  if (options.loss == Loss::logistic) return rate / (1.0 + static_cast<double>(options.l2) * rate);
  return (1.0 - std::exp(-rate * square)) / square;
}

}  // namespace labelgrove
