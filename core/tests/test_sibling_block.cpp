#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <vector>

#include "harness.hpp"
#include "labelgrove/compaction.hpp"
#include "labelgrove/sibling_block.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

LearnerOptions options_for(LearnerKind kind) {
  LearnerOptions options;
  options.kind = kind;
  options.rate = kind == LearnerKind::sgd ? 0.4F : 0.9F;
  options.l2 = 0.02F;
  options.r = 0.8F;
  return options;
}

// The complete state of a block, in stored form.
struct Contents {
  std::uint32_t children = 0;
  bool theta = false;
  std::uint64_t updates = 0;
  std::vector<FeatureId> features;
  std::vector<std::uint32_t> places;
  std::vector<float> shares;
  std::uint32_t rows_held;
  std::vector<float> weights;  // (rows held, columns)
  std::vector<float> state;
  std::vector<BFloat16> half_weights;  // the same, if rows are stored as bfloat16
  std::vector<Variance> variances;

  Contents(const RowBlock& block, bool with_state)
      : children(block.children()),
        theta(block.has_theta()),
        updates(block.updates()),
        features(block.features().features().begin(), block.features().features().end()),
        rows_held(block.rows()) {
    for (const FeatureId feature : features) {
      if (!block.shares_rows()) break;
      const Place at = block.place(feature);
      places.push_back(at.row | (at.shared ? kSharedRow : 0));
      shares.push_back(at.share);
    }
    for (std::uint32_t r = 0; r < rows_held; ++r) {
      for (std::uint32_t c = 0; c < block.columns(); ++c) {
        weights.push_back(block.weight(r, c));
        if (with_state) state.push_back(block.state(r, c));
      }
    }
    if (!block.has_halves()) return;
    std::ranges::transform(weights, std::back_inserter(half_weights), [](float w) { return rounded(w, 0); });
    std::ranges::transform(state, std::back_inserter(variances), [](float s) { return rounded_variance(s, 0); });
  }

  std::uint32_t columns() const { return children + (theta ? 1 : 0); }
  std::size_t rows() const { return features.size() + 1; }
  // Row 0 is the bias; row r belongs to feature number r - 1.
  Place place(std::size_t row) const {
    if (row == 0 || places.empty()) return {.row = static_cast<std::uint32_t>(row)};
    return {places[row - 1] & ~kSharedRow, (places[row - 1] & kSharedRow) != 0, shares[row - 1]};
  }
  float weight(std::size_t row, std::uint32_t column) const {
    return weights[place(row).row * columns() + column] * place(row).share;
  }
  float state_of(std::size_t row, std::uint32_t column) const { return state[place(row).row * columns() + column]; }
  BlockView view() const {
    const auto numbers = []<typename Small>(const std::vector<float>& floats, const std::vector<Small>& small) {
      if (!small.empty()) return Numbers<Small>(small.data());
      return floats.empty() ? Numbers<Small>() : Numbers<Small>(floats.data());
    };
    return {children, theta,  updates,  features, numbers(weights, half_weights), numbers(state, variances),
            places,   shares, rows_held};
  }
};

Contents contents(const SiblingBlock& block, const LearnerOptions& options) { return {block, options.has_state()}; }

// Whether column `a` of one equals column `b` of the other, or its negation, including state.
bool same_column(const Contents& one, std::uint32_t a, const Contents& other, std::uint32_t b, bool negated = false) {
  if (one.features != other.features || one.state.empty() != other.state.empty()) return false;
  if (one.places != other.places || !same_bits(one.shares, other.shares)) return false;
  for (std::size_t row = 0; row < one.rows_held; ++row) {
    const std::size_t mine = row * one.columns() + a;
    const std::size_t theirs = row * other.columns() + b;
    const float expected = negated ? 0.0F - other.weights[theirs] : other.weights[theirs];
    if (!same_bits(one.weights[mine], expected)) return false;
    if (!one.state.empty() && !same_bits(one.state[mine], other.state[theirs])) return false;
  }
  return true;
}

bool same(const Contents& one, const Contents& other) {
  return one.children == other.children && one.theta == other.theta && one.updates == other.updates &&
         one.features == other.features && one.places == other.places && same_bits(one.shares, other.shares) &&
         same_bits(one.weights, other.weights) && same_bits(one.state, other.state);
}

// --- learning and prediction ----------------------------------------------------------------------------------------

Evidence evidence_of(Random& random, bool fresh) {
  if (!fresh) return std::array{Evidence::again, Evidence::bounded, Evidence::fading}[random.below(3)];
  return random.chance(0.5) ? Evidence::by_loss : Evidence::full;
}

