#include <limits>
#include <memory>

#include "harness.hpp"
#include "labelgrove/grove_search.hpp"
#include "labelgrove/search.hpp"
#include "labelgrove/sibling_block.hpp"
#include "random_trees.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

// Runs check(forest, scope, wanted labels, x, probabilities of the nodes) on many trees, with and without allow-lists.
template <typename Check>
void on_many(Check&& check) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    Random random(seed);
    const float spreads[] = {0.0F, 0.7F, 4.0F, 60.0F};
    const Forest forest(random, random.below(25), spreads[seed % 4]);
    const bool restricted = random.chance(0.5);
    std::vector<LabelId> wanted = forest.labels;
    if (restricted) {  // including removed and unknown labels
      wanted = random_subset(random, forest.tree.label_count() + 3, 0.4);
      random.shuffle(wanted);
    }
    Scope scope = restricted ? Scope(forest.tree, wanted) : Scope(forest.tree);
    for (int i = 0; i < 3; ++i) {
      const Example x = random_example(random, kFeatures + 2, 0.7);
      check(forest, scope, wanted, x.view(), probabilities(forest, x.view()), random);
    }
  }
}

TEST("search: a scope fits its own tree, until the tree grows beyond what the scope lists by node") {
  LabelTree tree;
  tree.give_label(kRoot, 0);
  const LabelTree other = tree;
  const Scope all(tree);
  const Scope some(tree, std::vector<LabelId>{0});
  Scope one(tree);
  one.set_thresholds(std::vector<float>{0.5F});
  Scope many(tree);
  many.set_thresholds(std::vector<float>{0.5F, 0.5F});
  const Scope* const scopes[] = {&all, &some, &one, &many};
  for (const Scope* scope : scopes) CHECK(scope->fits(tree) && !scope->fits(other));
  tree.insert_node(kRoot);
  CHECK(all.fits(tree) && one.fits(tree));
  CHECK(!some.fits(tree) && !many.fits(tree));
}

// --- the searches ---------------------------------------------------------------------------------------------------

TEST("search: finds the k best in order, for any k") {
  on_many([](const Forest& forest, const Scope& scope, const std::vector<LabelId>& wanted, const Features& x,
             const std::vector<float>& all, Random&) {
    Searcher searcher({forest.tree, forest.blocks}, scope);
    const std::vector<Scored> every = every_label(forest, wanted, all);
    std::vector<Scored> found{{77, 0.5F}};  // must be overwritten
    for (const std::size_t k : {0U, 1U, 2U, 3U, 5U, 1000U}) {
      searcher.top_k(x, k, found);
      check_same(found, std::span(every).first(std::min(k, every.size())));
    }
  });
}

TEST("search: finds the labels that are as probable as their places ask for") {
  on_many([](const Forest& forest, const Scope& scope, const std::vector<LabelId>& wanted, const Features& x,
             const std::vector<float>& all, Random& random) {
    Searcher searcher({forest.tree, forest.blocks}, scope);
    const std::vector<Scored> every = every_label(forest, wanted, all);
    for (const std::size_t k : {0U, 1U, 3U, 1000U}) check_by_place(searcher, x, k, every, random);
  });
}

// A search that opened fewer nodes could not be exact: a closed node might hide a label as probable as the last one.
TEST("search: opens exactly the nodes at least as probable as the k-th best label") {
  on_many([](const Forest& forest, const Scope& scope, const std::vector<LabelId>& wanted, const Features& x,
             const std::vector<float>& all, Random& random) {
    Searcher searcher({forest.tree, forest.blocks}, scope);
    const std::vector<Scored> every = every_label(forest, wanted, all);
    const std::size_t k = 1 + random.below(6);
    std::vector<Scored> found;
    searcher.top_k(x, k, found);
    const float last = every.size() < k ? 0.0F : every[k - 1].probability;
    SearchStats least;
    for (NodeId v = 0; v < forest.tree.size(); ++v) {
      if (forest.tree[v].is_leaf() || all[v] < last || !has_wanted(forest, v, wanted)) continue;
      least.blocks += 1;
      least.classifiers += static_cast<std::uint32_t>(forest.tree[v].children.size());
      std::uint32_t depth = 0;
      for (NodeId at = v; at != kAboveRoot; at = forest.tree.parent(at)) ++depth;
      least.depth = std::max(least.depth, depth);
    }
    CHECK_EQ(searcher.stats().blocks, least.blocks);
    CHECK_EQ(searcher.stats().classifiers, least.classifiers);
    CHECK_EQ(searcher.stats().depth, least.depth);
    CHECK_EQ(searcher.stats().bytes > 0, least.blocks > 0);
  });
}

