#include <algorithm>
#include <cmath>
#include <vector>

#include "harness.hpp"
#include "labelgrove/calibration.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

constexpr std::size_t kBins = MarginCounts::kBins;

float centre(std::size_t bin) { return (static_cast<float>(bin) + 0.5F) / 32.0F - 4.0F; }

std::vector<float> curve(const Calibration& calibration, std::uint8_t rarity = 0) {
  const std::vector<std::uint8_t> rarities(kBins, rarity);
  std::vector<float> margins(kBins);
  std::vector<float> probabilities(kBins);
  for (std::size_t bin = 0; bin < kBins; ++bin) margins[bin] = centre(bin);
  calibration.apply(margins.data(), rarities.data(), kBins, probabilities.data());
  return probabilities;
}

TEST("calibration: with few positives it is the link of the squared hinge") {
  MarginCounts counts;
  for (int i = 0; i < 19; ++i) counts.add(-1.0F, true, 0);
  const std::vector<float> found = curve(Calibration(counts));
  CHECK(!Calibration(counts).measured());
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    const double loss = std::max(0.0, 1.0 - static_cast<double>(centre(bin)));
    CHECK_NEAR(found[bin], std::exp(-loss * loss), 1e-6);
  }
  CHECK(curve(Calibration(counts), 4) == found);
  counts.add(-1.0F, true, 0);
  CHECK(Calibration(counts).measured());
  for (const float probability : curve(Calibration(counts))) CHECK(probability > 0.0F && probability < 1.0F);
}

TEST("calibration: it finds the probabilities that the counts were drawn from, and keeps the order of siblings") {
  Random random(3);
  MarginCounts counts;
  for (int i = 0; i < 200'000; ++i) {
    const float margin = random.between(-2.0F, 2.0F);
    counts.add(margin, random.chance(1.0 / (1.0 + std::exp(-3.0 * static_cast<double>(margin) - 0.5))), 2);
  }
  const std::vector<float> found = curve(Calibration(counts));
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    if (bin > 0) CHECK(found[bin] > found[bin - 1]);
    if (std::fabs(centre(bin)) < 1.9F) {
      CHECK_NEAR(found[bin], 1.0 / (1.0 + std::exp(-3.0 * static_cast<double>(centre(bin)) - 0.5)), 0.03);
    }
  }
}

TEST("calibration: margins beyond the range, and NaN, are no danger") {
  MarginCounts counts;
  for (int i = 0; i < 200; ++i) counts.add(static_cast<float>(i % 7) - 3.0F, i % 7 > 3, 0);
  const float nan = std::nanf("");
  for (const float margin : {-1e30F, 1e30F, nan}) counts.add(margin, true, 0);
  const std::vector<float> margins{-1e30F, -4.0F, 4.0F, 1e30F, nan};
  std::vector<float> found(5);
  Calibration(counts).apply(margins.data(), nullptr, 5, found.data());
  CHECK(found[0] == found[1] && found[0] > 0.0F && found[2] == found[3] && found[3] < 1.0F);
  CHECK(std::isnan(found[4]));
}

TEST("calibration: a few sure children above many nearly sure ones do not make the curve fall") {
  MarginCounts counts;
  for (int i = 0; i < 10'000; ++i) counts.add(1.0F, i >= 1000, 0);
  for (int i = 0; i < 3; ++i) counts.add(2.0F, true, 0);
  const std::vector<float> found = curve(Calibration(counts));
  for (std::size_t bin = 1; bin < kBins; ++bin) CHECK(found[bin] > found[bin - 1]);
}

TEST("calibration: rarities are bounded by powers of a quarter") {
  CHECK_EQ(rarity_of(0, 0), 0);
  for (const std::uint64_t examples : {1U, 7U, 64U, 255U, 1000U, 100'003U}) {
    for (const std::uint64_t positives : {0U, 1U, 2U, 3U, 4U, 15U, 16U, 17U, 250U, 251U, 391U, 1563U, 25'001U}) {
      if (positives > examples) continue;
      std::uint64_t rarity = 0;
      for (std::uint64_t share = 4; rarity < kRarities - 1 && positives * share < examples; share *= 4) ++rarity;
      CHECK_EQ(std::uint64_t{rarity_of(positives, examples)}, rarity);
    }
  }
}

TEST("calibration: every rarity has a curve of its own, which is that of all if it has no children") {
  Random random(5);
  MarginCounts counts;
  const auto right = [](float margin, double offset) {
    return 1.0 / (1.0 + std::exp(-3.0 * static_cast<double>(margin) - offset));
  };
  for (int i = 0; i < 200'000; ++i) {
    const float margin = random.between(-2.0F, 2.0F);
    counts.add(margin, random.chance(right(margin, 2.0)), 1);
    counts.add(margin, random.chance(right(margin, -2.0)), 3);
  }
  const Calibration calibration(counts);
  const std::vector<float> of_all = curve(calibration, 0);
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    if (std::fabs(centre(bin)) > 1.9F) continue;
    CHECK_NEAR(curve(calibration, 1)[bin], right(centre(bin), 2.0), 0.1);
    CHECK_NEAR(curve(calibration, 3)[bin], right(centre(bin), -2.0), 0.1);
    CHECK_NEAR(of_all[bin], (right(centre(bin), 2.0) + right(centre(bin), -2.0)) / 2.0, 0.03);
  }
  CHECK(of_all == curve(calibration, 4));
}

TEST("calibration: a curve that falls where few children are is not lifted elsewhere") {
  MarginCounts counts;
  const auto add = [&](float margin, int negatives, int positives, std::uint8_t rarity) {
    for (int i = 0; i < negatives; ++i) counts.add(margin, false, rarity);
    for (int i = 0; i < positives; ++i) counts.add(margin, true, rarity);
  };
  const int negatives[] = {100'000, 50'000, 20'000, 8000, 2000};
  const int positives[] = {50, 150, 600, 3000, 8000};
  for (int i = 0; i < 5; ++i) add(static_cast<float>(i) - 3.0F, negatives[i], positives[i], 4);
  add(-3.0F, 30, 90, 1);
  add(-1.0F, 900, 100, 1);
  add(0.0F, 500, 500, 1);
  const std::vector<float> found = curve(Calibration(counts), 1);
  for (std::size_t bin = 1; bin < kBins; ++bin) CHECK(found[bin] > found[bin - 1]);
  CHECK_NEAR(found[32], 0.162, 0.002);  // these are the twin's, too
  CHECK_NEAR(found[96], 0.184, 0.002);
  CHECK_NEAR(found[128], 0.477, 0.002);
  CHECK_NEAR(found[160], 0.932, 0.002);
}

TEST("calibration: counts add up in any order") {
  Random random(4);
  MarginCounts all;
  MarginCounts halves[2];
  for (int i = 0; i < 1000; ++i) {
    const float margin = random.between(-2.0F, 2.0F);
    const bool positive = random.below(2) == 1;
    const auto rarity = static_cast<std::uint8_t>(random.below(kRarities));
    all.add(margin, positive, rarity);
    halves[random.below(2)].add(margin, positive, rarity);
  }
  halves[1].add(halves[0]);
  CHECK(halves[1].negatives() == all.negatives() && halves[1].positives() == all.positives());
}

}  // namespace
}  // namespace labelgrove::testing
