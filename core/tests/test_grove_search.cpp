#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "harness.hpp"
#include "labelgrove/grove_search.hpp"
#include "labelgrove/hash.hpp"
#include "random_trees.hpp"
#include "support.hpp"

namespace labelgrove::testing {

TEST("few places: agrees with a map, and clears all places at once") {
  FewPlaces places;
  for (std::uint64_t round = 0; round < 50; ++round) {
    places.clear();
    std::map<std::uint32_t, std::uint32_t> expected;
    for (std::uint64_t i = 0; i < 3 * round; ++i) {
      const auto id = static_cast<std::uint32_t>(mix(round << 32 | i) % 100) << 20;
      const auto known = expected.find(id);
      CHECK_EQ(places.find(id), known == expected.end() ? kNone : known->second);
      if (known != expected.end()) continue;
      const auto next = static_cast<std::uint32_t>(expected.size());
      CHECK_EQ(places.add(id), next);
      expected.emplace(id, next);
    }
    for (const auto& [id, place] : expected) CHECK_EQ(places.find(id), place);
  }
}

namespace {

// Several random trees over the same labels.
struct Grove {
  std::vector<Forest> trees;
  std::vector<TreeView> views;
  std::vector<LabelId> labels;  // those that can be predicted

  Grove(Random& random, std::size_t n, std::uint32_t leaves, float spread, bool wide = false) {
    const std::vector<LabelId> removed = random_subset(random, leaves, 0.15);
    for (std::size_t t = 0; t < n; ++t) trees.emplace_back(random, leaves, spread, removed, wide);
    for (const Forest& one : trees) views.emplace_back(one.tree, one.blocks);
    labels = trees.front().labels;
  }