TEST("search: examples searched together get the same results, at the same cost, as alone") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const float spreads[] = {0.0F, 0.7F, 4.0F, 60.0F};
    const Forest forest(random, random.below(40), spreads[seed % 4]);
    const std::vector<LabelId> some = random_subset(random, forest.tree.label_count() + 1, 0.5);
    Scope scope = random.chance(0.5) ? Scope(forest.tree, some) : Scope(forest.tree);
    const float threshold = random.between(0.0F, 0.3F);
    scope.set_thresholds(std::span(&threshold, 1));
    std::vector<Example> examples;
    std::vector<Features> views;
    for (std::uint32_t n = random.below(9); n > 0; --n) examples.push_back(random_example(random, kFeatures + 2, 0.7));
    for (const Example& example : examples) views.push_back(example.view());
    Searcher alone({forest.tree, forest.blocks}, scope);
    Searcher together({forest.tree, forest.blocks}, scope);
    for (const Query& query :
         {Query{Query::Kind::top_k, 3}, Query{Query::Kind::top_k, 0}, Query{Query::Kind::beam, 2, 2},
          Query{Query::Kind::beam, 0, 2}, Query{Query::Kind::above_threshold}}) {
      const auto searches = together.find_together([&](std::size_t) { return query; }, views);
      REQUIRE(searches.size() == views.size());
      for (std::size_t i = 0; i < views.size(); ++i) {
        std::vector<Scored> found;
        alone.find(query, views[i], found);
        check_same(searches[i].found(), found);
        CHECK_EQ(searches[i].stats().blocks, alone.stats().blocks);
        CHECK_EQ(searches[i].stats().classifiers, alone.stats().classifiers);
        CHECK_EQ(searches[i].stats().depth, alone.stats().depth);
        CHECK_EQ(searches[i].stats().bytes, alone.stats().bytes);
      }
    }
  }
}

TEST("search: a beam stops once nothing left can be a result") {
  // Every inner node has a leaf that is almost certain, and an improbable path further down.
  const std::vector<NodeId> parents{kNone, 0, 1, 1, 3, 3, 5, 5};
  const std::vector<LabelId> labels{kNone, kNone, 0, kNone, 1, kNone, 2, 3};
  const std::vector<std::uint8_t> silent(parents.size());
  const LabelTree tree(parents, labels, silent, 4);
  const LearnerOptions options{.kind = LearnerKind::adagrad};
  const std::vector<float> weights{9.0F, -9.0F};
  std::vector<std::unique_ptr<SiblingBlock>> owned(tree.size());
  std::vector<const NodeBlock*> blocks(tree.size());
  for (const NodeId v : {0U, 1U, 3U, 5U}) {
    const auto children = static_cast<std::uint32_t>(tree[v].children.size());
    owned[v] = std::make_unique<SiblingBlock>(options, BlockView{children, false, 0, {}, weights.data(), {}});
    blocks[v] = owned[v].get();
  }
  const Scope scope(tree);
  Searcher searcher({tree, blocks}, scope);
  std::vector<Scored> found;
  searcher.find({Query::Kind::beam, 1, 10}, Features{}, found);
  CHECK_EQ(found.size(), 1U);
  CHECK_EQ(searcher.stats().blocks, 2U);
  searcher.find({Query::Kind::beam, 100, 10}, Features{}, found);
  CHECK_EQ(searcher.stats().blocks, 4U);
}

TEST("search: finds all labels that reach a threshold, and evaluates no classifier in vain") {
  on_many([](const Forest& forest, Scope& scope, const std::vector<LabelId>& wanted, const Features& x,
             const std::vector<float>& all, Random& random) {
    const std::vector<Scored> every = every_label(forest, wanted, all);
    std::vector<float> thresholds{0.0F, 0.2F, 1.1F, -1.0F, random.between(0.0F, 0.5F)};
    if (!every.empty()) thresholds.push_back(every[every.size() / 2].probability);  // "at least", not "above"
    for (const float threshold : thresholds) {
      scope.set_thresholds(std::span(&threshold, 1));
      Searcher searcher({forest.tree, forest.blocks}, scope);
      std::vector<Scored> found;
      searcher.find({Query::Kind::above_threshold}, x, found);
      const auto end = std::ranges::find_if(every, [&](const Scored& one) { return one.probability < threshold; });
      check_same(found, std::span(every.begin(), end));
      std::uint32_t evaluated = 0;
      for (NodeId v = 0; v < forest.tree.size(); ++v) {
        const bool opened = v == kAboveRoot || all[v] >= threshold;  // ancestors are never less probable
        if (!opened || !has_wanted(forest, v, wanted)) continue;
        evaluated += static_cast<std::uint32_t>(forest.tree[v].children.size());
      }
      CHECK_EQ(searcher.stats().classifiers, evaluated);
    }
  });
}

