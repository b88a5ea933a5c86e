#include "labelgrove/forest_tree.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "labelgrove/fastxml_splitter.hpp"
#include "labelgrove/hash.hpp"
#include "labelgrove/ldsm_splitter.hpp"
#include "labelgrove/parallel.hpp"

namespace labelgrove {
namespace {

using Split = NodeSplitter::Split;

// Features below this limit are their own numbers: every thread has a table over them.
constexpr FeatureId kDirectFeatures = 1U << 20;

std::unique_ptr<NodeSplitter> splitter_of(const ForestOptions& options, const ForestTrainingSet& data) {
  if (options.ldsm() != nullptr) return std::make_unique<LdsmSplitter>(options, data);
  return std::make_unique<FastxmlSplitter>(options, data);
}

// LdSM's Algorithm 1. The order of splits only decides which nodes are split before T_max is reached; a split depends
// only on the node's examples and its position in the tree. Threads therefore train the next nodes of the queue ahead
// of their turn, and splits that turn out not to be needed are discarded.
class Grower {
 public:
  Grower(const ForestOptions& options, const ForestTrainingSet& data, unsigned threads)
      : options_(options), data_(data.examples()), threads_(threads), queue_(Before{&drafts_}) {
    for (unsigned t = 0; t < threads; ++t) splitters_.push_back(splitter_of(options, data));
  }

  ForestTree grow(std::uint64_t key);

 private:
  // The order of the queue: by descending priority, older nodes first among equals.
  struct Before {
    const std::vector<NodeDraft>* drafts;
    bool operator()(NodeId a, NodeId b) const {
      const double pa = (*drafts)[a].priority;
      const double pb = (*drafts)[b].priority;
      return pa != pb ? pa > pb : a < b;
    }
  };

  void push(NodeId v);
  void train_ahead();
  void make_children(NodeId v, Split& split);
  void fill_leaf(NodeId v);

  const ForestOptions& options_;
  const ForestExamples& data_;
  unsigned threads_;
  std::vector<std::unique_ptr<NodeSplitter>> splitters_;  // by thread
  ForestTree tree_;
  std::vector<NodeDraft> drafts_;             // by node
  std::vector<std::optional<Split>> splits_;  // by node: trained, but not popped yet
  std::set<NodeId, Before> queue_;
};

void Grower::push(NodeId v) {
  const NodeDraft& node = drafts_[v];
  const bool may_grow = tree_.nodes[v].depth < kMostDepth;
  if (may_grow && node.priority > 0.0 && node.examples.size() >= options_.min_examples) queue_.insert(v);
}

// Trains the first node of the queue, unless that is done, together with those that follow.
void Grower::train_ahead() {
  if (splits_[*queue_.begin()]) return;
  std::vector<NodeId> next;
  for (auto v = queue_.begin(); v != queue_.end() && next.size() < threads_; ++v) {
    if (!splits_[*v]) next.push_back(*v);
  }
  parallel_for(next.size(), threads_,
               [&](std::size_t i) { splits_[next[i]] = splitters_[i]->split(drafts_[next[i]]); });
}

void Grower::make_children(NodeId v, Split& split) {
  const auto first = static_cast<NodeId>(tree_.nodes.size());
  const std::uint32_t depth = tree_.nodes[v].depth + 1;
  tree_.nodes[v].first_child = first;
  tree_.nodes[v].planes = std::move(split.planes);
  tree_.nodes[v].split = std::move(split.figures);
  for (NodeDraft& child : split.children) {
    ForestTree::Node node;
    node.depth = depth;
    node.examples = static_cast<std::uint32_t>(child.examples.size());
    tree_.nodes.push_back(std::move(node));
    drafts_.push_back(std::move(child));
    splits_.emplace_back();
    push(static_cast<NodeId>(tree_.nodes.size() - 1));
  }
  drafts_[v] = NodeDraft();
}

void Grower::fill_leaf(NodeId v) {
  const NodeDraft& draft = drafts_[v];
  double divisor = 0.0;
  if (options_.share == LeafShare::labels) divisor = total_count(draft.histogram);
  else
    for (const std::uint32_t i : draft.examples) divisor += data_.weight(i);
  ForestTree::Node& node = tree_.nodes[v];
  node.begin = tree_.labels.size();
  for (const LabelCount& entry : draft.histogram) {
    tree_.labels.push_back(entry.label);
    tree_.shares.push_back(static_cast<float>(entry.count / divisor));
  }
  node.end = tree_.labels.size();
}

ForestTree Grower::grow(std::uint64_t key) {
  NodeDraft root = splitters_[0]->root(key);
  tree_.nodes.emplace_back();
  tree_.nodes[0].examples = static_cast<std::uint32_t>(root.examples.size());
  drafts_.push_back(std::move(root));
  splits_.emplace_back();
  push(0);
  for (std::uint64_t t = 1; !queue_.empty() && t < options_.max_nodes;) {
    if (data_.progress != nullptr) data_.progress->check();
    train_ahead();
    const NodeId v = *queue_.begin();
    queue_.erase(queue_.begin());
    Split split = std::move(*splits_[v]);
    splits_[v].reset();
    if (!split.planes) continue;  // undone: the node remains a leaf
    make_children(v, split);
    t += options_.children;
  }
  for (NodeId v = 0; v < tree_.nodes.size(); ++v) {
    if (tree_.nodes[v].is_leaf()) fill_leaf(v);
  }
  return std::move(tree_);
}

}  // namespace

ForestTrainingSet::ForestTrainingSet(const ForestExamples& examples, bool normalize)
    : examples_(examples), scales_(examples.size, 1.0) {
  FeatureId largest = 0;
  for (std::size_t i = 0; i < examples.size; ++i) {
    const Features x = examples.example(i).x;
    if (normalize) scales_[i] = unit_scale(x);
    if (x.size > 0) largest = std::max(largest, x.ids[x.size - 1]);
  }
  feature_numbers_ = largest + 1;
  if (largest < kDirectFeatures) return;
  direct_ = false;
  FeatureMap seen;
  for (std::size_t i = 0; i < examples.size; ++i) {
    const Features x = examples.example(i).x;
    for (std::uint32_t j = 0; j < x.size; ++j) seen.find_or_insert(x.ids[j]);
  }
  std::vector<FeatureId> features(seen.features().begin(), seen.features().end());
  std::ranges::sort(features);
  map_.reserve(features.size());
  for (const FeatureId feature : features) map_.find_or_insert(feature);
  feature_numbers_ = map_.size();
}

ForestTree grow_tree(const ForestOptions& options, const ForestTrainingSet& data, std::uint32_t tree,
                     unsigned threads) {
  return Grower(options, data, threads).grow(draw(options.seed, Draw::places, tree));
}

}  // namespace labelgrove