  // The mean of the trees' probabilities of these labels, best first.
  std::vector<Scored> means(const Features& x, std::span<const LabelId> wanted) const {
    std::vector<std::vector<float>> all;
    for (const Forest& one : trees) all.push_back(probabilities(one, x));
    std::vector<Scored> found;
    for (const LabelId label : wanted) {
      float sum = 0.0F;
      for (std::size_t t = 0; t < trees.size(); ++t) {
        const NodeId leaf = trees[t].tree.leaf_of(label);
        if (leaf != kNone) sum += all[t][leaf];
      }
      if (trees.front().tree.leaf_of(label) != kNone) {
        found.push_back({label, sum / static_cast<float>(trees.size())});
      }
    }
    std::ranges::sort(found, before);
    return found;
  }
};

// Runs check(grove, scope, wanted labels, x, random) on many groves, with and without allow-lists.
template <typename Check>
void on_many_groves(Check&& check) {
  for (std::uint64_t seed = 0; seed < 90; ++seed) {
    Random random(seed);
    const float spreads[] = {0.0F, 0.7F, 4.0F, 60.0F};
    const Grove grove(random, 1 + seed % 7, random.below(40), spreads[seed % 4], seed % 5 == 4);
    std::vector<LabelId> wanted = grove.labels;
    const bool restricted = random.chance(0.5);
    if (restricted) wanted = random_subset(random, grove.trees.front().tree.label_count() + 3, 0.4);
    GroveScope scope = restricted ? GroveScope(grove.views, wanted) : GroveScope(grove.views);
    for (int i = 0; i < 2; ++i) {
      const Example x = random_example(random, kFeatures + 2, 0.7);
      check(grove, scope, wanted, x.view(), random);
    }
  }
}

TEST("grove search: finds the labels with the highest means, in order") {
  on_many_groves([](const Grove& grove, const GroveScope& scope, const std::vector<LabelId>& wanted, const Features& x,
                    Random& random) {
    GroveSearcher searcher(grove.views, scope);
    const std::vector<Scored> every = grove.means(x, wanted);
    std::vector<Scored> found;
    for (const std::size_t k : {0U, 1U, 3U, 1000U}) {
      searcher.top_k(x, k, found);
      check_same(found, std::span(every).first(std::min(k, every.size())));
      if (every.empty()) CHECK_EQ(searcher.stats().classifiers, 0U);
      check_by_place(searcher, x, k, every, random);
    }
  });
}

TEST("grove search: examples searched together get the same results, at the same cost, as alone") {
  on_many_groves([](const Grove& grove, GroveScope& scope, const std::vector<LabelId>&, const Features& x,
                    Random& random) {
    scope.set_thresholds(std::vector<float>{random.between(0.0F, 0.3F)});
    const Example others[] = {random_example(random, kFeatures, 0.7), random_example(random, kFeatures, 0.3)};
    const Features examples[] = {x, others[0].view(), others[1].view()};
    GroveSearcher alone(grove.views, scope);
    GroveSearcher together(grove.views, scope);
    for (const Query& query :
         {Query{Query::Kind::top_k, 4}, Query{Query::Kind::above_threshold}, Query{Query::Kind::beam, 4, 2}}) {
      for (const std::size_t n : {3U, 2U}) {  // fewer than before: leftovers must not matter
        const auto searches = together.find_together([&](std::size_t) { return query; }, std::span(examples).first(n));
        REQUIRE(searches.size() == n);
        for (std::size_t i = 0; i < n; ++i) {
          std::vector<Scored> found;
          alone.find(query, examples[i], found);
          check_same(searches[i].found(), found);
          CHECK_EQ(searches[i].stats().blocks, alone.stats().blocks);
          CHECK_EQ(searches[i].stats().bytes, alone.stats().bytes);
        }
      }
    }
  });
}

TEST("grove search: finds the labels whose means reach their thresholds") {
  on_many_groves(
      [](const Grove& grove, GroveScope& scope, const std::vector<LabelId>& wanted, const Features& x, Random& random) {
        const std::vector<Scored> every = grove.means(x, wanted);
        std::vector<float> thresholds(grove.trees.front().tree.label_count() + std::size_t{2});
        for (float& threshold : thresholds) threshold = random.between(0.0F, 0.3F);
        for (const Scored& one : every) {  // some are reached exactly
          if (random.chance(0.3)) thresholds[one.label] = one.probability;
        }
        const float least = std::ranges::min(thresholds);
        GroveSearcher searcher(grove.views, scope);
        std::vector<Scored> found;
        std::vector<Scored> expected = every;
        std::erase_if(expected, [&](const Scored& one) { return one.probability < thresholds[one.label]; });
        scope.set_thresholds(thresholds);
        searcher.find({Query::Kind::above_threshold}, x, found);
        check_same(found, expected);
        const std::uint32_t blocks = searcher.stats().blocks;
        scope.set_thresholds(std::span(&least, 1));
        searcher.find({Query::Kind::above_threshold}, x, found);
        std::erase_if(expected = every, [&](const Scored& one) { return one.probability < least; });
        check_same(found, expected);
        CHECK(blocks <= searcher.stats().blocks);
      });
}

TEST("grove search: a beam finds the labels that a beam in any of the trees reaches") {
  on_many_groves(
      [](const Grove& grove, const GroveScope& scope, const std::vector<LabelId>& wanted, const Features& x, Random&) {
        GroveSearcher searcher(grove.views, scope);
        for (const std::size_t width : {1U, 2U, 1000U}) {
          std::set<LabelId> reached;
          for (const Forest& one : grove.trees) {
            for (const Scored& label : plain_beam(one, wanted, probabilities(one, x), 1000, width))
              reached.insert(label.label);
          }
          std::vector<Scored> expected = grove.means(x, std::vector<LabelId>(reached.begin(), reached.end()));
          if (expected.size() > 4) expected.resize(4);
          std::vector<Scored> found;
          searcher.find({Query::Kind::beam, 4, width}, x, found);
          check_same(found, expected);
        }
      });
}

// Once one of them has yielded the last label, the others need not open what only leads to labels that are known.
TEST("grove search: equal trees find what one of them finds, at no more than its cost each") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const Forest forest(random, 1 + random.below(60), seed % 2 == 0 ? 0.7F : 3.0F);
    const TreeView view(forest.tree, forest.blocks);
    const std::vector<TreeView> views(1 + seed % 7, view);
    const std::vector<LabelId> some = random_subset(random, forest.tree.label_count(), 0.6);
    Scope scope(forest.tree, some);
    GroveScope scopes(views, some);
    const float threshold = random.between(0.0F, 0.2F);
    scope.set_thresholds(std::span(&threshold, 1));
    scopes.set_thresholds(std::span(&threshold, 1));
    Searcher one(view, scope);
    GroveSearcher several(views, scopes);
    const Example x = random_example(random, kFeatures, 0.7);
    const auto n = static_cast<std::uint32_t>(views.size());
    for (const Query& query : {Query{Query::Kind::top_k, 1 + random.below(6)}, Query{Query::Kind::top_k, 1000},
                               Query{Query::Kind::top_k, 8, 0, {&threshold, 1}}, Query{Query::Kind::above_threshold}}) {
      std::vector<Scored> expected;
      std::vector<Scored> found;
      one.find(query, x.view(), expected);
      several.find(query, x.view(), found);
      REQUIRE(found.size() == expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) CHECK_EQ(found[i].label, expected[i].label);
      CHECK(several.stats().blocks <= n * one.stats().blocks);
      CHECK(several.stats().classifiers <= n * one.stats().classifiers);
      CHECK_EQ(several.stats().depth, one.stats().depth);
      if (n == 1) CHECK_EQ(several.stats().classifiers, one.stats().classifiers);
      if (n == 1) CHECK_EQ(several.stats().bytes, one.stats().bytes);
    }
    std::vector<float> by_label(forest.tree.label_count() + std::size_t{2});
    for (float& own : by_label) own = random.between(0.0F, 0.3F);
    scope.set_thresholds(by_label);
    scopes.set_thresholds(by_label);
    std::vector<Scored> found;
    one.find({Query::Kind::above_threshold}, x.view(), found);
    several.find({Query::Kind::above_threshold}, x.view(), found);
    CHECK(several.stats().blocks <= n * one.stats().blocks);
    std::vector<Scored> every;
    several.top_k(x.view(), 1000, every);
    for (const Scored& label : every) by_label[label.label] = label.probability;
    scopes.set_thresholds(by_label);
    several.find({Query::Kind::above_threshold}, x.view(), found);
    check_same(found, every);  // however the sums are rounded
  }
}

