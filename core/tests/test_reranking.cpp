#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "harness.hpp"
#include "labelgrove/elementary.hpp"
#include "labelgrove/reranking.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

using Number = std::pair<std::size_t, double>;

constexpr std::size_t kLabels = 4;
constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

// Examples whose first label is the best to the first stage, and whose right label is the nearest.
void show(Reranking& reranking, int n, bool near_is_right, std::array<double, kLabels>& logits) {
  Random random(7);
  for (int i = 0; i < n; ++i) {
    const std::array<float, kLabels> probabilities{0.6F, 0.5F, 0.4F, kNone};
    std::array<double, kLabels> cosines{};
    for (double& cosine : cosines) cosine = static_cast<double>(random.between(0.0F, 1.0F));
    const auto nearest = std::max_element(cosines.begin(), cosines.begin() + 3) - cosines.begin();
    std::array<bool, kLabels> right{};
    right[near_is_right ? static_cast<std::size_t>(nearest) : 0] = true;
    reranking.learn(probabilities, cosines, std::array<double, kLabels>{1.0, 1.0, 1.0, 1.0}, right.data(),
                    logits.data());
  }
}

TEST("reranking: new, it is the identity of the log-odds up to 8") {
  const Reranking reranking;
  CHECK(reranking.logit(0.25F, 0.9) == log_odds(0.25));
  CHECK(reranking.logit(0.0F, 0.9) == -8.0 && reranking.logit(1.0F, 0.9) == 8.0);
  CHECK(std::isnan(reranking.logit(kNone, 0.9)));
}

TEST("reranking: it learns that near labels are right, and what that would have gained") {
  Reranking reranking;
  std::array<double, kLabels> logits{};
  show(reranking, 400, true, logits);
  CHECK(std::isnan(logits[3]) && !std::isnan(logits[2]));
  CHECK(reranking.logit(0.4F, 1.0) > reranking.logit(0.6F, 0.0));
  CHECK(reranking.gain()[0] > 0.0 && reranking.gain()[1] > 0.0);

  Reranking other;
  show(other, 400, false, logits);
  CHECK(other.logit(0.6F, 0.0) > other.logit(0.5F, 1.0));
  CHECK(other.gain()[0] <= 0.0);
}

TEST("reranking: a gain is the rise of the mean of P@1, P@3 and P@5 by what a label is worth") {
  Reranking reranking;
  const std::array<float, 2> probabilities{0.5F, 0.4F};
  const std::array<bool, 2> right{false, true};
  std::array<double, 2> logits{};
  reranking.learn(probabilities, std::array{0.0, 0.0}, std::array{1.0, 3.0}, right.data(), logits.data());
  CHECK(logits[0] == 0.0 && logits[1] == log_odds(static_cast<double>(0.4F)));
  CHECK_NEAR(reranking.gain()[0], 3.0 / 3.0, 1e-12);  // only P@1 rises: 0.4 times 3 is more than 0.5
  CHECK_NEAR(reranking.gain()[1], 1.0, 1e-12);
}

TEST("reranking: an example without labels teaches nothing") {
  Reranking reranking;
  double logit = 0.0;
  const bool right = true;
  reranking.learn(std::array{kNone}, std::array{0.5}, std::array{1.0}, &right, &logit);
  CHECK(std::isnan(logit) && reranking.numbers() == Reranking().numbers());
}

TEST("reranking: its numbers are all that it is") {
  Reranking reranking;
  std::array<double, kLabels> logits{};
  show(reranking, 20, true, logits);
  Reranking again(reranking.numbers());
  show(reranking, 5, false, logits);
  show(again, 5, false, logits);
  CHECK(again.numbers() == reranking.numbers());
}

TEST("reranking: numbers that cannot be are refused") {
  const auto good = Reranking().numbers();
  CHECK(Reranking(good).numbers() == good);
  CHECK_THROWS(std::invalid_argument, Reranking(std::span(good).first(13)));
  std::vector<double> longer(good.begin(), good.end());
  longer.push_back(0.0);
  CHECK_THROWS(std::invalid_argument, Reranking{longer});
  for (const auto& [at, wrong] : {Number{1, -1.0}, Number{5, 0.0}, Number{6, 0.5}, Number{11, 0.5}, Number{12, 0.5},
                                  Number{0, std::numeric_limits<double>::infinity()}}) {
    auto damaged = good;
    damaged[at] = wrong;
    CHECK_THROWS(std::invalid_argument, Reranking{damaged});
  }
  auto indefinite = good;
  indefinite[6] = indefinite[8] = 2.0;  // symmetric, with a negative eigenvalue
  CHECK_THROWS(std::invalid_argument, Reranking{indefinite});
}

}  // namespace
}  // namespace labelgrove::testing
