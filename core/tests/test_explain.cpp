#include <cmath>
#include <memory>

#include "harness.hpp"
#include "labelgrove/explain.hpp"
#include "labelgrove/search.hpp"
#include "stream.hpp"

namespace labelgrove::testing {
namespace {

constexpr LabelId kLabels = 12;

std::unique_ptr<OnlinePlt> learnt(LearnerKind learner, Random& random) {
  auto model = std::make_unique<OnlinePlt>(small_options(Policy::best_greedy, learner, 1));
  learn(*model, random_stream(random, 120, kLabels));
  return model;
}

TEST("the product along a label's path is what a search finds, to the last bit") {
  Random random(1);
  for (const LearnerKind learner : kEveryLearner) {
    const auto model = learnt(learner, random);
    const Scope scope(model->tree());
    Searcher searcher({model->tree(), model->blocks()}, scope);
    for (int trial = 0; trial < 5; ++trial) {
      const Example x = random_example(random, 25, 0.3);
      std::vector<Scored> found;
      searcher.top_k(x.view(), kLabels, found);
      CHECK(found.size() == kLabels);
      for (const Scored& one : found) {
        const LabelPath path = explain_label(model->tree(), model->blocks(), x.view(), one.label);
        CHECK(path.nodes.front() == kRoot && path.nodes.back() == model->tree().leaf_of(one.label));
        float product = 1.0F;
        for (const float probability : path.probabilities) product *= probability;
        CHECK(same_bits(product, one.probability));
        std::vector<float> again;
        Workspace work;
        append_path(model->tree(), model->blocks(), x.view(), one.label, work, again);
        CHECK(same_bits(again, path.probabilities));
      }
    }
  }
}

TEST("what the features and the bias add up to is the margin of the probability") {
  Random random(2);
  for (const LearnerKind learner : kEveryLearner) {
    const auto model = learnt(learner, random);
    const Example x = random_example(random, 25, 0.5);  // features from 20 on are unknown
    for (LabelId label = 0; label < kLabels; ++label) {
      const LabelPath path = explain_label(model->tree(), model->blocks(), x.view(), label);
      for (std::size_t i = 0; i < path.nodes.size(); ++i) {
        double margin = static_cast<double>(path.bias[i]);
        for (std::size_t j = 0; j < x.ids.size(); ++j) {
          const float added = path.contributions[i * x.ids.size() + j];
          if (x.ids[j] >= 20) CHECK(same_bits(added, 0.0F));
          margin += static_cast<double>(added);
        }
        CHECK(std::abs(1.0 / (1.0 + std::exp(-margin)) - static_cast<double>(path.probabilities[i])) < 1e-5);
      }
    }
  }
}

TEST("a label without a leaf has no path") {
  Random random(3);
  const auto model = learnt(LearnerKind::arow, random);
  const Example x = random_example(random, 20, 0.3);
  std::vector<float> path;
  Workspace work;
  append_path(model->tree(), model->blocks(), x.view(), kLabels + 5, work, path);
  CHECK(path.empty());
}

}  // namespace
}  // namespace labelgrove::testing
