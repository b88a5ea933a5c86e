#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "harness.hpp"
#include "labelgrove/elementary.hpp"
#include "labelgrove/score_calibration.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

constexpr std::size_t kKnots = ScoreCalibration::kKnots;

// Labels that are right half as often as their scores say.
void add_examples(ScoreCalibration& calibration, int n) {
  Random random(5);
  for (int i = 0; i < n; ++i) {
    std::array<double, 3> logits{};
    std::array<bool, 3> right{};
    for (std::size_t j = 0; j < 3; ++j) {
      const auto score = static_cast<double>(random.between(0.05F, 0.95F));
      logits[j] = log_odds(score);
      right[j] = random.chance(score / 2.0);
    }
    calibration.add(logits, right.data(), 0.999);
  }
}

double at(const ScoreCalibration& calibration, double logit, std::size_t place = 0) {
  double found = 0.0;
  calibration.apply(std::span(&logit, 1), std::span(&place, 1), &found);
  return found;
}

TEST("score calibration: new, it is the identity but for the tilt") {
  const ScoreCalibration calibration(4);
  for (const float p : {0.01F, 0.3F, 0.5F, 0.99F}) {
    CHECK_NEAR(at(calibration, log_odds(static_cast<double>(p))), static_cast<double>(p), 0.02);
  }
  CHECK_EQ(calibration.curve().fall, 0.0);
  const std::vector<double> empty(4 * kKnots);
  CHECK_EQ(ScoreCalibration(calibration.weight(), empty, empty, {}).curve().fall, 0.0);
}

TEST("score calibration: counts of earlier examples are discounted, within limits") {
  ScoreCalibration calibration(2);
  const double missing = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  const bool right[] = {false, true, true};
  calibration.add(std::array{missing, 0.0, infinity}, right, 1.0);
  const double once = 1.0 / (1.0 - 0x1p-12);
  CHECK_EQ(calibration.weight(), once);
  CHECK_EQ(calibration.counts()[kKnots + kKnots / 2], once);
  CHECK_EQ(calibration.counts()[2 * kKnots - 1], once);
  CHECK_EQ(calibration.counts()[kKnots / 2], 0.0);
  calibration.add(std::array{missing}, right, 0.0);
  CHECK_EQ(calibration.weight(), once);
  CHECK_EQ(calibration.counts()[kKnots + kKnots / 2], 0x1p-10 * once);
  CHECK_EQ(calibration.hits()[kKnots + kKnots / 2], 0x1p-10 * once);
}

TEST("score calibration: places further down share groups, each of which counts as one") {
  ScoreCalibration calibration(32);
  const std::vector<double> logits(40);
  const auto right = std::make_unique<bool[]>(logits.size());
  calibration.add(logits, right.get(), 1.0);
  const std::vector<double> sizes{1, 1, 1, 1, 1, 1, 1, 1, 1, 9.0 / 16.0};
  CHECK_EQ(calibration.counts().size(), sizes.size() * kKnots);
  for (std::size_t group = 0; group < sizes.size(); ++group)
    CHECK_EQ(calibration.counts()[group * kKnots + kKnots / 2], sizes[group] * calibration.weight());
}

TEST("score calibration: it learns how often labels are right") {
  ScoreCalibration calibration(1);
  at(calibration, 0.0);  // must not be remembered
  add_examples(calibration, 3000);
  for (const double p : {0.2, 0.5, 0.8}) CHECK_NEAR(at(calibration, log_odds(p)), p / 2.0, 0.05);
}

// Classes that are the only right one in proportion to this power of their odds.
void add_classes(ScoreCalibration& calibration, double power, int n) {
  Random random(8);
  for (int i = 0; i < n; ++i) {
    std::array<double, 4> logits{};
    std::array<double, 4> upto{};
    double total = 0.0;
    for (std::size_t j = 0; j < 4; ++j) {
      logits[j] = static_cast<double>(random.between(-3.0F, 3.0F));
      upto[j] = total += std::exp(power * logits[j]);
    }
    const double drawn = total * random.uniform();
    const auto only = static_cast<std::size_t>(std::ranges::count_if(upto, [&](double sum) { return sum <= drawn; }));
    bool right[4]{};
    right[only] = true;
    calibration.add(logits, right, 1.0);
  }
}

