#include "labelgrove/ldsm_tree.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "labelgrove/hash.hpp"
#include "labelgrove/parallel.hpp"

namespace labelgrove {
namespace {

// A node while its tree grows.
struct Draft {
  std::vector<std::uint32_t> examples;  // v.I
  LabelHistogram histogram;             // v.LHist
  std::uint64_t key = 0;                // of the weights that its regressors begin with: depends on its place alone
  double priority = 0.0;
};

// A node that has been trained, and what its children would be.
struct Split {
  std::unique_ptr<SiblingBlock> regressors;  // null if the split is undone
  std::vector<Draft> children;
  LdsmSplit outcome;
};

double total(const LabelHistogram& histogram) {
  double sum = 0.0;
  for (const LabelCount& entry : histogram) sum += entry.count;
  return sum;
}

double priority_of(const LabelHistogram& histogram) {
  double most = 0.0;
  for (const LabelCount& entry : histogram) most = std::max(most, entry.count);
  return total(histogram) - most;
}

// Trains one node after another. Each thread has its own.
class NodeTrainer {
 public:
  NodeTrainer(const LdsmOptions& options, const LdsmExamples& data, std::span<const double> scales)
      : options_(options),
        data_(data),
        scales_(scales),
        objective_(options.arity, options.objective),
        slot_(data.label_count),
        targets_(options.arity),
        margins_(options.arity) {}

  LabelHistogram histogram(std::span<const std::uint32_t> examples);
  Split split(const Draft& node);

 private:
  Features features(std::uint32_t i);
  std::span<const std::uint32_t> slots(std::uint32_t i);
  void number_labels(const LabelHistogram& histogram);
  void train(const Draft& node, Split& split);  // Algorithm 2
  void shuffle(std::uint64_t key);
  bool send(const Draft& node, Split& split);  // Algorithm 4
  void measure(const Draft& node, Split& split);