// The learners as defined in their papers, in double precision and number by number, for one step starting at `before`.
class PlainStep {
 public:
  PlainStep(const LearnerOptions& options, const Contents& before, const Features& x, bool fresh)
      : options_(options), columns_(before.columns()), updates_(before.updates) {
    for (std::size_t row = 0; row < before.rows(); ++row) {
      const Place at = before.place(row);
      const std::uint64_t key = row == 0 ? kBias : at.shared ? kShared + at.row : before.features[row - 1];
      if (row > 0) directions_[before.features[row - 1]] = {key, double{at.share}};
      for (std::uint32_t c = 0; c < columns_; ++c) {
        weights_[{key, c}] = double{before.weights[at.row * columns_ + c]};
        states_[{key, c}] = before.state.empty() ? 0.0 : double{before.state_of(row, c)};
      }
    }
    if (options.kind == LearnerKind::arow) share(x, fresh);
  }

  // docs/decisions/first-comers.md: features that the block meets together for the first time form one direction. A
  // feature that occurs in another new example leaves it.
  void share(const Features& x, bool fresh) {
    std::vector<std::uint32_t> newcomers;
    double square = 0.0;
    for (std::uint32_t j = 0; j < x.size; ++j) {
      const FeatureId f = x.ids[j];
      const auto found = directions_.find(f);
      if (found == directions_.end()) {
        newcomers.push_back(j);
        square += double{x.values[j]} * double{x.values[j]};
        continue;
      }
      const auto [direction, share] = found->second;
      if (!fresh || direction < kShared) continue;
      for (std::uint32_t c = 0; c < columns_; ++c) {
        weights_[{f, c}] = share * weights_[{direction, c}];
        states_[{f, c}] = 1.0 - share * share * (1.0 - states_[{direction, c}]);
      }
      found->second = {f, 1.0};
    }
    for (const std::uint32_t j : newcomers) {
      const FeatureId f = x.ids[j];
      if (newcomers.size() == 1 || square == 0.0) directions_[f] = {f, 1.0};
      else directions_[f] = {kShared, double{x.values[j]} / std::sqrt(square)};
    }
  }

  double margin(const Features& x, std::uint32_t column) {
    double sum = 0.0;
    each(x, [&](std::uint64_t key, double value) { sum += value * weights_[{key, column}]; });
    return options_.kind == LearnerKind::sgd ? sum / scale(updates_) : sum;
  }

  double probability(const Features& x, std::uint32_t column) {
    const double slope = options_.kind == LearnerKind::arow ? 3.0 : 1.0;  // docs/decisions/arow.md
    return 1.0 / (1.0 + std::exp(-slope * margin(x, column)));
  }

  void learn(const Features& x, std::uint32_t column, double y, double weight, Evidence evidence) {
    const double m = margin(x, column);
    const double gradient = weight * -y / (1.0 + std::exp(y * m));
    switch (options_.kind) {
      case LearnerKind::adagrad:
        each(x, [&](std::uint64_t key, double value) {
          double& sum = state(key, column);
          sum += gradient * value * gradient * value;
          weights_[{key, column}] -=
              double{options_.rate} * gradient * value / std::sqrt(double{options_.epsilon} + sum);
        });
        break;
      case LearnerKind::sgd: {
        // Pi_{t-1} w is stored before the t-th step.
        const double rate = double{options_.rate} / (1.0 + decay() * static_cast<double>(updates_ + 1));
        each(x, [&](std::uint64_t key, double value) {
          weights_[{key, column}] -= scale(updates_) * rate * gradient * value;
        });
        break;
      }
      case LearnerKind::nag:
        break;  // only used by LdSM
      case LearnerKind::arow: {
        const double r = double{options_.r} / weight * (is_new(evidence) ? 1.0 : 2.0);  // docs/decisions/arow.md
        double variance = 0.0;
        each(x, [&](std::uint64_t key, double value) { variance += value * value * state(key, column); });
        double loss = 1.0 - y * m;
        if (is_bounded(evidence)) loss = std::min(loss, 1.0);
        if (loss <= 0.0) {
          if (evidence == Evidence::fading) fade(x, column, 2.0 / r);
          break;
        }
        double surer = is_new(evidence) ? weight : 0.0;
        if (evidence == Evidence::by_loss) surer *= 0.5 + std::min(loss, 1.0);
        each(x, [&](std::uint64_t key, double value) {
          double& spread = state(key, column);
          weights_[{key, column}] += loss / (variance + r) * y * value * spread;
          spread /= 1.0 + surer * spread * value * value / double{options_.r};
        });
        break;
      }
    }
  }

  // docs/decisions/arow.md
  void fade(const Features& x, std::uint32_t column, double share) {
    share *= std::min(static_cast<double>(updates_), 10000.0) / 10000.0;
    each(x, [&](std::uint64_t key, double value) {
      const double spread = state(key, column);
      const double lost = share * value * value * spread * spread / std::max(1.0 - spread, 1.0 / 256.0);
      weights_[{key, column}] *= 1.0 - std::min(lost, 0.5);
    });
  }