TEST("score calibration: of classes that compete, it learns the power of their odds") {
  for (const double power : {0.5, 1.0, 2.5}) {
    ScoreCalibration calibration(3);
    add_classes(calibration, power, 2000);
    CHECK_NEAR(calibration.power(1.0), power, 0.25);
  }
  ScoreCalibration changed(3);  // it forgets
  add_classes(changed, 3.0, 1000);
  add_classes(changed, 0.5, 20000);
  CHECK_EQ(changed.power(1.0), 0.5);
}

TEST("score calibration: rankings with no or several right labels say nothing of classes that compete") {
  ScoreCalibration calibration(3);
  const double infinity = std::numeric_limits<double>::infinity();
  const std::array logits{infinity, 0.0, -infinity, std::nan("")};
  for (const auto& right : {std::array{true, true, false, false}, std::array{false, false, false, true}})
    calibration.add(logits, right.data(), 1.0);
  for (const double expected : {0.25, 1.5, 4.0}) CHECK_EQ(calibration.power(expected), expected);
  for (const std::size_t only : {0U, 2U}) {  // certain, and right once
    std::array<bool, 4> right{};
    right[only] = true;
    calibration.add(logits, right.data(), 1.0);
  }
  CHECK_EQ(calibration.power(1.0), 0.25);
}

TEST("score calibration: few rankings, and those of a single label, hardly change the power expected") {
  ScoreCalibration calibration(3);
  const bool right[] = {true, false};
  for (int i = 0; i < 500; ++i) calibration.add(std::array{-2.7}, right, 1.0);
  for (const double expected : {0.25, 1.5, 4.0}) CHECK_EQ(calibration.power(expected), expected);
  calibration.add(std::array{3.0, -3.0}, right, 1.0);
  for (const double expected : {1.0, 1.5, 4.0}) CHECK_EQ(calibration.power(expected), expected);
  for (int i = 0; i < 500; ++i) calibration.add(std::array{1.0, -1.0}, right, 1.0);
  for (const double expected : {0.25, 1.5, 4.0}) CHECK(calibration.power(expected) > 2.0);
}

TEST("score calibration: infinite log-odds are certain, and NaN stays NaN") {
  ScoreCalibration calibration(2);
  add_examples(calibration, 100);
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(at(calibration, infinity) == 1.0 && at(calibration, -infinity) == 0.0);
  CHECK(std::isnan(at(calibration, std::nan(""))));
}

TEST("score calibration: labels that reach a threshold have at least the uncalibrated score") {
  ScoreCalibration calibration(1);
  add_examples(calibration, 1000);
  const std::vector<float> thresholds{-1.0F, 0.0F, 1e-7F, 0.1F, 0.4F, 0.999F, 1.0F, 2.0F};
  std::vector<float> least(thresholds.size());
  calibration.uncalibrate(thresholds, 0, least.data());
  CHECK(least[0] == -1.0F && least[1] == 0.0F && least[7] == 2.0F);
  for (std::size_t i = 0; i < thresholds.size(); ++i) {
    for (int step = 1; step < 1000; ++step) {
      const float score = static_cast<float>(step) / 1000.0F;
      const auto found = static_cast<float>(at(calibration, log_odds(static_cast<double>(score))));
      CHECK(found < thresholds[i] || score >= least[i]);
    }
  }
}

TEST("score calibration: no rounding keeps a label that reaches a threshold below the uncalibrated score") {
  ScoreCalibration calibration(1);
  const bool right = true;
  for (int i = 0; i < 100; ++i) calibration.add(std::array{log_odds(0.9)}, &right, 0.999);
  std::vector<float> thresholds{1.0F};
  for (int i = 1; i < 300; ++i) thresholds.push_back(static_cast<float>(i) / 300.0F);
  std::vector<float> least(thresholds.size());
  calibration.uncalibrate(thresholds, 0, least.data());
  for (std::size_t i = 0; i < thresholds.size(); ++i) {
    float score = least[i];
    for (int step = 0; step < 3; ++step) {
      score = std::nextafter(score, 0.0F);
      CHECK(static_cast<float>(at(calibration, log_odds(static_cast<double>(score)))) < thresholds[i]);
    }
  }
  CHECK(least[0] < 1.0F);
}

