#include "labelgrove/forest.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "labelgrove/elementary.hpp"
#include "labelgrove/parallel.hpp"

namespace labelgrove {
namespace {

// Prefetches the beginning of a leaf's histogram; hardware prefetching does the rest.
void fetch(const ForestRouter::Leaf& leaf) {
  constexpr std::size_t kLine = 64 / sizeof(float);
  for (std::size_t at = 0; at < std::min<std::size_t>(leaf.size, 8 * kLine); at += kLine) {
    __builtin_prefetch(leaf.tree->labels.data() + leaf.begin + at);
    __builtin_prefetch(leaf.tree->shares.data() + leaf.begin + at);
  }
}

}  // namespace

void Forest::grow(const ForestExamples& data, unsigned threads) {
  known_ = KnownLabels(data.label_count);
  for (std::size_t i = 0; i < data.size; ++i) {
    for (const LabelId label : data.example(i).labels) known_.see(label);
  }
  const ForestTrainingSet set(data, options_.normalize);
  // Trees are grown in parallel first: they are independent, while splits trained ahead within one tree may be wasted.
  const unsigned at_once = std::clamp(threads, 1U, options_.trees);
  const unsigned within = std::max(1U, threads / at_once);
  if (data.progress != nullptr) data.progress->expect(options_.trees);
  std::vector<ForestTree> trees(options_.trees);
  parallel_for(options_.trees, at_once, [&](std::size_t tree) {
    trees[tree] = grow_tree(options_, set, static_cast<std::uint32_t>(tree), within);
    if (data.progress != nullptr) data.progress->advance(1);
  });
  trees_ = std::move(trees);
  if (options_.tail_weight > 0.0) find_centroids(set);
  examples_seen_ = data.size;
}

void Forest::find_centroids(const ForestTrainingSet& set) {
  const ForestExamples& data = set.examples();
  std::vector<std::vector<std::uint32_t>> examples(data.label_count);
  for (std::uint32_t i = 0; i < data.size; ++i) {
    for (const LabelId label : data.example(i).labels) examples[label].push_back(i);
  }
  std::vector<float> values;
  const auto example = [&](std::uint32_t i) {
    return std::pair(with_scale(data.example(i).x, set.scale(i), values), data.weight(i));
  };
  for (const auto& own : examples) centroids_.append(own, example);
}

ModelSize Forest::size() const {
  ModelSize size;
  size.model_bytes = centroids_.bytes();
  for (const ForestTree& tree : trees_) {
    size.model_bytes += tree.nodes.capacity() * sizeof(ForestTree::Node) + tree.labels.capacity() * sizeof(LabelId) +
                        tree.shares.capacity() * sizeof(float);
    for (const ForestTree::Node& node : tree.nodes) {
      if (!node.planes) continue;
      size.weights += node.planes->weights().size();
      size.model_bytes += node.planes->bytes();
    }
  }
  return size;
}

ForestFinder::ForestFinder(const Forest& forest, const LabelScope& scope)
    : forest_(forest), scope_(scope), router_(forest.options()), sums_(forest.known().count()) {}

void ForestFinder::start(std::span<const Features> batch) {
  batch_ = batch;
  router_.start(batch);
  for (const ForestTree& tree : forest_.trees()) router_.route(tree);
  squares_.clear();
  for (const Features& x : batch) {
    if (forest_.centroids().empty()) break;
    squares_.push_back(squared_length(x.values, x.size));
  }
}

template <typename Take>
void ForestFinder::score(std::size_t i, Take&& take) {
  const auto& leaves = router_.ways(i).leaves;
  std::uint32_t voting = 0;
  std::size_t entries = 0;
  for (std::size_t n = 0; n < leaves.size(); ++n) {
    if (n + 1 < leaves.size()) fetch(leaves[n + 1]);
    const LabelId* labels = leaves[n].tree->labels.data() + leaves[n].begin;
    const float* shares = leaves[n].tree->shares.data() + leaves[n].begin;
    const std::uint32_t size = leaves[n].size;
    float* sums = sums_.data();
    for (std::uint32_t at = 0; at < size; ++at) sums[labels[at]] += shares[at];
    voting += size > 0 ? 1 : 0;
    entries += size;
  }
  const float share = 1.0F / static_cast<float>(voting);
  const bool mixes = !forest_.centroids().empty();
  float least = std::numeric_limits<float>::min();  // 0 means no share at all
  const auto pass_on = [&](LabelId label) {
    const float sum = sums_[label];
    if (sum <= 0.0F) return;
    const float value = mixes ? mixed(i, label, sum * share) : sum * share;
    if (value >= least) least = std::max(least, take(label, value));
  };
  if (entries >= sums_.size()) {
    for (LabelId label = 0; label < sums_.size(); ++label) pass_on(label);
    std::ranges::fill(sums_, 0.0F);
    return;
  }
  for (const ForestRouter::Leaf& leaf : leaves) {
    for (std::size_t at = leaf.begin; at < leaf.begin + leaf.size; ++at) {
      pass_on(leaf.tree->labels[at]);
      sums_[leaf.tree->labels[at]] = 0.0F;
    }
  }
}

float ForestFinder::mixed(std::size_t i, LabelId label, float share) const {
  const double weight = forest_.options().tail_weight;
  const double near = forest_.centroids().nearness(batch_[i], squares_[i], label, forest_.options().tail_gamma);
  const double score = fixed_pow(static_cast<double>(share), 1.0 - weight) * fixed_pow(near, weight);
  // Positive, so that labels in some leaf come before those in none.
  return std::max(static_cast<float>(score), std::numeric_limits<float>::min());
}

void ForestFinder::top_k(std::size_t i, std::size_t k, std::vector<Scored>& found) {
  found.clear();
  if (k == 0) return;
  score(i, [&](LabelId label, float value) {
    if (scope_.open(label)) keep_best(found, k, {label, value});
    return found.size() < k ? 0.0F : found.front().probability;
  });
  std::ranges::sort_heap(found, better);
  if (found.size() == k) return;
  std::vector<LabelId> scored;
  for (const Scored& one : found) scored.push_back(one.label);
  std::ranges::sort(scored);
  for (LabelId label = 0; label < forest_.known().count() && found.size() < k; ++label) {
    if (scope_.open(label) && !std::ranges::binary_search(scored, label)) found.push_back({label, 0.0F});
  }
}

void ForestFinder::above_threshold(std::size_t i, std::vector<Scored>& found) {
  found.clear();
  score(i, [&](LabelId label, float value) {
    if (value >= scope_.threshold(label) && scope_.open(label)) found.push_back({label, value});
    return scope_.lowest_threshold();
  });
  std::ranges::sort(found, better);
}

}  // namespace labelgrove