  const LdsmOptions& options_;
  const LdsmExamples& data_;
  std::span<const double> scales_;
  SplitObjective objective_;
  std::vector<std::uint32_t> slot_;  // by label: its place in the histogram of the node at hand
  std::vector<std::uint32_t> slots_;
  std::vector<std::uint32_t> order_;  // the node's examples, as the epoch takes them
  std::vector<float> values_;
  std::vector<float> targets_;
  std::vector<float> margins_;
  std::vector<double> counts_;  // by slot and child
  Workspace work_;
};

Features NodeTrainer::features(std::uint32_t i) {
  Features x = data_.example(i).x;
  if (options_.normalize) {
    values_.resize(x.size);
    for (std::uint32_t j = 0; j < x.size; ++j) values_[j] = scaled(x.values[j], scales_[i]);
    x.values = values_.data();
  }
  return x;
}

std::span<const std::uint32_t> NodeTrainer::slots(std::uint32_t i) {
  slots_.clear();
  for (const LabelId label : data_.example(i).labels) slots_.push_back(slot_[label]);
  return slots_;
}

void NodeTrainer::number_labels(const LabelHistogram& histogram) {
  for (std::uint32_t s = 0; s < histogram.size(); ++s) slot_[histogram[s].label] = s;
}

LabelHistogram NodeTrainer::histogram(std::span<const std::uint32_t> examples) {
  std::vector<double> counts(data_.label_count);
  for (const std::uint32_t i : examples) {
    for (const LabelId label : data_.example(i).labels) counts[label] += data_.weight(i);
  }
  LabelHistogram found;
  for (LabelId label = 0; label < data_.label_count; ++label) {
    if (counts[label] > 0.0) found.push_back({label, counts[label]});
  }
  return found;
}

Split NodeTrainer::split(const Draft& node) {
  Split split;
  number_labels(node.histogram);
  split.regressors = std::make_unique<SiblingBlock>(options_.learner, options_.arity, false, node.key);
  train(node, split);
  split.regressors->finish();
  // Steps that are too large end in numbers that are none.
  if (!split.regressors->is_finite() || !send(node, split)) {
    split.regressors.reset();
    split.children.clear();
    return split;
  }
  measure(node, split);
  return split;
}

void NodeTrainer::train(const Draft& node, Split& split) {
  objective_.start(node.histogram.size());
  order_ = node.examples;
  for (std::uint32_t epoch = 0; epoch < options_.epochs; ++epoch) {
    if (options_.shuffle) shuffle(draw(node.key, Draw::shuffle, epoch));
    for (const std::uint32_t i : order_) {
      const double weight = data_.weight(i);
      const auto labels = slots(i);
      if (labels.empty() || weight == 0.0) continue;  // nothing that J speaks of
      const std::uint32_t directions = objective_.choose(labels, weight);
      for (std::uint32_t m = 0; m < options_.arity; ++m) targets_[m] = (directions >> m & 1U) != 0 ? 1.0F : 0.0F;
      split.regressors->regress(features(i), targets_, static_cast<float>(weight), work_, margins_.data());
      objective_.record(labels, weight, margins_);
    }
    split.outcome.course.push_back(static_cast<float>(objective_.value()));
  }
}

void NodeTrainer::shuffle(std::uint64_t key) {
  for (std::size_t n = order_.size(); n > 1; --n) std::swap(order_[n - 1], order_[draw(key, Draw::shuffle, n) % n]);
}

// Whether anything was moved: a child holds some of the examples and not all.
bool NodeTrainer::send(const Draft& node, Split& split) {
  split.children.resize(options_.arity);
  counts_.assign(node.histogram.size() * options_.arity, 0.0);
  for (const std::uint32_t i : node.examples) {
    split.regressors->margins(features(i), work_, margins_.data());
    const auto labels = slots(i);
    for_each_direction(margins_, [&](std::uint32_t m) {
      split.children[m].examples.push_back(i);
      for (const std::uint32_t label : labels) counts_[std::size_t{label} * options_.arity + m] += data_.weight(i);
    });
  }
  bool moved = false;
  for (std::uint32_t m = 0; m < options_.arity; ++m) {
    Draft& child = split.children[m];
    child.key = draw(node.key, Draw::places, m);
    for (std::size_t s = 0; s < node.histogram.size(); ++s) {
      const double count = counts_[s * options_.arity + m];
      if (count > 0.0) child.histogram.push_back({node.histogram[s].label, count});
    }
    child.priority = priority_of(child.histogram);
    moved = moved || (!child.examples.empty() && child.examples.size() < node.examples.size());
  }
  return moved;
}

void NodeTrainer::measure(const Draft& node, Split& split) {
  objective_.start(node.histogram.size());
  for (std::uint32_t s = 0; s < node.histogram.size(); ++s) {
    objective_.add(s, node.histogram[s].count,
                   std::span(counts_).subspan(std::size_t{s} * options_.arity, options_.arity));
  }
  split.outcome.objective = static_cast<float>(objective_.value());
  split.outcome.balance = static_cast<float>(objective_.balance());
  split.outcome.purity = static_cast<float>(objective_.purity());
}

// Algorithm 1. The order in which nodes are split decides only which of them are before T_max is reached; how a node is
// split depends on nothing but its examples and its place. So several threads train the next nodes of the queue ahead of
// their turn, and what is not needed in the end is thrown away.
class Grower {
 public:
  Grower(const LdsmOptions& options, const LdsmExamples& data, std::span<const double> scales, unsigned threads)
      : options_(options), data_(data), threads_(threads), queue_(Before{&drafts_}) {
    for (unsigned t = 0; t < threads; ++t) trainers_.emplace_back(options, data, scales);
  }

  LdsmTree grow(std::uint64_t key);

 private:
  // The order of the queue: higher priority first, among equals the older node.
  struct Before {
    const std::vector<Draft>* drafts;
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

