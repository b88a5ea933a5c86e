#include <string>
#include <vector>

#include "harness.hpp"
#include "labelgrove/forest.hpp"
#include "stream.hpp"

namespace labelgrove::testing {
namespace {

constexpr LabelId kLabels = 9;

Stream some_data(std::uint64_t seed, std::size_t n) {
  Random random(seed);
  Stream data;
  for (std::size_t i = 0; i < n; ++i) {
    data.x.push_back(random_example(random, 30, 0.3));
    std::vector<LabelId> labels;
    for (const FeatureId id : data.x.back().ids) {
      if (id < kLabels && random.chance(0.7)) labels.push_back(id);
    }
    data.labels.push_back(labels);
  }
  return data;
}

ForestOptions small_options(std::uint32_t arity, LearnerKind learner, std::uint32_t trees) {
  LdsmOptions ldsm;
  ldsm.epochs = 3;
  ldsm.objective = {1.5, 2.0};
  ldsm.learner.kind = learner;
  ldsm.learner.loss = Loss::squared;
  ldsm.learner.rate = 0.5F;
  ldsm.learner.spread = 0.1F;
  ForestOptions options;
  options.growth = ldsm;
  options.children = arity;
  options.trees = trees;
  options.max_nodes = 60;
  options.tail_weight = arity == 5 ? 0.3 : 0.0;
  options.seed = 5;
  return options;
}

ForestOptions fastxml_options(std::uint32_t trees) {
  ForestOptions options;
  options.growth = FastxmlOptions{.cost = 8.0, .max_rounds = 2};
  options.children = 2;
  options.trees = trees;
  options.min_examples = 6;
  options.seed = 5;
  return options;
}

std::vector<std::vector<Scored>> answers(const Forest& forest, const Stream& data) {
  std::vector<Features> batch;
  for (const Example& example : data.x) batch.push_back(example.view());
  const LabelScope scope(forest.known());
  ForestFinder finder(forest, scope);
  finder.start(batch);
  std::vector<std::vector<Scored>> all(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) finder.top_k(i, 4, all[i]);
  return all;
}

bool same(const std::vector<std::vector<Scored>>& a, const std::vector<std::vector<Scored>>& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return std::ranges::equal(x, y, [](const Scored& p, const Scored& q) {
      return p.label == q.label && same_bits(p.probability, q.probability);
    });
  });
}

TEST("forest: the same bytes for any number of threads, trees and nodes in parallel") {
  const Stream data = some_data(1, 200);
  for (const std::uint32_t trees : {1U, 3U}) {
    for (const ForestOptions& options : {small_options(3, LearnerKind::adagrad, trees), fastxml_options(trees)}) {
      Forest alone(options);
      alone.grow(forest_examples(data, kLabels), 1);
      CHECK(alone.trees()[0].nodes.size() > 20);
      for (const unsigned threads : {2U, 4U, 7U}) {
        Forest together(options);
        together.grow(forest_examples(data, kLabels), threads);
        CHECK(saved(together) == saved(alone));
      }
    }
  }
}

TEST("forest: predicts the same after loading, whole or for prediction") {
  const Stream data = some_data(2, 120);
  const Stream others = some_data(3, 40);
  std::vector<ForestOptions> ways{fastxml_options(2)};
  for (const LearnerKind learner : {LearnerKind::adagrad, LearnerKind::sgd, LearnerKind::nag}) {
    for (const std::uint32_t arity : {2U, 5U}) ways.push_back(small_options(arity, learner, 2));
  }
  for (const ForestOptions& options : ways) {
    Forest forest(options);
    forest.grow(forest_examples(data, kLabels), 1);
    forest.remove_labels(std::vector<LabelId>{3});
    const MemoryArchive whole = saved(forest);
    const MemoryArchive short_one = saved(forest, true);
    const Forest loaded(options, whole, false);
    const Forest borrowed(options, short_one, true);
    CHECK(saved(loaded) == whole);
    CHECK(saved(borrowed, true) == short_one);
    CHECK(loaded.can_learn() && !borrowed.can_learn() && !loaded.known().has(3));
    CHECK(same(answers(loaded, others), answers(forest, others)));
    CHECK(same(answers(borrowed, others), answers(forest, others)));
  }
}