  void check(const Contents& after) {
    for (std::size_t row = 0; row < after.rows(); ++row) {
      const auto [key, share] = row == 0 ? std::pair(kBias, 1.0) : direction_of(after.features[row - 1]);
      CHECK_EQ(after.place(row).shared, key >= kShared && key != kBias);
      for (std::uint32_t c = 0; c < columns_; ++c) {
        const double expected = weights_[{key, c}] * share;
        // AROW's numbers are rounded to one of two neighbours. The reference implementation in Python checks every bit.
        const bool rounds = !after.half_weights.empty();
        CHECK_NEAR(after.weight(row, c), expected, (rounds ? 0x1p-6 : 2e-5) * (1.0 + std::abs(expected)));
        if (after.state.empty()) continue;
        CHECK_NEAR(after.state_of(row, c), state(key, c), rounds ? 0x1p-6 : 2e-5 * (1.0 + state(key, c)));
      }
    }
  }

 private:
  static constexpr std::uint64_t kShared = std::uint64_t{1} << 40;  // plus the row; by itself: new in this step
  static constexpr std::uint64_t kBias = std::uint64_t{1} << 50;
  using Weight = std::pair<std::uint64_t, std::uint32_t>;

  std::pair<std::uint64_t, double> direction_of(FeatureId f) const {
    const auto found = directions_.find(f);
    return found == directions_.end() ? std::pair(std::uint64_t{f}, 1.0) : found->second;
  }
  template <typename Visit>
  void each(const Features& x, Visit&& visit) const {
    std::map<std::uint64_t, double> values{{kBias, 1.0}};
    for (std::uint32_t j = 0; j < x.size; ++j) {
      const auto [direction, share] = direction_of(x.ids[j]);
      values[direction] += share * double{x.values[j]};
    }
    for (const auto& [direction, value] : values) visit(direction, value);
  }
  double decay() const { return double{options_.l2} * double{options_.rate}; }
  // Pi_t, the product of all (1 + lambda gamma_s), s <= t, which telescopes to this.
  double scale(std::uint64_t t) const { return (1.0 + decay() * static_cast<double>(t + 1)) / (1.0 + decay()); }
  double& state(std::uint64_t key, std::uint32_t column) {
    const double initial = options_.kind == LearnerKind::arow ? 1.0 : 0.0;
    return states_.try_emplace({key, column}, initial).first->second;
  }

  LearnerOptions options_;
  std::uint32_t columns_;
  std::uint64_t updates_;
  std::map<FeatureId, std::pair<std::uint64_t, double>> directions_;  // with the feature's share of the direction
  std::map<Weight, double> weights_;
  std::map<Weight, double> states_;
};

TEST("sibling block: a new one is a bias row of zeros") {
  for (const LearnerKind kind : kEveryLearner) {
    const LearnerOptions options = options_for(kind);
    const SiblingBlock block(options, 3, true);
    CHECK_EQ(block.children(), 3U);
    CHECK_EQ(block.columns(), 4U);
    CHECK(block.has_theta());
    CHECK_EQ(block.rows(), 1U);
    CHECK_EQ(block.updates(), 0U);
    const Contents found = contents(block, options);
    CHECK(std::ranges::all_of(found.weights, [](float w) { return w == 0.0F; }));
    CHECK(std::ranges::all_of(found.state, [&](float s) { return s == options.initial_state(); }));
  }
}

TEST("sibling block: every step is that of the learner, for all columns at once") {
  Workspace work;
  for (const LearnerKind kind : kEveryLearner) {
    const LearnerOptions options = options_for(kind);
    for (const std::uint32_t children : {0U, 1U, 2U, 3U, 4U, 7U, 8U, 9U, 16U, 33U, 70U}) {
      for (const bool theta : {false, true}) {
        if (children == 0 && !theta) continue;
        Random random(children * 2 + (theta ? 1 : 0));
        SiblingBlock block(options, children, theta);
        std::vector<Example> learnt;
        std::uint64_t updates = 0;
        for (int step = 0; step < 16; ++step) {
          if (step % 4 == 3 &&
              kind == LearnerKind::arow) {  // pretends that it has learnt more, so that weights fade more strongly
            Contents later = contents(block, options);
            later.updates = updates += 4000;  // up to full strength and beyond
            block = SiblingBlock(options, later.view());
          }
          const bool fresh = learnt.empty() || random.chance(0.7);
          const auto again = static_cast<std::uint32_t>(learnt.size());
          const Example x = fresh ? random_example(random, 25, 0.3) : learnt[random.below(again)];
          learnt.push_back(x);
          const auto positives = random_subset(random, children, 0.3);
          const float weight = random.chance(0.5) ? 1.0F : random.between(0.1F, 5.0F);
          const Evidence evidence = evidence_of(random, fresh);
          PlainStep plain(options, contents(block, options), x.view(), fresh);
          std::vector<float> probabilities(children + 1, 12345.0F);
          block.predict(x.view(), work, probabilities.data());
          CHECK_EQ(probabilities[children], 12345.0F);
          for (std::uint32_t c = 0; c < children; ++c) {
            CHECK_NEAR(probabilities[c], plain.probability(x.view(), c), 2e-6);
          }
          for (std::uint32_t c = 0; c < block.columns(); ++c) {
            const bool positive = c == children || std::ranges::find(positives, c) != positives.end();
            plain.learn(x.view(), c, positive ? 1.0 : -1.0, double{weight}, evidence);
          }
          block.learn(x.view(), positives, weight, evidence, work);
          plain.check(contents(block, options));
          CHECK_EQ(block.updates(), ++updates);
        }
      }
    }
  }
}

