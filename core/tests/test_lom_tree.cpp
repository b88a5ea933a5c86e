#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>

#include "harness.hpp"
#include "labelgrove/lom_search.hpp"
#include "labelgrove/lom_tree.hpp"
#include "stream.hpp"

namespace labelgrove::testing {
namespace {

LomTreeOptions options(LearnerKind learner = LearnerKind::arow, std::uint64_t max_nodes = 24) {
  LomTreeOptions options;
  options.learner.kind = learner;
  options.learner.loss = Loss::squared;
  options.learner.rate = 0.25F;
  options.max_nodes = max_nodes;
  return options;
}

// Every example has one class. Frequencies change over time, so that some nodes become idle.
Stream classes(std::size_t n) {
  Random random(5);
  Stream stream;
  for (std::size_t i = 0; i < n; ++i) {
    const auto label = static_cast<LabelId>(random.below(6) + i / 100 * 5);
    Example x = random_example(random, 10, 0.3);
    x.ids.push_back(10 + label);
    x.values.push_back(2.0F);
    stream.x.push_back(std::move(x));
    stream.labels.push_back({label});
  }
  return stream;
}

void learn(LomTree& tree, const Stream& stream, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    tree.learn(stream.x[i].view(), stream.labels[i].front(), stream.weights.empty() ? 1.0F : stream.weights[i]);
  }
}

std::uint64_t smallest_leaf(const LomTree& tree, NodeId v) {
  const auto& node = tree.nodes()[v];
  return node.is_leaf() ? node.smallest : std::min(smallest_leaf(tree, node.left), smallest_leaf(tree, node.right));
}

std::uint32_t height(const LomTree& tree, NodeId v) {
  const auto& node = tree.nodes()[v];
  return node.is_leaf() ? 0 : 1 + std::max(height(tree, node.left), height(tree, node.right));
}

std::vector<Scored> found_by(const LomTree& tree, const LabelScope& scope, const Example& x, std::size_t k,
                             std::size_t leaves = 3) {
  LomSearcher searcher(tree, scope, leaves);
  std::vector<Scored> found;
  searcher.top_k(x.view(), k, found);
  return found;
}

TEST("LOMtree: nothing is known of a side whose margin has overflowed") {
  CHECK_EQ(Side().probability(std::numeric_limits<float>::quiet_NaN()), 0.5);
  CHECK_EQ(Side().probability(std::numeric_limits<float>::infinity()), 1.0);
}

TEST("the features and the bias add up to the margins on the route, which ends where a search does") {
  const Stream stream = classes(200);
  for (const LearnerKind learner : kEveryLearner) {
    LomTree tree(options(learner));
    learn(tree, stream, 0, stream.size());
    const LabelScope scope(tree.known());
    LomSearcher searcher(tree, scope, 1);
    for (std::size_t i = 0; i < 20; ++i) {
      const Features x = stream.x[i].view();
      const Route route = explain_route(tree, x);
      Workspace work;
      for (std::size_t step = 0; step < route.bias.size(); ++step) {
        const float found = tree.margin(route.nodes[step], x, work);
        double margin = static_cast<double>(route.bias[step]);
        for (std::size_t j = 0; j < x.size; ++j) margin += static_cast<double>(route.contributions[step * x.size + j]);
        CHECK(std::abs(margin - static_cast<double>(found)) < 1e-4);
        const auto& node = tree.nodes()[route.nodes[step]];
        CHECK_EQ(route.nodes[step + 1], found > 0.0F ? node.right : node.left);
      }
      CHECK(tree.nodes()[route.nodes.back()].is_leaf());
      std::vector<Scored> best;
      searcher.top_k(x, 1, best);
      CHECK_EQ(searcher.stats().depth, static_cast<std::uint32_t>(route.bias.size()));
    }
  }
}

}  // namespace

TEST("LOMtree: its statistics are consistent") {
  const Stream stream = classes(900);
  LomTree tree(options());
  std::uint32_t swaps = 0;
  for (std::size_t i = 0; i < stream.size(); ++i) {
    learn(tree, stream, i, i + 1);
    if (i % 50 != 0 && i + 1 != stream.size()) continue;
    const auto nodes = tree.nodes();
    REQUIRE(nodes.size() <= 49);
    for (NodeId v = 0; v < nodes.size(); ++v) {
      const auto& node = nodes[v];
      CHECK_EQ(node.smallest, smallest_leaf(tree, v));
      CHECK_EQ(node.height, height(tree, v));
      CHECK(static_cast<double>(node.swaps) <= std::log2(static_cast<double>(i + 1)));  // Lemma 3
      swaps = std::max(swaps, node.swaps);
      std::uint64_t reached = 0;
      for (const ClassCount& count : node.classes.all()) reached += count.reached;
      CHECK_EQ(node.reached, reached);
      if (node.is_leaf()) continue;
      for (const NodeId child : {node.left, node.right}) {
        CHECK_EQ(nodes[child].parent, v);
        for (const ClassCount& count : nodes[child].classes.all()) CHECK(node.classes.find(count.label) != nullptr);
      }
    }
    CHECK_EQ(tree.examples_seen(), i + 1);
  }
  CHECK(swaps > 0);
}