TEST("search: a threshold for every label") {
  constexpr float kNever = std::numeric_limits<float>::infinity();
  on_many([](const Forest& forest, Scope& scope, const std::vector<LabelId>& wanted, const Features& x,
             const std::vector<float>& all, Random& random) {
    std::vector<float> thresholds(forest.tree.label_count() + random.below(3));
    if (thresholds.size() == 1) return;  // would be one threshold for all labels
    for (float& threshold : thresholds) {
      threshold = random.chance(0.1) ? kNever : random.chance(0.1) ? -kNever : random.between(0.0F, 0.3F);
    }
    scope.set_thresholds(thresholds);
    Searcher searcher({forest.tree, forest.blocks}, scope);
    std::vector<Scored> expected = every_label(forest, wanted, all);
    std::erase_if(expected, [&](const Scored& one) { return one.probability < thresholds[one.label]; });
    std::vector<Scored> found;
    searcher.find({Query::Kind::above_threshold}, x, found);
    check_same(found, expected);
    // A node is opened only for a label below it whose threshold it may still reach.
    std::uint32_t most = 0;
    for (NodeId v = 0; v < forest.tree.size(); ++v) {
      const bool hopeful = std::ranges::any_of(wanted, [&](LabelId label) {
        return forest.tree.leaf_of(label) != kNone && has_wanted(forest, v, std::span(&label, 1)) &&
               (v == kAboveRoot || all[v] >= thresholds[label]);
      });
      if (hopeful) most += static_cast<std::uint32_t>(forest.tree[v].children.size());
    }
    CHECK(searcher.stats().classifiers <=
          std::max(most, static_cast<std::uint32_t>(forest.tree[kAboveRoot].children.size())));
  });
}

TEST("search: a beam keeps the best of every level") {
  on_many([](const Forest& forest, const Scope& scope, const std::vector<LabelId>& wanted, const Features& x,
             const std::vector<float>& all, Random&) {
    Searcher searcher({forest.tree, forest.blocks}, scope);
    std::vector<Scored> found;
    for (const std::size_t width : {1U, 2U, 3U, 1000U}) {
      for (const std::size_t k : {1U, 4U, 1000U}) {
        searcher.find({Query::Kind::beam, k, width}, x, found);
        check_same(found, plain_beam(forest, wanted, all, k, width));
      }
    }
    std::vector<Scored> exact;
    searcher.top_k(x, 5, exact);
    searcher.find({Query::Kind::beam, 5, 1000}, x, found);
    check_same(found, exact);
  });
}

TEST("search: finds nothing if there is nothing to find") {
  Random random(2);
  std::vector<Scored> found{{1, 1.0F}};
  const Forest empty(random, 0, 1.0F);
  const Scope nothing(empty.tree);
  Searcher searcher({empty.tree, empty.blocks}, nothing);
  searcher.top_k(Features{}, 5, found);
  CHECK(found.empty());
  CHECK_EQ(searcher.stats().classifiers, 0U);
  searcher.find({Query::Kind::beam, 5, 3}, Features{}, found);
  CHECK(found.empty());

  const Forest forest(random, 10, 1.0F);
  Scope none(forest.tree, {});
  Searcher other({forest.tree, forest.blocks}, none);
  other.top_k(Features{}, 5, found);
  CHECK(found.empty());
  CHECK_EQ(other.stats().classifiers, 0U);
}

// A model file for prediction is not read before it is used, so its weights may be anything.
TEST("search: with NaN weights a label is improbable, and the search ends") {
  constexpr float kBad[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(), 3e38F};
  LabelTree tree;
  tree.give_label(kRoot, 0);
  tree.insert_node(kRoot);
  for (LabelId label = 1; label < 4; ++label) tree.add_leaf(kRoot, label);
  const LearnerOptions options{.kind = LearnerKind::adagrad};
  const std::vector<FeatureId> features{0};
  const std::vector<float> sure{9.0F, 0.0F};
  const std::vector<float> bad{0.0F,    1.0F,    2.0F,    3.0F,
                               kBad[0], kBad[1], kBad[2], kBad[3]};  // bias row, row of feature 0
  const StoredBlock above(options, {1, false, 0, features, sure.data(), {}});
  const StoredBlock root(options, {4, false, 0, features, bad.data(), {}});
  std::vector<const NodeBlock*> blocks{&above, &root, nullptr, nullptr, nullptr, nullptr};
  Scope scope(tree);
  const float threshold = 0.0F;
  scope.set_thresholds(std::span(&threshold, 1));
  Searcher searcher({tree, blocks}, scope);
  const std::vector<TreeView> twice(2, TreeView(tree, blocks));
  const GroveScope both(twice);
  GroveSearcher grove(twice, both);
  for (const float value : {1.0F, 0.0F, -1.0F}) {  // 0 * infinity is NaN, too
    const Example x{{0}, {value}};
    std::vector<Scored> found;
    searcher.top_k(x.view(), 4, found);
    CHECK_EQ(found.size(), 4U);
    for (const Scored& one : found) CHECK(one.probability >= 0.0F && one.probability <= 1.0F);
    std::vector<Scored> means;
    grove.top_k(x.view(), 4, means);
    check_same(means, found);
    searcher.find({Query::Kind::above_threshold}, x.view(), found);
    CHECK_EQ(found.size(), 4U);
    searcher.find({Query::Kind::beam, 4, 2}, x.view(), found);
    CHECK_EQ(found.size(), 4U);
  }
}

}  // namespace
}  // namespace labelgrove::testing