// Jasinska et al. 2016, Appendix B, without lazy regularisation: every weight decays in every step.
TEST("sibling block: SGD's lazy regularisation equals plain regularisation") {
  LearnerOptions options = options_for(LearnerKind::sgd);
  options.l2 = 0.3F;
  const double gamma = options.rate;
  const double lambda = options.l2;
  Random random(1);
  SiblingBlock block(options, 1, false);
  Workspace work;
  std::vector<double> w(11);  // the last is the bias
  const auto margin = [&](const Example& x) {
    double sum = w[10];
    for (std::size_t j = 0; j < x.ids.size(); ++j) sum += double{x.values[j]} * w[x.ids[j]];
    return sum;
  };
  for (int t = 1; t <= 300; ++t) {
    const Example x = random_example(random, 10, 0.4);
    float probability = 0.0F;
    block.predict(x.view(), work, &probability);
    CHECK_NEAR(probability, 1.0 / (1.0 + std::exp(-margin(x))), 1e-5);
    const bool positive = random.chance(0.4);
    const double rate = gamma / (1.0 + lambda * gamma * t);
    const double y = positive ? 1.0 : -1.0;
    const double gradient = -y / (1.0 + std::exp(y * margin(x)));
    for (std::size_t j = 0; j < x.ids.size(); ++j) w[x.ids[j]] -= rate * gradient * double{x.values[j]};
    w[10] -= rate * gradient;
    for (double& weight : w) weight /= 1.0 + lambda * rate;
    const std::uint32_t child = 0;
    block.learn(x.view(), std::span(&child, positive ? 1 : 0), 1.0F, Evidence::full, work);
  }
}

TEST("sibling block: predicting changes nothing, and features never learnt count for nothing") {
  Random random(2);
  Workspace work;
  for (const LearnerKind kind : kEveryLearner) {
    const LearnerOptions options = options_for(kind);
    SiblingBlock block(options, 5, true);
    for (int i = 0; i < 30; ++i)
      block.learn(random_example(random, 20, 0.3).view(), random_subset(random, 5, 0.3), 1.0F, Evidence::full, work);
    const Contents before = contents(block, options);
    Example known = random_example(random, 20, 0.5);
    std::vector<float> without(5);
    block.predict(known.view(), work, without.data());
    known.ids.insert(known.ids.end(), {50, 1'000'000, 0x7ffffffe});
    known.values.insert(known.values.end(), {1.0F, -1.0F, 1e9F});
    std::vector<float> with(5);
    block.predict(known.view(), work, with.data());
    CHECK(same_bits(with, without));
    CHECK(same(contents(block, options), before));
  }
}

TEST("sibling block: features with the value 0 do no harm") {
  Workspace work;
  for (const LearnerKind kind : kEveryLearner) {
    const LearnerOptions options = options_for(kind);
    SiblingBlock block(options, 2, true);
    const Example zeros{{3, 8}, {0.0F, -0.0F}};
    for (int i = 0; i < 10; ++i) block.learn(zeros.view(), {}, 1.0F, Evidence::full, work);
    block.learn(Features{}, {}, 1.0F, Evidence::full, work);
    CHECK_EQ(block.features().size(), 2U);
    const Contents found = contents(block, options);
    CHECK(std::ranges::all_of(found.weights, [](float w) { return std::isfinite(w); }));
    CHECK_EQ(found.weight(1, 0), 0.0F);
  }
}

// Every row contradicts the previous one in a feature that is certain by now, and so must move an uncertain one. Plain
// AROW would multiply the weights by any factor in every step.
TEST("sibling block: no chain of examples drives the weights out of range") {
  Workspace work;
  for (const LearnerKind kind : kEveryLearner) {
    for (const float r : {1e-30F, 0.01F, 1.0F, 1e30F}) {
      for (const float weight : {1e-40F, 1.0F, 1e6F}) {
        LearnerOptions options = options_for(kind);
        options.rate = 1e6F;
        options.epsilon = options.r = r;
        SiblingBlock block(options, 1, true);
        Example x{{0}, {1e9F}};
        for (FeatureId f = 1; f < 200; ++f) {
          float margin = 0.0F;
          block.margins(x.view(), work, &margin);
          const std::uint32_t child = 0;
          block.learn(x.view(), std::span(&child, margin > 0.0F ? 0 : 1), weight,
                      f % 3 != 0 ? Evidence::full : Evidence::again, work);
          const float state =
              kind == LearnerKind::arow ? contents(block, options).state_of(block.features().size(), 0) : 1.0F;
          x = {{f - 1, f}, {1e9F, 1e9F * std::sqrt(state)}};
        }
        const Contents found = contents(block, options);
        for (const float w : found.weights) CHECK(std::abs(w) <= 1e25F);  // the limit of archives
        for (const float s : found.state) CHECK(s >= 0.0F && s <= 1e32F);
        for (std::size_t row = 0; row < found.rows(); ++row) CHECK(std::isfinite(found.weight(row, 1)));
      }
    }
  }
}