  const LdsmOptions& options_;
  const LdsmExamples& data_;
  unsigned threads_;
  std::vector<NodeTrainer> trainers_;
  LdsmTree tree_;
  std::vector<Draft> drafts_;                 // by node
  std::vector<std::optional<Split>> splits_;  // by node: trained, and not yet popped
  std::set<NodeId, Before> queue_;
};

void Grower::push(NodeId v) {
  const Draft& node = drafts_[v];
  if (node.priority > 0.0 && node.examples.size() >= options_.min_examples) queue_.insert(v);
}

// Trains the first nodes of the queue, the very first among them, unless that is done.
void Grower::train_ahead() {
  if (splits_[*queue_.begin()]) return;
  std::vector<NodeId> next;
  for (auto v = queue_.begin(); v != queue_.end() && next.size() < threads_; ++v) {
    if (!splits_[*v]) next.push_back(*v);
  }
  parallel_for(next.size(), threads_, [&](std::size_t i) { splits_[next[i]] = trainers_[i].split(drafts_[next[i]]); });
}

void Grower::make_children(NodeId v, Split& split) {
  const auto first = static_cast<NodeId>(tree_.nodes.size());
  const std::uint32_t depth = tree_.nodes[v].depth + 1;
  tree_.nodes[v].first_child = first;
  tree_.nodes[v].regressors = std::move(split.regressors);
  tree_.nodes[v].split = std::move(split.outcome);
  for (Draft& child : split.children) {
    LdsmTree::Node node;
    node.depth = depth;
    node.examples = static_cast<std::uint32_t>(child.examples.size());
    tree_.nodes.push_back(std::move(node));
    drafts_.push_back(std::move(child));
    splits_.emplace_back();
    push(static_cast<NodeId>(tree_.nodes.size() - 1));
  }
  drafts_[v] = Draft();
}

void Grower::fill_leaf(NodeId v) {
  const Draft& draft = drafts_[v];
  double divisor = 0.0;
  if (options_.share == LeafShare::labels) divisor = total(draft.histogram);
  else
    for (const std::uint32_t i : draft.examples) divisor += data_.weight(i);
  LdsmTree::Node& node = tree_.nodes[v];
  node.begin = tree_.labels.size();
  for (const LabelCount& entry : draft.histogram) {
    tree_.labels.push_back(entry.label);
    tree_.shares.push_back(static_cast<float>(entry.count / divisor));
  }
  node.end = tree_.labels.size();
}

LdsmTree Grower::grow(std::uint64_t key) {
  Draft root;
  root.examples.resize(data_.size);
  for (std::uint32_t i = 0; i < data_.size; ++i) root.examples[i] = i;
  root.histogram = trainers_[0].histogram(root.examples);
  root.priority = priority_of(root.histogram);
  root.key = key;
  tree_.nodes.emplace_back();
  tree_.nodes[0].examples = static_cast<std::uint32_t>(data_.size);
  drafts_.push_back(std::move(root));
  splits_.emplace_back();
  push(0);
  for (std::uint64_t t = 1; !queue_.empty() && t < options_.max_nodes;) {
    train_ahead();
    const NodeId v = *queue_.begin();
    queue_.erase(queue_.begin());
    Split split = std::move(*splits_[v]);
    splits_[v].reset();
    if (!split.regressors) continue;  // undone: the node stays a leaf
    make_children(v, split);
    t += options_.arity;
  }
  for (NodeId v = 0; v < tree_.nodes.size(); ++v) {
    if (tree_.nodes[v].is_leaf()) fill_leaf(v);
  }
  return std::move(tree_);
}

}  // namespace

LdsmTree grow_ldsm_tree(const LdsmOptions& options, const LdsmExamples& data, std::span<const double> scales,
                        std::uint32_t tree, unsigned threads) {
  return Grower(options, data, scales, threads).grow(draw(options.seed, Draw::places, tree));
}

}  // namespace labelgrove
