#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <variant>
#include <vector>

#include "harness.hpp"
#include "labelgrove/memory_search.hpp"
#include "labelgrove/memory_tree.hpp"
#include "stream.hpp"

namespace labelgrove::testing {
namespace {

MemoryTreeOptions options(std::uint64_t max_examples = 0) {
  MemoryTreeOptions options;
  options.leaf_multiplier = 1;
  options.max_examples = max_examples;
  return options;
}

// Examples with one to three labels, and a feature that identifies the first label.
Stream sets(std::size_t n) {
  Random random(5);
  Stream stream;
  for (std::size_t i = 0; i < n; ++i) {
    const auto label = static_cast<LabelId>(random.below(9));
    Example x = random_example(random, 10, 0.3);
    x.ids.push_back(10 + label);
    x.values.push_back(2.0F);
    stream.x.push_back(std::move(x));
    stream.labels.push_back({label});
    if (i % 3 == 0) stream.labels.back().push_back(9 + label);
  }
  return stream;
}

void learn(MemoryTree& tree, const Stream& stream, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) tree.learn(stream.x[i].view(), stream.labels[i]);
}

std::vector<Scored> found_by(const MemoryTree& tree, const Example& x, std::size_t k) {
  const LabelScope scope(tree.known());
  MemorySearcher searcher(tree, scope, 3);
  std::vector<Scored> found;
  searcher.top_k(x.view(), k, found);
  return found;
}

}  // namespace

TEST("memory tree: every example is at one leaf, and counted at all nodes above") {
  const Stream stream = sets(400);
  MemoryTree tree(options(150));
  for (std::size_t i = 0; i < stream.size(); ++i) {
    learn(tree, stream, i, i + 1);
    if (i % 40 != 0) continue;
    const auto nodes = tree.nodes();
    std::vector<std::uint32_t> seen;
    for (const auto& node : nodes) {
      seen.insert(seen.end(), node.entries.begin(), node.entries.end());
      const std::size_t below =
          node.is_leaf() ? node.entries.size() : nodes[node.left].remembered + nodes[node.right].remembered;
      CHECK_EQ(std::size_t{node.remembered}, below);
    }
    std::ranges::sort(seen);
    CHECK(std::ranges::adjacent_find(seen) == seen.end());
    CHECK_EQ(seen.size(), std::min<std::size_t>(i + 1, 150));
  }
}

TEST("memory tree: resumes unchanged after loading") {
  const Stream stream = sets(300);
  for (const std::uint64_t most : {0U, 100U}) {
    MemoryTree whole(options(most));
    learn(whole, stream, 0, 200);
    const MemoryArchive good = saved(whole);
    MemoryTree again(options(most), good, false);
    const MemoryTree lean(options(most), saved(whole, true), true);
    CHECK(!lean.can_learn());
    for (std::size_t i = 0; i < 20; ++i) {
      check_same(found_by(lean, stream.x[i], 5), found_by(whole, stream.x[i], 5));
    }
    learn(whole, stream, 200, 300);
    learn(again, stream, 200, 300);
    CHECK(saved(whole) == saved(again));
  }
}

TEST("memory tree: the evidence for a label adds up to its votes and its classifier's margin") {
  const Stream stream = sets(200);
  MemoryTree tree(options());
  learn(tree, stream, 0, stream.size());
  const LabelScope scope(tree.known());
  Workspace work;
  for (std::size_t i = 0; i < 10; ++i) {
    const Features x = stream.x[i].view();
    MemorySearcher searcher(tree, scope, 3);
    double shares = 0.0;
    for (LabelId label = 0; label < 9; ++label) {  // one of these each
      const MemoryEvidence evidence = searcher.evidence(x, label);
      shares += evidence.share;
      double margin = static_cast<double>(evidence.bias - MemoryTree::kUnlikely);
      for (const float added : evidence.contributions) margin += static_cast<double>(added);
      CHECK(std::abs(margin - static_cast<double>(tree.classifier(label).margin(x, work))) < 1e-4);
    }
    CHECK(std::abs(shares - 1.0) < 1e-6);
  }
}

TEST("memory tree: removed labels have neither weights nor a place among the frequent ones, also after loading") {
  const Stream stream = sets(200);
  MemoryTree tree(options());
  learn(tree, stream, 0, stream.size());
  const std::vector<LabelId> gone{1, 4, 10};
  const std::uint64_t weights = tree.size().weights;
  tree.remove_labels(gone);
  CHECK(tree.size().weights < weights);
  CHECK_THROWS(std::invalid_argument, tree.remove_labels(gone));
  const MemoryTree again(options(), saved(tree), false);
  for (const MemoryTree* one : {static_cast<const MemoryTree*>(&tree), &again}) {
    CHECK_EQ(one->by_frequency().size(), one->known().there().size());
    for (const auto& [seen, label] : one->by_frequency()) CHECK(one->known().has(label));
    for (const LabelId label : gone) CHECK_EQ(one->classifier(label).size(), 0U);
  }
}

TEST("memory tree: refuses impossible archives") {
  const Stream stream = sets(200);
  MemoryTree tree(options(150));
  learn(tree, stream, 0, stream.size());
  const MemoryArchive good = saved(tree);
  const auto refused = [&](const char* name, auto change) {
    CHECK_THROWS(std::invalid_argument, MemoryTree(options(150), changed(good, name, change), false));
  };
  MemoryArchive names = good;
  for (const auto& [name, array] : names.arrays()) {
    const auto size = std::visit([](const auto& numbers) { return numbers.size(); }, array);
    if (size > 0) refused(name.c_str(), [](auto& numbers) { numbers.pop_back(); });
    refused(name.c_str(), [](auto& numbers) { numbers.push_back({}); });
  }
  for (const char* name : {"node.left", "node.right"}) {
    refused(name, set_first(0));    // its own child
    refused(name, set_first(3e9));  // does not exist
  }
  refused("node.entries", set_first(1));  // of the root, an inner node
  refused("node.slope", set_first(0));
  refused("node.curvature", set_first(std::numeric_limits<double>::infinity()));
  refused("leaf.entry", set_first(150));
  refused("leaf.entry", [](auto& numbers) { numbers[0] = numbers[1]; });
  refused("entry.label", set_first(1000));
  refused("label.seen", set_first(0));
  refused("label.seen", set_first(1e12));
  refused("label.state", set_first(0));
  refused("seen", set_first(std::numeric_limits<double>::quiet_NaN()));
  refused("counters", set_first(1e12));
  refused("weights.value", set_first(std::numeric_limits<double>::infinity()));
  refused("weights.state", set_first(-1));
  CHECK_THROWS(std::invalid_argument, MemoryTree(options(), good, false));  // options that remember all examples
}

}  // namespace labelgrove::testing