TEST("score calibration: the last place stands for all later ones") {
  ScoreCalibration calibration(2);
  Random random(3);
  for (int i = 0; i < 500; ++i) {
    const bool right[] = {true, random.chance(0.2)};
    calibration.add(std::array{0.0, 0.0}, right, 0.999);
  }
  CHECK(calibration.curve().fall > 0.0);
  CHECK(at(calibration, 0.0, 1) < at(calibration, 0.0, 0));
  CHECK_EQ(at(calibration, 0.0, 9), at(calibration, 0.0, 1));
  const float threshold = 0.5F;
  float least[2]{};
  for (const std::size_t place : {1U, 9U}) calibration.uncalibrate(std::span(&threshold, 1), place, &least[place / 9]);
  CHECK_EQ(least[0], least[1]);
  float by_place[10]{};
  calibration.uncalibrate_by_place(threshold, by_place);
  CHECK_EQ(by_place[1], least[0]);
  CHECK_EQ(by_place[9], least[0]);
  CHECK(by_place[0] < least[0]);
}

TEST(
    "score calibration: the uncalibrated score of a threshold is calibrated to it, also beyond the ends of the curve") {
  ScoreCalibration calibration(2);
  add_examples(calibration, 1000);
  const std::vector<float> thresholds{1e-6F, 1e-3F, 0.1F, 0.4F, 0.9F, 0.999F, 0.999999F};
  for (const std::size_t place : {std::size_t{0}, std::size_t{1}}) {
    std::vector<float> least(thresholds.size());
    calibration.uncalibrate(thresholds, place, least.data());
    for (std::size_t i = 0; i < thresholds.size(); ++i) {
      const double found = at(calibration, log_odds(static_cast<double>(least[i])), place);
      CHECK_NEAR(log_odds(found), log_odds(static_cast<double>(thresholds[i])), 0.2);
    }
  }
}

TEST("score calibration: its parts are all that it is, and others are refused") {
  ScoreCalibration calibration(2);
  add_examples(calibration, 300);
  const std::vector<double> counts(calibration.counts().begin(), calibration.counts().end());
  const std::vector<double> hits(calibration.hits().begin(), calibration.hits().end());
  ScoreCalibration again(calibration.weight(), counts, hits, calibration.losses());
  add_examples(calibration, 5);
  add_examples(again, 5);
  CHECK(calibration.weight() == again.weight() && std::ranges::equal(calibration.counts(), again.counts()));
  CHECK(at(calibration, 0.5, 1) == at(again, 0.5, 1) && calibration.losses() == again.losses());
  std::vector<double> more(hits);
  more[20] = counts[20] + 1.0;
  using Bad = std::invalid_argument;
  std::vector<double> negative(hits);
  negative[20] = -1.0;
  for (const double loss : {-1.0, 1e308, std::nan("")}) {
    ScoreCalibration::Losses wrong{};
    wrong[3] = loss;
    CHECK_THROWS(Bad, ScoreCalibration(1.0, counts, hits, wrong));
  }
  const std::vector<double> few(kKnots);
  const std::vector<double> odd(kKnots + 1);
  const std::vector<double> none;
  CHECK_THROWS(Bad, ScoreCalibration(1.0, counts, more, {}));
  CHECK_THROWS(Bad, ScoreCalibration(2.0, counts, hits, {}));
  CHECK_THROWS(Bad, ScoreCalibration(1.0, std::vector<double>(2 * kKnots, 1e308), hits, {}));
  CHECK_THROWS(Bad, ScoreCalibration(1.0, std::vector<double>(2 * kKnots, std::nan("")), hits, {}));
  CHECK_THROWS(Bad, ScoreCalibration(1.0, none, none, {}));
  CHECK_THROWS(Bad, ScoreCalibration(1.0, counts, negative, {}));
  CHECK_THROWS(Bad, ScoreCalibration(1.0, few, std::vector<double>(2 * kKnots), {}));
  CHECK_THROWS(Bad, ScoreCalibration(1.0, odd, odd, {}));
  const std::vector<double> many(11 * kKnots);
  CHECK_THROWS(Bad, ScoreCalibration(1.0, many, many, {}));
}

}  // namespace
}  // namespace labelgrove::testing