// --- columns: the properness of OPLT, block by block ----------------------------------------------------------------

struct Lesson {
  Example x;
  std::vector<std::uint32_t> positives;
  float weight;
  Evidence evidence;
};

std::vector<Lesson> lessons(Random& random, std::size_t n, std::uint32_t children) {
  std::vector<Lesson> all;
  for (std::size_t i = 0; i < n; ++i) {
    const bool fresh = all.empty() || random.chance(0.6);
    const Example x = fresh ? random_example(random, 30, 0.2) : all[random.below(static_cast<std::uint32_t>(i))].x;
    all.push_back({x, random_subset(random, children, 0.2), random.between(0.5F, 2.0F), evidence_of(random, fresh)});
  }
  return all;
}

void teach(SiblingBlock& block, std::span<const Lesson> all, Workspace& work) {
  for (const Lesson& lesson : all) block.learn(lesson.x.view(), lesson.positives, lesson.weight, lesson.evidence, work);
}

TEST("sibling block: an added leaf is as if it had been negative from the start") {
  Workspace work;
  for (const LearnerKind kind : kEveryLearner) {
    const LearnerOptions options = options_for(kind);
    for (const std::uint32_t children : {0U, 1U, 2U, 3U, 4U, 7U, 8U, 15U, 16U, 31U}) {
      Random random(children);
      const std::vector<Lesson> early = lessons(random, 25, children);
      const std::vector<Lesson> late = lessons(random, 25, children + 1);
      SiblingBlock grown(options, children, true);
      teach(grown, early, work);
      grown.add_leaf();
      CHECK_EQ(grown.children(), children + 1);
      SiblingBlock whole(options, children + 1, true);
      teach(whole, early, work);
      CHECK(same(contents(grown, options), contents(whole, options)));
      teach(grown, late, work);
      teach(whole, late, work);
      CHECK(same(contents(grown, options), contents(whole, options)));
    }
  }
}

TEST("sibling block: a reset child is as if it had never been positive") {
  Workspace work;
  for (const LearnerKind kind : kEveryLearner) {
    const LearnerOptions options = options_for(kind);
    for (const std::uint32_t children : {1U, 2U, 5U, 8U, 12U}) {
      Random random(children);
      const std::vector<Lesson> all = lessons(random, 40, children);
      const std::uint32_t child = random.below(children);
      SiblingBlock block(options, children, true);
      teach(block, all, work);
      block.reset_child(child);
      SiblingBlock spared(options, children, true);
      for (Lesson lesson : all) {
        std::erase(lesson.positives, child);
        teach(spared, std::span(&lesson, 1), work);
      }
      CHECK(same(contents(block, options), contents(spared, options)));
    }
  }
}

TEST("sibling block: the block of a node inserted above is as if it had been there from the start") {
  Workspace work;
  for (const LearnerKind kind : kEveryLearner) {
    const LearnerOptions options = options_for(kind);
    for (const std::uint32_t children : {0U, 1U, 4U, 9U, 20U}) {
      Random random(children);
      const std::vector<Lesson> early = lessons(random, 30, children);
      SiblingBlock block(options, children, true);
      teach(block, early, work);
      const Contents before = contents(block, options);
      SiblingBlock above = block.parent_block();
      CHECK(same(contents(block, options), before));
      SiblingBlock from_the_start(options, 1, true);
      for (Lesson lesson : early) {
        lesson.positives = {0};
        teach(from_the_start, std::span(&lesson, 1), work);
      }
      CHECK(same(contents(above, options), contents(from_the_start, options)));
      above.add_leaf();
      from_the_start.add_leaf();
      const std::vector<Lesson> late = lessons(random, 10, 2);
      teach(above, late, work);
      teach(from_the_start, late, work);
      CHECK(same(contents(above, options), contents(from_the_start, options)));
    }
  }
}

TEST("sibling block: the children learn the same with and without theta") {
  Workspace work;
  for (const LearnerKind kind : kEveryLearner) {
    const LearnerOptions options = options_for(kind);
    for (const std::uint32_t children : {1U, 2U, 4U, 8U, 16U, 40U}) {  // 2, 4, …: theta makes the rows wider
      Random random(children);
      SiblingBlock with(options, children, true);
      SiblingBlock without(options, children, true);
      const std::vector<Lesson> early = lessons(random, 25, children);
      const std::vector<Lesson> late = lessons(random, 25, children);
      teach(with, early, work);
      teach(without, early, work);
      without.drop_theta();
      CHECK(!without.has_theta());
      CHECK_EQ(without.children(), children);
      CHECK_EQ(without.columns(), children);
      teach(with, late, work);
      teach(without, late, work);
      const Contents expected = contents(with, options);
      const Contents found = contents(without, options);
      for (std::uint32_t c = 0; c < children; ++c) CHECK(same_column(found, c, expected, c));
    }
  }
}

