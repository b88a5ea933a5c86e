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

// --- the rules -------------------------------------------------------------------------------------------------------

bool Search::worse(const Item& a, const Item& b) {
  if (a.probability != b.probability) return a.probability < b.probability;
  if (a.rank != b.rank) return a.rank > b.rank;
  return a.node > b.node;
}

void Search::start(const Query& query) {
  query_ = query;
  stats_ = {};
  found_.clear();
  queue_.clear();
  next_.clear();
  best_.clear();
  at_ = 0;
  const bool wanted = query.kind == Query::Kind::above_threshold || query.k > 0;
  if (wanted && scope_->open(kAboveRoot)) queue_.push_back({1.0F, 0, kAboveRoot, 0});
}

NodeId Search::next() {
  switch (query_.kind) {
    case Query::Kind::top_k:
      return next_best();
    case Query::Kind::above_threshold:
      return next_above();
    case Query::Kind::beam:
      return next_in_beam();
  }
  return kNone;
}

void Search::take(const float* probabilities, std::uint64_t bytes) {
  const auto& children = (*tree_)[opened_.node].children;
  const std::uint32_t depth = opened_.node == kAboveRoot ? 0 : opened_.depth + 1;
  stats_.classifiers += static_cast<std::uint32_t>(children.size());
  stats_.depth = std::max(stats_.depth, depth);
  stats_.blocks += 1;
  stats_.bytes += bytes;
  for (std::size_t i = 0; i < children.size(); ++i) {
    const float product = opened_.probability * probabilities[i];
    const float probability = product >= 0.0F ? product : 0.0F;  // a weight that is not a number counts as 0
    if (hopeless(probability) || !scope_->open(children[i])) continue;
    const TreeNode& child = (*tree_)[children[i]];
    take({probability, child.is_leaf() ? child.label + 1 : 0, children[i], depth});
  }
}

void Search::take(const Item& child) {
  switch (query_.kind) {
    case Query::Kind::top_k:
      push(child);
      if (child.rank > 0) remember(child.probability);
      break;
    case Query::Kind::above_threshold:
      if (child.probability < scope_->threshold(child.node)) break;
      if (child.rank == 0) queue_.push_back(child);
      else found_.push_back({child.rank - 1, child.probability});
      break;
    case Query::Kind::beam:
      if (child.rank == 0) {
        next_.push_back(child);
      } else {
        found_.push_back({child.rank - 1, child.probability});
        remember(child.probability);
      }
      break;
  }
}

NodeId Search::open(const Item& inner) {
  opened_ = inner;
  return inner.node;
}

// Nothing below a node is more probable than the node: once k leaves are known, what is less probable than the worst of
// them leads nowhere. So the nodes opened are those at least as probable as the k-th best label, and no search that is
// sure of its answer opens fewer (of nodes exactly as probable, each may hide a label that comes first among equals).
bool Search::hopeless(float probability) const {
  return best_.size() >= query_.k && !best_.empty() && probability < best_.front();
}

void Search::remember(float probability) {
  best_.push_back(probability);
  std::push_heap(best_.begin(), best_.end(), std::greater<>());
  if (best_.size() > query_.k) {
    std::pop_heap(best_.begin(), best_.end(), std::greater<>());
    best_.pop_back();
  }
}

void Search::push(const Item& item) {
  queue_.push_back(item);
  std::push_heap(queue_.begin(), queue_.end(), worse);
}

Search::Item Search::pop() {
  std::pop_heap(queue_.begin(), queue_.end(), worse);
  const Item top = queue_.back();
  queue_.pop_back();
  return top;
}

NodeId Search::next_best() {
  while (!queue_.empty() && found_.size() < query_.k) {
    const Item top = pop();
    if (top.rank == 0) return open(top);
    found_.push_back({top.rank - 1, top.probability});
  }
  return kNone;
}

NodeId Search::next_above() {
  if (queue_.empty()) {
    sort_found(found_);
    return kNone;
  }
  const Item top = queue_.back();
  queue_.pop_back();
  return open(top);
}

// Leaves that are near the root are found early, and may make all that is left of the beam hopeless: the search does
// not wait for the deepest path.
NodeId Search::next_in_beam() {
  do {
    while (at_ < queue_.size()) {
      const Item& inner = queue_[at_++];
      if (!hopeless(inner.probability)) return open(inner);
    }
  } while (next_level());
  sort_found(found_);
  if (found_.size() > query_.k) found_.resize(query_.k);
  return kNone;
}

bool Search::next_level() {
  const auto better = [](const Item& a, const Item& b) {
    return a.probability != b.probability ? a.probability > b.probability : a.node < b.node;
  };
  queue_.swap(next_);
  next_.clear();
  at_ = 0;
  const std::size_t kept = std::min(query_.width, queue_.size());
  std::partial_sort(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(kept), queue_.end(), better);
  queue_.resize(kept);
  return kept > 0;
}

// --- the traversals --------------------------------------------------------------------------------------------------

void Searcher::step(Search& search, NodeId v, const Features& x) {
  probabilities_.resize(std::max(probabilities_.size(), tree_[v].children.size()));
  const std::uint64_t before = work_.bytes;
  blocks_[v]->predict(x, work_, probabilities_.data());
  search.take(probabilities_.data(), work_.bytes - before);
}

void Searcher::find(const Query& query, const Features& x, std::vector<Scored>& found) {
  one_.start(query);
  for (NodeId v = one_.next(); v != kNone; v = one_.next()) step(one_, v, x);
  found = one_.found();
}

std::span<const Search> Searcher::find_together(const Query& query, std::span<const Features> examples) {
  many_.resize(std::max(many_.size(), examples.size()), Search(tree_, scope_));
  wanted_.clear();
  const auto want = [&](std::uint32_t i) {
    const NodeId v = many_[i].next();
    if (v != kNone) wanted_next_.emplace_back(v, i);
  };
  for (std::uint32_t i = 0; i < examples.size(); ++i) {
    many_[i].start(query);
    want(i);
  }
  while (!wanted_next_.empty()) {
    wanted_.swap(wanted_next_);
    wanted_next_.clear();
    std::ranges::sort(wanted_);
    for (const auto& [v, i] : wanted_) {
      step(many_[i], v, examples[i]);
      want(i);
    }
  }
  return std::span(many_).first(examples.size());
}

}  // namespace labelgrove