TEST("LOMtree grows with the classes seen") {
  LomTree tree(options(LearnerKind::sgd, 0));
  const Stream stream = classes(900);
  std::set<LabelId> seen;
  for (std::size_t i = 0; i < stream.size(); ++i) {
    learn(tree, stream, i, i + 1);
    seen.insert(stream.labels[i].front());
    CHECK((tree.nodes().size() - 1) / 2 <= 4 * seen.size() - 1);
  }
  CHECK_EQ(tree.known().there().size(), seen.size());
}

TEST("LOMtree search: ranks all classes") {
  const Stream stream = classes(600);
  LomTree tree(options());
  const LabelScope empty(tree.known());
  CHECK(found_by(tree, empty, stream.x[0], 3).empty());
  learn(tree, stream, 0, 600);
  const LabelScope all(tree.known());
  const std::size_t known = tree.known().there().size();
  for (std::size_t i = 0; i < 600; i += 29) {
    const auto ranked = found_by(tree, all, stream.x[i], 1000);
    REQUIRE(found_by(tree, all, stream.x[i], 1000, 1).size() == known);
    REQUIRE(ranked.size() == known);
    double sum = 0.0;
    for (std::size_t j = 0; j < known; ++j) {
      sum += static_cast<double>(ranked[j].probability);
      CHECK(ranked[j].probability > 0.0F);
      CHECK(j == 0 || ranked[j - 1].probability >= ranked[j].probability);
    }
    CHECK_NEAR(sum, 1.0, 1e-5);
    for (const std::size_t k : {1U, 2U, 5U}) {
      check_same(found_by(tree, all, stream.x[i], k), std::span(ranked).first(k));
    }
    LabelScope above(tree.known());
    above.set_thresholds(std::vector<float>{0.01F});
    LomSearcher searcher(tree, above, 3);
    std::vector<Scored> found;
    searcher.above_threshold(stream.x[i].view(), found);
    CHECK_EQ(found.size(), static_cast<std::size_t>(std::ranges::count_if(
                               ranked, [](const Scored& one) { return one.probability >= 0.01F; })));
    const std::vector<LabelId> two{ranked[1].label, ranked[4].label, 5000};
    const auto allowed = found_by(tree, LabelScope(tree.known(), two), stream.x[i], 1);
    REQUIRE(allowed.size() == 1);
    CHECK_EQ(allowed[0].label, ranked[1].label);
  }
}

TEST("LOMtree search: more results go on where fewer end, down to probabilities that underflow") {
  Stream stream = classes(600);
  stream.weights.assign(600, kMostWeight);
  LomTree tree(options(LearnerKind::arow, 200));
  learn(tree, stream, 0, 600);
  const LabelScope all(tree.known());
  const std::size_t known = tree.known().there().size();
  float none = 1.0F;
  for (std::size_t i = 0; i < 600; i += 29) {
    const auto ranked = found_by(tree, all, stream.x[i], known, 1);
    REQUIRE(ranked.size() == known);
    none = std::min(none, ranked.back().probability);
    for (std::size_t k = 1; k < known; ++k) {
      check_same(found_by(tree, all, stream.x[i], k, 1), std::span(ranked).first(k));
    }
  }
  CHECK_EQ(none, 0.0F);
}

TEST("LOMtree forgets labels that are removed") {
  const Stream stream = classes(300);
  LomTree tree(options());
  learn(tree, stream, 0, 300);
  const LabelId gone = found_by(tree, LabelScope(tree.known()), stream.x[0], 1)[0].label;
  tree.remove_labels(std::vector<LabelId>{gone});
  CHECK(!tree.known().has(gone));
  for (std::size_t i = 0; i < 300; ++i)
    CHECK(found_by(tree, LabelScope(tree.known()), stream.x[i], 1)[0].label != gone);
  for (const auto& wrong : {std::vector<LabelId>{gone}, std::vector<LabelId>{0, 0}, std::vector<LabelId>{4000}}) {
    CHECK_THROWS(std::invalid_argument, tree.remove_labels(wrong));
  }
}

