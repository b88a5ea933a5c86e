// The online learners of node classifiers, behind one interface.
//
// Every learner sees a margin m and a target y in {-1, +1} and is symmetric: learning (x, -y) with weights -w gives
// the exact negation of learning (x, y) with weights w. So the "inverse classifier" of OPLT (Algorithm 6) is a negated
// copy.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "labelgrove/elementary.hpp"

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
  float spread = 0.0F;     // Weights begin between -spread and +spread, drawn for each.
  std::uint64_t seed = 0;  // AROW: of what rounds rows of bfloat16 numbers.

  // Optimiser state stands beside each weight for all but SGD.
  bool has_state() const { return kind != LearnerKind::sgd; }
  // What the state of a weight is before it has learnt: AdaGrad sums from 0, AROW's variance shrinks from 1.
  float initial_state() const { return kind == LearnerKind::arow ? 1.0F : 0.0F; }
};

// The largest learning rate there is, and the farthest that one example moves a weight of AdaGrad or AROW, whatever the
// example counts for.
inline constexpr float kLargestStep = 1e6F;
// The most that one example counts for.
inline constexpr float kMostWeight = 1e6F;

// How far SGD goes for an example of that squared length which counts `weight` times. Steps in squared loss never
// overshoot (Karampatziakis & Langford 2011): each is the limit of many small ones.
inline double sgd_step(const LearnerOptions& options, double square, double weight) {
  const double eta = static_cast<double>(options.rate);
  const double rate = std::min(eta * weight, static_cast<double>(kLargestStep));
  if (options.loss == Loss::logistic) return rate / (1.0 + static_cast<double>(options.l2) * eta);
  return (1.0 - fixed_exp(-rate * square)) / square;
}

// What an example is to AROW: by how much variances shrink, and whether weights fade (docs/decisions/arow.md).
enum class Evidence : std::uint8_t {
  none,     // it is learnt again: replay
  fading,   // likewise, and where there is nothing to learn, weights fade
  by_loss,  // new, in a mixed stream of single labels: one half of it is evidence as far as there is a loss
  full,     // new
};

inline bool is_new(Evidence evidence) { return evidence == Evidence::by_loss || evidence == Evidence::full; }

// AROW's beta for an example of that loss, variance v = sum S x^2 and noise r: weights move by beta S x.
//
// An example makes the weights that it moves more certain, so a later one that contradicts it must move others, which
// may have tiny values: a chain of such examples would let weights grow without bound, by any factor a step. Hence a
// trust region: no weight moves by more than kLargestStep, since S <= 1 and so |S x| <= sqrt(v). Data that are not
// made for the purpose never get there: for r = 1 the loss would have to exceed two million.
inline float arow_step(float loss, float variance, float r) {
  const float step = loss / (variance + r);
  if (step * step * variance <= kLargestStep * kLargestStep) return step;
  return kLargestStep / std::sqrt(variance + 1e-30F);
}

}  // namespace labelgrove
