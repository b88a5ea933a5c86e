#include "labelgrove/ldsm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "labelgrove/parallel.hpp"

namespace labelgrove {

void Ldsm::grow(const LdsmExamples& data, unsigned threads) {
  known_.assign(data.label_count, 0);
  std::vector<double> scales(data.size, 1.0);
  for (std::size_t i = 0; i < data.size; ++i) {
    const LdsmExamples::Example example = data.example(i);
    for (const LabelId label : example.labels) known_[label] = 1;
    if (options_.normalize) scales[i] = unit_scale(example.x);
  }
  // Trees first: they need nothing from each other, and what is trained ahead in one may be in vain.
  const unsigned at_once = std::clamp(threads, 1U, options_.trees);
  const unsigned within = std::max(1U, threads / at_once);
  std::vector<LdsmTree> trees(options_.trees);
  parallel_for(options_.trees, at_once, [&](std::size_t tree) {
    trees[tree] = grow_ldsm_tree(options_, data, scales, static_cast<std::uint32_t>(tree), within);
  });
  trees_ = std::move(trees);
  if (options_.tail_weight > 0.0) find_centroids(data, scales);
  examples_seen_ = data.size;
}

void Ldsm::find_centroids(const LdsmExamples& data, std::span<const double> scales) {
  std::vector<std::vector<std::uint32_t>> examples(data.label_count);
  for (std::uint32_t i = 0; i < data.size; ++i) {
    for (const LabelId label : data.example(i).labels) examples[label].push_back(i);
  }
  std::vector<float> values;
  for (LabelId label = 0; label < data.label_count; ++label) {
    centroids_.append([&](const LabelCentroids::Take& take) {
      for (const std::uint32_t i : examples[label]) {
        Features x = data.example(i).x;
        values.resize(x.size);
        for (std::uint32_t j = 0; j < x.size; ++j) values[j] = scaled(x.values[j], scales[i]);
        x.values = values.data();
        take(x, data.weight(i));
      }
    });
  }
}

void Ldsm::remove_labels(std::span<const LabelId> labels) {
  for (const LabelId label : labels) {
    if (label < known_.size()) known_[label] = 0;
  }
}

Ldsm::Size Ldsm::size() const {
  Size size;
  size.model_bytes = centroids_.bytes();
  for (const LdsmTree& tree : trees_) {
    size.model_bytes += tree.nodes.capacity() * sizeof(LdsmTree::Node) + tree.labels.capacity() * sizeof(LabelId) +
                        tree.shares.capacity() * sizeof(float);
    for (const LdsmTree::Node& node : tree.nodes) {
      if (!node.regressors) continue;
      size.weights += std::uint64_t{node.regressors->rows()} * node.regressors->columns();
      size.model_bytes += node.regressors->bytes();
    }
  }
  return size;
}

LdsmFinder::LdsmFinder(const Ldsm& forest, std::span<const std::uint8_t> allowed)
    : forest_(forest), allowed_(allowed), router_(forest.options().arity), scores_(forest.label_count()) {}

void LdsmFinder::start(std::span<const Features> batch) {
  batch_ = batch;
  router_.start(batch);
  for (const LdsmTree& tree : forest_.trees()) router_.route(tree);
}

void LdsmFinder::score(std::size_t i) {
  std::uint32_t leaves = 0;
  for (const auto& [tree, v] : router_.ways(i).leaves) {
    const LdsmTree::Node& leaf = tree->nodes[v];
    if (leaf.begin < leaf.end) ++leaves;
    for (std::size_t at = leaf.begin; at < leaf.end; ++at) {
      const LabelId label = tree->labels[at];
      if (scores_[label] == 0.0F) touched_.push_back(label);
      scores_[label] += tree->shares[at];
    }
  }
  for (const LabelId label : touched_) scores_[label] /= static_cast<float>(leaves);
  if (!forest_.centroids().empty()) rerank(batch_[i]);
}

void LdsmFinder::rerank(const Features& x) {
  const double weight = forest_.options().tail_weight;
  double square = 0.0;
  for (std::uint32_t j = 0; j < x.size; ++j)
    square += static_cast<double>(x.values[j]) * static_cast<double>(x.values[j]);
  for (const LabelId label : touched_) {
    const double near = forest_.centroids().nearness(x, square, label, forest_.options().tail_gamma);
    const double score = std::pow(static_cast<double>(scores_[label]), 1.0 - weight) * std::pow(near, weight);
    // Above 0: what a leaf speaks of stays before what none does.
    scores_[label] = std::max(static_cast<float>(score), std::numeric_limits<float>::min());
  }
}

void LdsmFinder::forget() {
  for (const LabelId label : touched_) scores_[label] = 0.0F;
  touched_.clear();
}

void LdsmFinder::top_k(std::size_t i, std::size_t k, std::vector<Scored>& found) {
  score(i);
  found.clear();
  for (const LabelId label : touched_) {
    if (open(label)) found.push_back({label, scores_[label]});
  }
  const std::size_t kept = std::min(k, found.size());
  const auto better = [](const Scored& a, const Scored& b) {
    return a.probability != b.probability ? a.probability > b.probability : a.label < b.label;
  };
  std::ranges::partial_sort(found, found.begin() + static_cast<std::ptrdiff_t>(kept), better);
  found.resize(kept);
  for (LabelId label = 0; label < forest_.label_count() && found.size() < k; ++label) {
    if (scores_[label] == 0.0F && open(label)) found.push_back({label, 0.0F});
  }
  forget();
}

void LdsmFinder::above_threshold(std::size_t i, std::span<const float> thresholds, std::vector<Scored>& found) {
  score(i);
  found.clear();
  const auto enough = [&](LabelId label) {
    return scores_[label] >= (thresholds.size() == 1 ? thresholds[0] : thresholds[label]);
  };
  for (const LabelId label : touched_) {
    if (open(label) && enough(label)) found.push_back({label, scores_[label]});
  }
  forget();
}

}  // namespace labelgrove