// Whatever has happened to its rows (their width, the columns beyond the last), a block continues like one that was
// just loaded from its saved state.
TEST("sibling block: rows are consistent after any history of columns") {
  Workspace work;
  for (const LearnerKind kind : kEveryLearner) {
    const LearnerOptions options = options_for(kind);
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      Random random(seed);
      SiblingBlock block(options, random.below(4), true);
      for (int step = 0; step < 40; ++step) {
        const Contents before = contents(block, options);
        const std::uint32_t theta = before.columns() - 1;
        const std::uint32_t choice = random.below(10);
        if (choice < 5) {
          teach(block, lessons(random, 3, block.children()), work);
        } else if (choice < 8) {
          block.add_leaf();
          const Contents after = contents(block, options);
          for (std::uint32_t c = 0; c < theta; ++c) CHECK(same_column(after, c, before, c));
          CHECK(same_column(after, theta, before, theta, true));
          CHECK(same_column(after, theta + 1, before, theta));
        } else if (choice == 8 && block.children() > 0) {
          const std::uint32_t child = random.below(block.children());
          block.reset_child(child);
          const Contents after = contents(block, options);
          for (std::uint32_t c = 0; c <= theta; ++c) {
            if (c == child) CHECK(same_column(after, c, before, theta, true));
            else CHECK(same_column(after, c, before, c));
          }
        } else if (choice == 9) {
          block = block.parent_block();
          const Contents after = contents(block, options);
          CHECK_EQ(after.children, 1U);
          CHECK(same_column(after, 0, before, theta));
          CHECK(same_column(after, 1, before, theta));
        }
      }
      if (random.chance(0.5) && block.children() > 0) block.drop_theta();
      const Contents stored = contents(block, options);
      SiblingBlock loaded(options, stored.view());
      CHECK(same(contents(loaded, options), stored));
      const std::vector<Lesson> late = lessons(random, 20, block.children());
      teach(block, late, work);
      teach(loaded, late, work);
      if (block.has_theta()) {
        block.add_leaf();
        loaded.add_leaf();
        teach(block, late, work);
        teach(loaded, late, work);
      }
      CHECK(same(contents(loaded, options), contents(block, options)));
    }
  }
}

TEST("sibling block: many rows move to pages of their own, and back when they become narrow") {
  Workspace work;
  const LearnerOptions options = options_for(LearnerKind::arow);
  Random random(3);
  SiblingBlock block(options, 2, true);
  SiblingBlock wide(options, 24, true);
  for (int i = 0; i < 40; ++i) {
    const Example x = random_example(random, 4000, 0.3);
    const auto positives = random_subset(random, 2, 0.4);
    block.learn(x.view(), positives, 1.0F, Evidence::full, work);
    wide.learn(x.view(), positives, 1.0F, Evidence::full, work);
  }
  while (block.children() < 24) block.add_leaf();
  CHECK(same(contents(block, options), contents(wide, options)));
  CHECK_EQ(block.rows(), 4001U);
  const std::size_t bytes = block.bytes();
  CHECK(bytes >= 4001 * 25 * (sizeof(BFloat16) + sizeof(Variance)));
  block.drop_theta();  // rows become narrower
  wide.drop_theta();
  CHECK(block.bytes() + 4001 * (sizeof(BFloat16) + sizeof(Variance)) <= bytes);
  CHECK(same(contents(block, options), contents(wide, options)));
  const Example x = random_example(random, 4100, 0.3);
  block.learn(x.view(), {}, 1.0F, Evidence::full, work);
  wide.learn(x.view(), {}, 1.0F, Evidence::full, work);
  CHECK(same(contents(block, options), contents(wide, options)));
}

TEST("sibling block: new features reuse the places of features that left a shared row") {
  Workspace work;
  SiblingBlock block(options_for(LearnerKind::arow), 1, true);
  for (FeatureId first = 0; first < 2000; first += 20) {
    Example x;
    for (FeatureId f = first; f < first + 20; ++f) x.ids.push_back(f), x.values.push_back(0.5F);
    for (int i = 0; i < 2; ++i) block.learn(x.view(), {}, 1.0F, Evidence::full, work);
  }
  CHECK_EQ(block.rows(), 2001U);
  const std::size_t rows = 2001 * 2 * (sizeof(BFloat16) + sizeof(Variance)) + 4096;
  const std::size_t members = 2001 * 5 + 64;
  CHECK(block.bytes() <= block.features().bytes() + rows + members + sizeof(SiblingBlock) + 1024);
}