// Every split sends one example to fewer children than the others. It is therefore kept, although it separates nothing.
TEST("forest: no tree grows deeper than the limit, and trees of that depth can be searched") {
  Stream data;
  Random random(0);
  for (LabelId i = 0; i < 9; ++i) {
    data.x.push_back({{0, 1}, {random.between(0.0F, 1.0F), random.between(0.0F, 1.0F)}});
    data.labels.push_back({i});
  }
  LdsmOptions ldsm;
  ldsm.epochs = 1;
  ldsm.objective = {1e6, 0.1};
  ldsm.learner.kind = LearnerKind::adagrad;
  ldsm.learner.loss = Loss::squared;
  ldsm.learner.rate = 0.1F;
  ldsm.min_count = 1;
  ldsm.shuffle = false;
  ForestOptions options;
  options.growth = ldsm;
  options.children = 3;
  options.trees = 1;
  options.max_nodes = 30'000;
  options.normalize = false;
  std::uint32_t deepest = 0;
  for (std::uint64_t seed = 0; seed < 40 && deepest < kMostDepth; ++seed) {
    options.seed = seed;
    Forest forest(options);
    forest.grow(forest_examples(data, kLabels), 1);
    for (const ForestTree::Node& node : forest.trees()[0].nodes) deepest = std::max(deepest, node.depth);
    CHECK(deepest <= kMostDepth);
    CHECK_EQ(answers(forest, data).size(), data.x.size());
    const Forest loaded(options, saved(forest), false);
  }
}

TEST("forest: loads what it saved if trained without any label") {
  Stream data = some_data(7, 20);
  for (auto& labels : data.labels) labels.clear();
  ForestOptions options = small_options(5, LearnerKind::adagrad, 2);
  Forest forest(options);
  ForestExamples examples = forest_examples(data, kLabels);
  examples.label_count = 0;
  forest.grow(examples, 1);
  const Forest loaded(options, saved(forest), false);
  CHECK(saved(loaded) == saved(forest));
}

// Another thread may change the caller's arrays after they were checked.
TEST("forest: an example with more labels than there are reads nothing beyond them") {
  Stream data = some_data(8, 40);
  for (std::size_t i = 0; i < data.size(); ++i) data.labels[i].assign(100 * kLabels, i % 2 == 0 ? 2 : 3);
  Forest forest(fastxml_options(1));
  forest.grow(forest_examples(data, kLabels), 1);
  CHECK(forest.trees()[0].nodes.size() > 1);
}

TEST("forest: predictions do not depend on the batch") {
  const Stream data = some_data(4, 200);
  for (const ForestOptions& options : {small_options(3, LearnerKind::adagrad, 3), fastxml_options(3)}) {
    Forest forest(options);
    forest.grow(forest_examples(data, kLabels), 1);
    const auto together = answers(forest, data);
    for (std::size_t i = 0; i < 50; ++i) {
      Stream one;
      one.x.push_back(data.x[i]);
      CHECK(same(answers(forest, one), {together[i]}));
    }
  }
}

TEST("forest: features beyond the router's table are looked up one by one") {
  Stream data = some_data(5, 80);
  for (Example& example : data.x) {
    example.ids.push_back(3'000'000);
    example.values.push_back(1.0F);
  }
  for (const ForestOptions& options : {small_options(2, LearnerKind::adagrad, 2), fastxml_options(2)}) {
    Forest forest(options);
    forest.grow(forest_examples(data, kLabels), 1);
    for (const auto& found : answers(forest, data)) CHECK_EQ(found.size(), 4U);
  }
}

TEST("forest: damaged arrays are refused") {
  const Stream data = some_data(6, 60);
  const ForestOptions options = small_options(3, LearnerKind::adagrad, 2);
  Forest forest(options);
  forest.grow(forest_examples(data, kLabels), 1);
  const MemoryArchive whole = saved(forest);
  const auto refused = [&](const char* name, auto&& change) {
    CHECK_THROWS(std::invalid_argument, Forest(options, changed(whole, name, change), false));
  };
  refused("counters", set_first(10'000));
  refused("label.known", set_first(2));
  refused("tree.nodes", set_first(0));
  refused("tree.nodes", set_first(1));
  refused("node.first_child", set_first(0));
  refused("node.first_child", set_first(4));
  refused("node.first_child", set_first(kNone));
  refused("node.labels", set_first(1));
  refused("leaf.label", set_first(400));
  refused("leaf.share", set_first(1.5));
  refused("block.features", set_first(1'000'000));
  refused("weights.feature", set_first(kNone));
  refused("weights.value", set_first(std::nan("")));
  for (const char* name : {"node.examples", "node.labels", "leaf.label", "block.features", "weights.feature"}) {
    refused(name, [](auto& numbers) { numbers.pop_back(); });
    refused(name, [](auto& numbers) { numbers.push_back(0); });
  }
  for (const char* name : {"split.course", "split.objective", "split.balance", "split.purity", "leaf.share"})
    refused(name, [](auto& numbers) { numbers.pop_back(); });
}

}  // namespace
}  // namespace labelgrove::testing