TEST("LOMtree: resumes unchanged after loading") {
  const Stream stream = classes(700);
  for (const LearnerKind learner : kEveryLearner) {
    LomTree tree(options(learner));
    learn(tree, stream, 0, 400);
    tree.remove_labels(std::vector<LabelId>{1});
    const MemoryArchive full = saved(tree);
    LomTree again(options(learner), full, false);
    CHECK(saved(again) == full);
    for (NodeId v = 0; v < again.nodes().size(); ++v) CHECK_EQ(again.nodes()[v].height, tree.nodes()[v].height);
    learn(tree, stream, 600, 700);
    learn(again, stream, 600, 700);
    CHECK(saved(again) == saved(tree));
    const MemoryArchive small = saved(tree, true);
    const LomTree reader(options(learner), small, true);
    CHECK(!reader.can_learn());
    CHECK(saved(reader, true) == small);
    for (std::size_t i = 0; i < 700; i += 31) {
      check_same(found_by(reader, LabelScope(reader.known()), stream.x[i], 4),
                 found_by(tree, LabelScope(tree.known()), stream.x[i], 4));
    }
  }
}

TEST("LOMtree: refuses impossible archives") {
  const Stream stream = classes(400);
  LomTree tree(options(LearnerKind::adagrad));
  learn(tree, stream, 0, 400);
  const MemoryArchive good = saved(tree);
  const auto refused = [&](const char* name, auto change) {
    CHECK_THROWS(std::invalid_argument, LomTree(options(LearnerKind::adagrad), changed(good, name, change), false));
  };
  MemoryArchive names = good;
  for (const auto& [name, array] : names.arrays()) {
    refused(name.c_str(), [](auto& numbers) { numbers.pop_back(); });
    refused(name.c_str(), [](auto& numbers) { numbers.push_back(numbers.back()); });
  }
  for (const char* name : {"node.left", "node.right"}) {
    refused(name, set_first(0));    // its own child
    refused(name, set_first(3e9));  // does not exist
  }
  refused("node.left", set_first(double(tree.nodes()[0].right)));
  refused("node.smallest", set_first(1e9));
  refused("node.score", set_first(1e9));
  refused("class.label", set_first(100000));
  refused("class.reached", set_first(0));
  refused("class.trained", set_first(1e9));
  refused("class.right", set_first(1e9));
  refused("class.score", set_first(std::numeric_limits<double>::quiet_NaN()));
  refused("node.slope", set_first(0));
  refused("node.curvature", set_first(std::numeric_limits<double>::infinity()));
  refused("counters", set_first(1e12));
  refused("label.state", set_first(7));
  refused("weights.value", set_first(std::numeric_limits<double>::infinity()));
  refused("weights.state", set_first(-1));
  CHECK_THROWS(std::invalid_argument, LomTree(options(LearnerKind::adagrad, 2), good, false));  // more nodes than T
}

TEST("LOMtree: class frequencies are weighted") {
  LomTree tree(options(LearnerKind::arow, 1));
  const Example x{{0}, {1.0F}};
  tree.learn(x.view(), 0, 3.0F);
  tree.learn(x.view(), 1, 0.0F);
  CHECK_EQ(tree.examples_seen(), 2U);
  CHECK(!tree.known().has(1));
  const std::vector<Scored> found = found_by(tree, LabelScope(tree.known()), x, 2);
  REQUIRE(found.size() == 1);
  CHECK_EQ(found[0].probability, 1.0F);
  for (const LearnerKind learner : {LearnerKind::arow, LearnerKind::sgd, LearnerKind::adagrad}) {
    Stream stream = classes(600);
    Random random(6);
    weigh(stream, random);
    LomTree weighted(options(learner));
    learn(weighted, stream, 0, stream.size());
    double sum = 0.0;
    for (const float weight : stream.weights) sum += double{weight};
    CHECK_NEAR(weighted.nodes()[LomTree::kRoot].weight(), sum, 1e-9 * sum);
    CHECK_EQ(weighted.examples_seen(), stream.size());
    const MemoryArchive whole = saved(weighted);
    LomTree half(options(learner));
    learn(half, stream, 0, 300);
    LomTree other(options(learner), saved(half), false);
    learn(other, stream, 300, 600);
    CHECK(saved(other) == whole);
    LomTree plain(options(learner));
    stream.weights.assign(600, 1.0F);
    learn(plain, stream, 0, 600);
    CHECK(!saved(plain).has("class.weight"));
    MemoryArchive damaged = whole;
    std::get<std::vector<double>>(damaged.arrays()["class.weight"])[0] *= 2.0;
    CHECK_THROWS(std::invalid_argument, LomTree(options(learner), damaged, false));
  }
}

}  // namespace labelgrove::testing