TEST("sibling block: weights read in place predict the same") {
  Workspace work;
  Random random(4);
  for (const LearnerKind kind : kEveryLearner) {
    const LearnerOptions options = options_for(kind);
    for (const std::uint32_t children : {1U, 3U, 8U, 21U}) {
      SiblingBlock block(options, children, false);
      teach(block, lessons(random, 30, children), work);
      const Contents stored = contents(block, options);
      const StoredBlock borrowing(options, stored.view());
      for (int i = 0; i < 10; ++i) {
        const Example x = random_example(random, 40, 0.3);
        std::vector<float> owned(children);
        std::vector<float> borrowed(children);
        block.predict(x.view(), work, owned.data());
        borrowing.predict(x.view(), work, borrowed.data());
        CHECK(same_bits(owned, borrowed));
        const LinearBlock linear = block.linear();
        for (std::uint32_t c = 0; c < children; ++c) {
          std::vector<float> added(x.ids.size(), -1.0F);
          double margin = double{block.contributions(x.view(), c, added.data())};
          for (const float one : added) margin += double{one};
          CHECK_NEAR(double{owned[c]}, 1.0 / (1.0 + std::exp(-margin)), 1e-5);
          double sum = double{linear.weights[c]};
          for (std::size_t f = 0; f < linear.features.size(); ++f) {
            const auto at = static_cast<std::size_t>(std::ranges::find(x.ids, linear.features[f]) - x.ids.begin());
            if (at < x.ids.size()) sum += double{linear.weights[(f + 1) * children + c]} * double{x.values[at]};
          }
          CHECK_NEAR(double{linear.scale} * sum, margin, 1e-4);
        }
      }
      CHECK(borrowing.bytes() < block.bytes());
      CHECK(same_bits(Contents(borrowing, false).weights, stored.weights));
    }
  }
}

// Three children of a batch model, for the features 0, 2, …, 38, and a block that inherits them.
class Batch {
 public:
  explicit Batch(Random& random) {
    for (FeatureId f = 0; f < 40; f += 2) {
      linear_.features.push_back(f);
      for (int c = 0; c < 3; ++c) linear_.weights.push_back(random.chance(0.4) ? random.between(-2.0F, 2.0F) : 0.0F);
    }
    arrays_ = compacted(sparse(linear_), {});
    arrays_.rows.resize(arrays_.rows.size() + kBytesBehind);
    const CompactRows rows{3,
                           WeightType::float32,
                           arrays_.multiplier,
                           static_cast<std::uint32_t>(arrays_.index.size()),
                           arrays_.index.data(),
                           arrays_.offsets.data(),
                           arrays_.rows.data(),
                           arrays_.bias.data()};
    from_ = std::make_unique<CompactBlock>(linear_.link, linear_.scale, rows, arrays_.features, 0);
  }
  BlockView view() const {
    BlockView view{3, true, 7, {}, bias_.data(), states_.data()};
    view.inherited = {from_.get(), 1, 0.5F};
    return view;
  }

 private:
  LinearBlock linear_{Link::logistic, 1.0F, 3, {}, {0.5F, -0.5F, 0.25F}};
  CompactedBlock arrays_;
  std::unique_ptr<CompactBlock> from_;
  std::vector<float> bias_{0.5F, -0.5F, 0.25F, 1.0F};
  std::vector<float> states_{0.75F, 0.75F, 0.75F, 0.75F};
};

TEST("sibling block: inherited features are as if they had rows from the start") {
  for (const LearnerKind kind : {LearnerKind::arow, LearnerKind::adagrad}) {
    Random random(5);
    const LearnerOptions options = options_for(kind);
    const Batch batch(random);
    const BlockView view = batch.view();
    SiblingBlock heir(options, view);
    SiblingBlock eager(options, view);
    eager.restore_inherited();
    CHECK(eager.inherited() == nullptr);
    CHECK_EQ(heir.rows(), 1U);
    CHECK_EQ(eager.rows(), 21U);
    const auto same_bytes = [&] {
      Workspace work;
      for (int i = 0; i < 20; ++i) {
        const Example x = random_example(random, 45, 0.2);
        for (std::uint32_t c = 0; c < heir.children(); ++c) {
          std::vector<float> mine(heir.children()), theirs(heir.children());
          heir.predict(x.view(), work, mine.data());
          eager.predict(x.view(), work, theirs.data());
          CHECK(same_bits(mine, theirs));
          std::vector<float> added(x.ids.size()), expected(x.ids.size());
          CHECK(same_bits(heir.contributions(x.view(), c, added.data()),
                          eager.contributions(x.view(), c, expected.data())));
          CHECK(same_bits(added, expected));
        }
      }
      const LinearBlock mine = heir.linear();
      CHECK_EQ(mine.features.size(), eager.linear().features.size());
    };
    Workspace work;
    const auto learn = [&] {
      for (int i = 0; i < 3; ++i) {
        const Example x = random_example(random, 45, 0.1);
        const std::uint32_t positive[] = {static_cast<std::uint32_t>(random.below(heir.children()))};
        const Evidence evidence = evidence_of(random, i < 2);
        for (SiblingBlock* block : {&heir, &eager}) block->learn(x.view(), positive, 1.0F, evidence, work);
      }
      same_bytes();
    };
    learn();
    for (SiblingBlock* block : {&heir, &eager}) block->add_leaf();
    learn();
    for (SiblingBlock* block : {&heir, &eager}) block->reset_child(1);
    learn();
    {
      SiblingBlock above = heir.parent_block();
      SiblingBlock above_eager = eager.parent_block();
      CHECK(above.rows() < above_eager.rows());
      std::swap(heir, above);
      std::swap(eager, above_eager);
      learn();
      std::swap(heir, above);
      std::swap(eager, above_eager);
    }
    for (SiblingBlock* block : {&heir, &eager}) block->drop_theta();
    learn();
    CHECK(heir.rows() < eager.rows());
  }
}

