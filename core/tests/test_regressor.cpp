#include <algorithm>
#include <cmath>
#include <map>

#include "harness.hpp"
#include "labelgrove/regressor.hpp"
#include "labelgrove/sibling_block.hpp"
#include "stream.hpp"

namespace labelgrove::testing {
namespace {

LearnerOptions options_of(LearnerKind kind) {
  LearnerOptions options;
  options.kind = kind;
  options.rate = 0.25F;
  return options;
}

bool near(float a, float b, float tolerance) { return std::abs(a - b) < tolerance; }

float target(std::size_t i) { return i % 3 == 0 ? 1.0F : -1.0F; }

// Many features, so that tables grow and are hashed; few, so that they are direct; alternating between both; and
// colliding features.
std::vector<Stream> streams() {
  Random random(3);
  std::vector<Stream> all(4);
  for (std::size_t i = 0; i < 300; ++i) {
    all[0].x.push_back(random_example(random, 4000, 0.005));
    all[1].x.push_back(random_example(random, 12, 0.5));
    all[2].x.push_back(random_example(random, i < 150 ? 12 : 100000, i < 150 ? 0.5 : 0.0002));
    all[3].x.push_back(random_example(random, 1000, 0.02));
    for (FeatureId& id : all[3].x.back().ids) id *= kColliding;
    std::ranges::sort(all[3].x.back().ids);
  }
  return all;
}

// With unbounded probes this takes 10^10 steps.
TEST("a regressor finds features that the hash sends to the same slot") {
  const LearnerOptions options;
  constexpr std::uint32_t n = 200'000;
  std::vector<FeatureId> features;
  std::vector<float> weights{0.5F};
  for (std::uint32_t i = 0; i < n; ++i) {
    features.push_back(i * kColliding);
    weights.push_back(static_cast<float>(i));
  }
  const Regressor regressor(options, features, weights, {}, false);
  CHECK(regressor.crowded_out() > n / 2);
  CHECK_EQ(regressor.size(), n - 1U);  // all but the weight that is 0
  Workspace work;
  std::size_t wrong = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    const float one = 1.0F;
    wrong += regressor.margin({&features[i], &one, 1}, work) != 0.5F + static_cast<float>(i) ? 1 : 0;
  }
  CHECK_EQ(wrong, 0U);
}

// Each example undoes the step of the previous one, through a feature with the largest value and a weight that has
// grown.
TEST("AROW's weights stay finite, whatever it learns from") {
  for (const float r : {3.0F, 0.01F, 1e-6F}) {
    LearnerOptions options;
    options.r = r;
    Regressor regressor;
    regressor.start(options);
    Workspace work;
    std::vector<Regressor::Term> terms;
    constexpr float kLargestValue = 1e9F;
    for (FeatureId t = 1; t < 300; ++t) {
      regressor.collect(false, terms);
      const auto before = std::ranges::find(terms, t - 1, &Regressor::Term::feature);
      const float state = before == terms.end() ? 1.0F : before->state;
      const float target = before != terms.end() && before->weight > 0.0F ? -1.0F : 1.0F;
      const FeatureId ids[] = {t - 1, t};
      const float values[] = {kLargestValue, std::clamp(kLargestValue * std::sqrt(state), 1e-3F, kLargestValue)};
      const auto [margin, after] = regressor.learn(options, {ids, values, 2}, target, 1.0F, work);
      CHECK(std::isfinite(margin) && std::isfinite(after));
    }
    regressor.collect(false, terms);
    for (const Regressor::Term& term : terms) CHECK(std::abs(term.weight) <= 1e15F);
  }
}

// Except AROW, whose blocks round numbers to 16 bits. Its step is checked by PlainStep in test_sibling_block.cpp, and
// by LOMtree's reference implementation in Python.
TEST("a regressor learns what a sibling block of one column learns") {
  const std::vector<std::uint32_t> positive{0};
  for (const LearnerKind kind : {LearnerKind::adagrad, LearnerKind::sgd}) {
    const LearnerOptions options = options_of(kind);
    for (const Stream& stream : streams()) {
      Regressor regressor;
      regressor.start(options);
      SiblingBlock block(options, 1, false);
      Workspace work;
      for (const Example& x : stream.x) {  // each feature alone, so that it has a row of its own
        for (const FeatureId f : x.ids) {
          const Example alone{{f}, {0.0F}};
          regressor.learn(options, alone.view(), -1.0F, 1.0F, work);
          block.learn(alone.view(), {}, 1.0F, Evidence::full, work);
        }
      }
      for (std::size_t i = 0; i < stream.x.size(); ++i) {
        const Features x = stream.x[i].view();
        float expected;
        block.margins(x, work, &expected);
        CHECK(near(regressor.margin(x, work), expected, 1e-4F));
        const auto [before, after] = regressor.learn(options, x, target(i), 1.0F, work);
        CHECK(near(before, expected, 1e-4F));
        CHECK(near(after, regressor.margin(x, work), 1e-5F));
        block.learn(x, target(i) > 0.0F ? std::span(positive) : std::span<const std::uint32_t>(), 1.0F, Evidence::full,
                    work);
      }
      std::vector<Regressor::Term> terms;
      regressor.collect(false, terms);
      CHECK_EQ(terms.size(), regressor.size());
      CHECK(near(regressor.bias().weight, block.weight(0, 0), 1e-4F));
      std::map<FeatureId, float> weights;
      for (const auto& term : terms) weights[term.feature] = term.weight;
      for (std::uint32_t r = 1; r < block.rows(); ++r) {
        CHECK(near(weights[block.features().features()[r - 1]], block.weight(r, 0), 1e-4F));
      }
    }
  }
}

TEST("a regressor resumes unchanged after loading") {
  for (const LearnerKind kind : kEveryLearner) {
    const LearnerOptions options = options_of(kind);
    for (const Stream& stream : streams()) {
      Workspace work;
      Regressor whole;
      whole.start(options);
      for (std::size_t i = 0; i < 200; ++i) whole.learn(options, stream.x[i].view(), target(i), 1.0F, work);
      std::vector<Regressor::Term> terms;
      whole.collect(false, terms);
      CHECK(std::ranges::is_sorted(terms, {}, &Regressor::Term::feature));
      std::vector<FeatureId> features;
      std::vector<float> weights{whole.bias().weight};
      std::vector<float> states{whole.bias().state};
      for (const auto& term : terms) {
        features.push_back(term.feature);
        weights.push_back(term.weight);
        states.push_back(term.state);
      }
      Regressor again(options, features, weights, options.has_state() ? states : std::vector<float>(), true);
      const Regressor reader(options, features, weights, {}, false);
      for (std::size_t i = 0; i < 200; ++i) {
        const Features x = stream.x[i].view();
        CHECK(same_bits(reader.margin(x, work), whole.margin(x, work)));
        std::vector<float> added(x.size);
        const float bias = whole.margin_parts(x, added.data());
        float sum = bias;
        for (const float part : added) sum += part;
        CHECK(near(sum, whole.margin(x, work), 1e-5F));
      }
      for (std::size_t i = 200; i < 300; ++i) {
        const Features x = stream.x[i].view();
        CHECK(same_bits(whole.learn(options, x, target(i), 1.0F, work).after,
                        again.learn(options, x, target(i), 1.0F, work).after));
      }
    }
  }
}

TEST("a regressor takes no memory for features whose weight has not moved") {
  const LearnerOptions options = options_of(LearnerKind::arow);
  Regressor regressor;
  Workspace work;
  CHECK_EQ(regressor.bytes(), std::size_t{0});
  regressor.start(options);
  const Example known{{3, 9}, {0.5F, 0.5F}};
  for (int i = 0; i < 10; ++i) regressor.learn(options, known.view(), 1.0F, 1.0F, work);
  const std::size_t before = regressor.bytes();
  const Example more{{3, 9, 77}, {9.0F, 9.0F, 1.0F}};
  const auto [margin, after] = regressor.learn(options, more.view(), 1.0F, 1.0F, work);
  CHECK(same_bits(margin, after));
  CHECK_EQ(regressor.bytes(), before);
  CHECK_EQ(regressor.size(), std::size_t{2});
}

}  // namespace
}  // namespace labelgrove::testing
