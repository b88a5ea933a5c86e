#include "labelgrove/search.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace labelgrove {
namespace {

void sort_found(std::vector<Scored>& found) {
  std::sort(found.begin(), found.end(), [](const Scored& a, const Scored& b) {
    return a.probability != b.probability ? a.probability > b.probability : a.label < b.label;
  });
}

}  // namespace

Scope::Scope(const LabelTree& tree, std::span<const LabelId> allowed)
    : tree_(tree), restricted_(true), open_(tree.size(), 0) {
  for (const LabelId label : allowed) {
    for (NodeId v = tree.leaf_of(label); v != kNone && open_[v] == 0; v = tree[v].parent) open_[v] = 1;
  }
}

void Scope::set_thresholds(std::span<const float> by_label) {
  thresholds_.assign(by_label.begin(), by_label.end());
  if (by_label.size() == 1) return;
  thresholds_.assign(tree_.size(), std::numeric_limits<float>::infinity());
  for (LabelId label = 0; label < by_label.size(); ++label) {
    const float threshold = by_label[label];
    const NodeId leaf = tree_.leaf_of(label);
    if (leaf == kNone || !open(leaf)) continue;
    for (NodeId v = leaf; v != kNone && thresholds_[v] > threshold; v = tree_[v].parent) {
      thresholds_[v] = threshold;
    }
  }
}

bool Searcher::worse(const Item& a, const Item& b) {
  if (a.probability != b.probability) return a.probability < b.probability;
  if (a.rank != b.rank) return a.rank > b.rank;
  return a.node > b.node;
}

Searcher::Item Searcher::item(NodeId v, float probability, std::uint32_t depth) const {
  return {probability, tree_[v].is_leaf() ? tree_[v].label + 1 : 0, v, depth};
}

void Searcher::start() {
  stats_ = {};
  queue_.clear();
  if (scope_.open(kAboveRoot)) queue_.push_back({1.0F, 0, kAboveRoot, 0});
}

template <typename Take>
void Searcher::open_node(const Features& x, const Item& parent, Take&& take) {
  const auto& children = tree_[parent.node].children;
  probabilities_.resize(children.size());
  blocks_[parent.node]->predict(x, work_, probabilities_.data());
  stats_.classifiers += static_cast<std::uint32_t>(children.size());
  const std::uint32_t depth = parent.node == kAboveRoot ? 0 : parent.depth + 1;
  stats_.depth = std::max(stats_.depth, depth);
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (!scope_.open(children[i])) continue;
    const float product = parent.probability * probabilities_[i];
    take(item(children[i], product >= 0.0F ? product : 0.0F, depth));  // a weight that is not a number counts as 0
  }
}

void Searcher::top_k(const Features& x, std::size_t k, std::vector<Scored>& found) {
  found.clear();
  start();
  best_.clear();  // the k best leaves seen, as a heap with the worst on top: what is below it need not be queued
  while (!queue_.empty() && found.size() < k) {
    std::pop_heap(queue_.begin(), queue_.end(), worse);
    const Item top = queue_.back();
    queue_.pop_back();
    if (top.rank > 0) {
      found.push_back({top.rank - 1, top.probability});
      continue;
    }
    open_node(x, top, [&](const Item& child) {
      if (best_.size() >= k && child.probability < best_.front()) return;
      queue_.push_back(child);
      std::push_heap(queue_.begin(), queue_.end(), worse);
      if (child.rank == 0) return;
      best_.push_back(child.probability);
      std::push_heap(best_.begin(), best_.end(), std::greater<>());
      if (best_.size() > k) {
        std::pop_heap(best_.begin(), best_.end(), std::greater<>());
        best_.pop_back();
      }
    });
  }
}

void Searcher::above_threshold(const Features& x, std::vector<Scored>& found) {
  found.clear();
  start();
  while (!queue_.empty()) {
    const Item top = queue_.back();
    queue_.pop_back();
    open_node(x, top, [&](const Item& child) {
      if (child.probability < scope_.threshold(child.node)) return;
      if (child.rank == 0) queue_.push_back(child);
      else found.push_back({child.rank - 1, child.probability});
    });
  }
  sort_found(found);
}

void Searcher::beam(const Features& x, std::size_t k, std::size_t width, std::vector<Scored>& found) {
  found.clear();
  start();
  const auto better = [](const Item& a, const Item& b) {
    return a.probability != b.probability ? a.probability > b.probability : a.node < b.node;
  };
  while (!queue_.empty()) {
    if (queue_.size() > width) {
      std::nth_element(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(width), queue_.end(), better);
      queue_.resize(width);
    }
    next_.clear();
    for (const Item& inner : queue_) {
      open_node(x, inner, [&](const Item& child) {
        if (child.rank == 0) next_.push_back(child);
        else found.push_back({child.rank - 1, child.probability});
      });
    }
    queue_.swap(next_);
  }
  sort_found(found);
  if (found.size() > k) found.resize(k);
}

}  // namespace labelgrove