TEST("sibling block: restored, children weigh features as they inherited them, and theta as it has learnt to") {
  for (const LearnerKind kind : {LearnerKind::arow, LearnerKind::adagrad}) {
    Random random(6);
    const LearnerOptions options = options_for(kind);
    const Batch batch(random);
    SiblingBlock block(options, batch.view());
    SiblingBlock fresh(options, batch.view());
    Workspace work;
    block.learn(Example{{1}, {1.0F}}.view(), {}, 1.0F, Evidence::full, work);
    for (std::uint32_t i = 0; i < 8; ++i) {
      const std::uint32_t positive[] = {i % 3};
      block.learn(random_example(random, 45, 0.1).view(), positive, 1.0F, Evidence::full, work);
    }
    const Contents before = contents(block, options);
    block.restore_inherited();
    fresh.restore_inherited();
    const std::uint32_t held = block.rows();
    block.restore_inherited();  // again changes nothing
    CHECK(block.inherited() == nullptr && block.rows() == held);
    const Contents after = contents(block, options);
    const Contents inherited = contents(fresh, options);
    const auto row_of = [](const Contents& in, std::size_t row, const Contents& other) {
      if (row == 0) return std::ptrdiff_t{0};
      const auto found = std::ranges::find(in.features, other.features[row - 1]);
      return found == in.features.end() ? -1 : found - in.features.begin() + 1;
    };
    CHECK(before.features.size() > 10 && before.features.size() < after.features.size());
    for (std::size_t row = 0; row < after.rows(); ++row) {
      const auto learnt = row_of(before, row, after), original = row_of(inherited, row, after);
      for (std::uint32_t c = 0; c < 3; ++c) {
        const float weight = original < 0 ? 0.0F : inherited.weight(static_cast<std::size_t>(original), c);
        CHECK_EQ(after.weight(row, c), weight);
      }
      if (learnt < 0) continue;
      const auto at = static_cast<std::size_t>(learnt);
      CHECK_EQ(after.weight(row, 3), before.weight(at, 3));
      for (std::uint32_t c = 0; c < 4; ++c) CHECK_EQ(after.state_of(row, c), before.state_of(at, c));
    }
  }
}

TEST("sibling block: the count bounds the memory, and grows no more than announced") {
  for (const LearnerKind kind : kEveryLearner) {
    SiblingBlock block(options_for(kind), 60, true);
    Workspace work;
    Random random(4);
    std::uint64_t counted = 0;
    std::uint64_t held = 0;
    for (int i = 0; i < 40; ++i) {
      const std::uint64_t before = block.most_bytes();
      const std::uint32_t known = block.features().size();
      const Example example = random_example(random, 1'000, i % 4 == 3 ? 0.05 : 0.004);
      block.learn(example.view(), {}, 1.0F, Evidence::full, work);
      const std::uint64_t newcomers = block.features().size() - known;
      // Takes shared rows apart, too.
      const std::uint64_t most = std::max<std::uint64_t>(newcomers, example.ids.size());
      CHECK(block.most_bytes() <= before + block.growth(most, 61));
      CHECK(block.bytes() <= block.most_bytes());
      counted += block.most_bytes();
      held += block.bytes();
    }
    CHECK(counted < held + held / 4);
    CHECK(block.growth(200, 61) < 100 * block.growth(1, 61));  // at most one of them begins a page
  }
}

TEST("sibling block: learners with other losses are refused") {
  CHECK_THROWS(std::invalid_argument, SiblingBlock(options_for(LearnerKind::nag), 2, false));
  LearnerOptions squared = options_for(LearnerKind::sgd);
  squared.loss = Loss::squared;
  CHECK_THROWS(std::invalid_argument, SiblingBlock(squared, 2, false));
}

TEST("sibling block: a feature stored twice shows in the number of features") {
  const LearnerOptions options = options_for(LearnerKind::sgd);
  const std::vector<FeatureId> features{4, 9, 4};
  const std::vector<float> weights(4);
  const StoredBlock block(options, {1, false, 0, features, weights.data(), {}});
  CHECK_EQ(block.features().size(), 2U);  // this is how a damaged file is detected
}

}  // namespace
}  // namespace labelgrove::testing
