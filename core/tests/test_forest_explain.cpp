#include <vector>

#include "harness.hpp"
#include "labelgrove/forest_explain.hpp"
#include "stream.hpp"

namespace labelgrove::testing {
namespace {

TEST("forest explain: steps lead from the roots to the leaves used by predictions") {
  Random random(3);
  Stream stream;
  for (int i = 0; i < 120; ++i) {
    stream.x.push_back(random_example(random, 20, 0.4));
    stream.labels.push_back({stream.x.back().ids.empty() ? 0 : stream.x.back().ids[0] % 6});
  }
  LdsmOptions ldsm;
  ldsm.objective = {1.0, 0.5};  // sends examples to several children
  ldsm.learner.kind = LearnerKind::adagrad;
  ldsm.learner.loss = Loss::squared;
  ldsm.learner.rate = 0.2F;
  ldsm.learner.spread = 0.1F;
  ForestOptions options;
  options.growth = ldsm;
  options.children = 3;
  options.trees = 3;
  options.max_nodes = 40;
  Forest forest(options);
  forest.grow(forest_examples(stream, 6), 1);
  std::size_t forks = 0;
  for (const Example& example : stream.x) {
    const ForestRoutes routes = explain_forest(forest, example.view());
    CHECK_EQ(routes.bias.size(), routes.steps.size());
    CHECK_EQ(routes.contributions.size(), routes.steps.size() * example.ids.size());
    for (std::uint32_t s = 0; s < routes.steps.size(); ++s) {
      const auto [tree, node, child, before] = routes.steps[s];
      CHECK_EQ(before == kNone, node == 0);
      if (before == kNone) continue;
      CHECK(before < s && routes.steps[before].tree == tree);
      const ForestRoutes::Step& last = routes.steps[before];
      CHECK_EQ(forest.trees()[tree].nodes[last.node].first_child + last.child, node);
    }
    std::size_t deepest = 0;
    for (const auto& [tree, node, step] : routes.leaves) {
      CHECK(forest.trees()[tree].nodes[node].is_leaf());
      std::size_t length = 0;
      for (std::uint32_t s = step; s != kNone; s = routes.steps[s].before) ++length;
      CHECK_EQ(length, forest.trees()[tree].nodes[node].depth);
      deepest = std::max(deepest, length);
    }
    forks += routes.leaves.size() - forest.trees().size();
    const Features view = example.view();
    const LabelScope scope(forest.known());
    ForestFinder finder(forest, scope);
    finder.start({&view, 1});
    CHECK_EQ(finder.stats(0).depth, deepest);
  }
  CHECK(forks > 0);
}

}  // namespace
}  // namespace labelgrove::testing
