// Random label trees with random classifiers, and plain searches in them.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "harness.hpp"
#include "labelgrove/search.hpp"
#include "labelgrove/sibling_block.hpp"
#include "support.hpp"

namespace labelgrove::testing {

inline constexpr std::uint32_t kFeatures = 6;

// A random tree with random classifiers.
struct Forest {
  LabelTree tree;
  std::vector<std::unique_ptr<SiblingBlock>> owned;
  std::vector<const NodeBlock*> blocks;
  std::vector<LabelId> labels;  // those that can be predicted

  // `spread` is the range of weights; with 0, all labels at the same depth are equally probable. In a `wide` tree the
  // root has all leaves.
  Forest(Random& random, std::uint32_t leaves, float spread)
      : Forest(random, leaves, spread, random_subset(random, leaves, 0.15)) {}
  Forest(Random& random, std::uint32_t leaves, float spread, const std::vector<LabelId>& removed, bool wide = false) {
    if (leaves > 0) tree.give_label(kRoot, 0);
    for (LabelId label = 1; label < leaves; ++label) {
      const NodeId v = wide ? kRoot : 1 + random.below(tree.size() - 1);
      if (tree[v].is_leaf() || (!wide && random.chance(0.3))) tree.insert_node(v);
      tree.add_leaf(v, label);
    }
    for (LabelId label = 0; label < leaves; ++label) {
      if (std::ranges::binary_search(removed, label)) tree.remove_label(label);
      else labels.push_back(label);
    }
    LearnerOptions options;
    options.kind = LearnerKind::adagrad;
    for (NodeId v = 0; v < tree.size(); ++v) {
      const auto children = static_cast<std::uint32_t>(tree[v].children.size());
      if (children == 0) {
        owned.push_back(nullptr);
      } else {
        std::vector<FeatureId> features(kFeatures);
        for (FeatureId id = 0; id < kFeatures; ++id) features[id] = id;
        std::vector<float> weights(std::size_t{kFeatures + 1} * children);
        for (float& weight : weights) weight = random.between(-spread, spread);
        const BlockView view{children, false, 0, features, weights.data(), {}};
        owned.push_back(std::make_unique<SiblingBlock>(options, view));
      }
      blocks.push_back(owned.back().get());
    }
  }
};

// --- reference implementations ---------------------------------------------------------------------------------------

// The probability of every node: the product along its path (Eq. 2); NaN counts as 0.
inline std::vector<float> probabilities(const Forest& forest, const Features& x) {
  std::vector<float> all(forest.tree.size());
  std::vector<NodeId> open{kAboveRoot};
  all[kAboveRoot] = 1.0F;
  Workspace work;
  while (!open.empty()) {
    const NodeId v = open.back();
    open.pop_back();
    const auto& children = forest.tree[v].children;
    if (children.empty()) continue;
    std::vector<float> given(children.size());
    forest.blocks[v]->predict(x, work, given.data());
    for (std::size_t i = 0; i < children.size(); ++i) {
      const float product = all[v] * given[i];
      all[children[i]] = std::isnan(product) ? 0.0F : product;
      open.push_back(children[i]);
    }
  }
  return all;
}

inline bool before(const Scored& a, const Scored& b) {
  return a.probability != b.probability ? a.probability > b.probability : a.label < b.label;
}

inline std::vector<Scored> every_label(const Forest& forest, std::span<const LabelId> wanted,
                                       std::span<const float> all) {
  std::vector<Scored> found;
  for (const LabelId label : wanted) {
    const NodeId leaf = forest.tree.leaf_of(label);
    if (leaf != kNone) found.push_back({label, all[leaf]});
  }
  std::ranges::sort(found, before);
  return found;
}

inline bool has_wanted(const Forest& forest, NodeId v, std::span<const LabelId> wanted) {
  return std::ranges::any_of(wanted, [&](LabelId label) {
    NodeId u = forest.tree.leaf_of(label);
    while (u != kNone && u != v) u = forest.tree[u].parent;
    return u == v;
  });
}

// The k best leaves that a beam reaches.
inline std::vector<Scored> plain_beam(const Forest& forest, std::span<const LabelId> wanted, std::span<const float> all,
                                      std::size_t k, std::size_t width) {
  std::vector<Scored> found;
  std::vector<NodeId> level{kAboveRoot};
  while (!level.empty()) {
    std::ranges::sort(level, [&](NodeId a, NodeId b) { return all[a] != all[b] ? all[a] > all[b] : a < b; });
    if (level.size() > width) level.resize(width);
    std::vector<NodeId> next;
    for (const NodeId v : level) {
      for (const NodeId child : forest.tree[v].children) {
        if (!has_wanted(forest, child, wanted)) continue;
        if (forest.tree[child].is_leaf()) found.push_back({forest.tree[child].label, all[child]});
        else next.push_back(child);
      }
    }
    level = std::move(next);
  }
  std::ranges::sort(found, before);
  if (found.size() > k) found.resize(k);
  return found;
}

// The least probabilities of places, which rise.
inline std::vector<float> random_least(Random& random) {
  std::vector<float> least(1 + random.below(4));
  for (float& one : least) one = random.between(0.0F, 0.3F);
  std::ranges::sort(least);
  return least;
}

// The number of labels, best first, that are as probable as their places ask for.
inline std::size_t reaching_by_place(const std::vector<Scored>& every, const std::vector<float>& least) {
  std::size_t n = 0, place = 0;
  for (; n < every.size(); ++n) {
    if (n > 0 && every[n].probability < every[n - 1].probability) place = n;
    if (every[n].probability < least[std::min(place, least.size() - 1)]) break;
  }
  return n;
}

// Checks that a search for the k best labels finds those that are as probable as some places ask for, at no more cost
// than all; `every` are all labels, best first.
template <typename OneSearcher>
void check_by_place(OneSearcher& searcher, const Features& x, std::size_t k, const std::vector<Scored>& every,
                    Random& random) {
  std::vector<Scored> found;
  searcher.top_k(x, k, found);
  const std::uint32_t exactly = searcher.stats().blocks;
  const std::vector<float> least = random_least(random);
  const std::size_t probable = std::min(k, reaching_by_place(every, least));
  searcher.find({.k = k, .least = least}, x, found);
  CHECK(searcher.stats().blocks <= exactly);
  REQUIRE(found.size() >= probable);
  check_same(std::span(found).first(probable), std::span(every).first(probable));
}

}  // namespace labelgrove::testing