// The numbers are those of the search as it is. Fewer are better.
TEST("grove search: opens as few nodes as it did") {
  std::uint32_t best = 0;
  std::uint32_t probable = 0;
  std::uint32_t above = 0;
  std::uint32_t depth = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const Grove grove(random, 3, 80, seed % 3 == 0 ? 0.0F : 2.0F);
    GroveScope scope(grove.views);
    std::vector<float> thresholds(80);
    for (float& threshold : thresholds) threshold = random.between(0.02F, 0.3F);
    scope.set_thresholds(thresholds);
    GroveSearcher searcher(grove.views, scope);
    const Example x = random_example(random, kFeatures, 0.7);
    std::vector<Scored> found;
    searcher.top_k(x.view(), 3, found);
    best += searcher.stats().blocks;
    depth += searcher.stats().depth;
    searcher.find({.k = 3, .least = random_least(random)}, x.view(), found);
    probable += searcher.stats().blocks;
    searcher.find({Query::Kind::above_threshold}, x.view(), found);
    above += searcher.stats().blocks;
  }
  CHECK_EQ(best, 3051U);
  CHECK_EQ(probable, 1633U);
  CHECK_EQ(above, 2903U);
  CHECK_EQ(depth, 273U);
}

}  // namespace
}  // namespace labelgrove::testing
