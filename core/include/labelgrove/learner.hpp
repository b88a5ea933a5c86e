// The options of the online learners of node classifiers, and the arithmetic of their steps.
//
// Every learner sees a margin m and a target y in {-1, +1} and is symmetric: learning (x, -y) from weights -w gives the
// exact negation of learning (x, y) from weights w. The "inverse classifier" of OPLT (Algorithm 6) is therefore a
// negated copy.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "labelgrove/elementary.hpp"

namespace labelgrove {

enum class LearnerKind : std::uint8_t { adagrad = 0, sgd = 1, arow = 2, nag = 3 };

// For AdaGrad and SGD; AROW always uses its squared hinge. `squared` is the squared difference between target and
// margin, with the margin clipped to [-1, 1].
enum class Loss : std::uint8_t { logistic = 0, squared = 1 };

struct LearnerOptions {
  LearnerKind kind = LearnerKind::arow;
  float rate = 1.0F;      // AdaGrad, NAG: eta. SGD: gamma. AROW: unused.
  float epsilon = 0.01F;  // AdaGrad: added to the sum of squared gradients.
  float l2 = 0.0F;        // SGD: lambda.
  float r = 1.0F;         // AROW: r.
  Loss loss = Loss::logistic;
  float spread = 0.0F;     // Initial weights are drawn uniformly from [-spread, +spread].
  std::uint64_t seed = 0;  // AROW: seed of the stochastic rounding to bfloat16.

  // All learners but SGD keep optimiser state alongside each weight.
  bool has_state() const { return kind != LearnerKind::sgd; }
  // The state of a weight before it has learnt: AdaGrad's sum starts at 0, AROW's variance at 1.
  float initial_state() const { return kind == LearnerKind::arow ? 1.0F : 0.0F; }
};

// The largest learning rate, and the largest distance that one example moves a weight of AdaGrad or AROW, whatever its
// weight.
inline constexpr float kLargestStep = 1e6F;
// The largest weight of an example.
inline constexpr float kMostWeight = 1e6F;

// SGD's step for an example of the given squared length and weight. Steps in squared loss never overshoot
// (Karampatziakis & Langford 2011): each is the limit of many small ones.
inline double sgd_step(const LearnerOptions& options, double square, double weight) {
  const double eta = static_cast<double>(options.rate);
  const double rate = std::min(eta * weight, static_cast<double>(kLargestStep));
  if (options.loss == Loss::logistic) return rate / (1.0 + static_cast<double>(options.l2) * eta);
  return (1.0 - fixed_exp(-rate * square)) / square;
}

// How much an example tells AROW: by how much variances shrink, whether weights fade, and whether the loss is bounded
// (docs/decisions/arow.md).
enum class Evidence : std::uint8_t {
  again,    // learnt again, at once or from memory
  bounded,  // learnt again; counts as lost at most what is lost by knowing nothing
  fading,   // bounded; columns with no loss fade their weights
  by_loss,  // new, in a mixed stream of single labels: half of it counts as evidence in proportion to the loss
  full,     // new
};

inline bool is_new(Evidence evidence) { return evidence == Evidence::by_loss || evidence == Evidence::full; }
inline bool is_bounded(Evidence evidence) { return evidence == Evidence::bounded || evidence == Evidence::fading; }

// AROW's beta for an example with the given loss, variance v = sum S x^2 and noise r: weights move by beta S x.
//
// An example makes the weights that it moves more certain, so a later one that contradicts it must move other weights,
// possibly through tiny values. A chain of such examples could make weights grow without bound, by any factor per step.
// Hence a trust region: no weight moves by more than kLargestStep, since S <= 1 and so |S x| <= sqrt(v). Data not
// made for the purpose never reach it: with r = 1 the loss would have to exceed two million.
inline float arow_step(float loss, float variance, float r) {
  const float step = loss / (variance + r);
  if (step * step * variance <= kLargestStep * kLargestStep) return step;
  return kLargestStep / std::sqrt(variance + 1e-30F);
}

}  // namespace labelgrove
