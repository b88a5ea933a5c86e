#include "labelgrove/search.hpp"

#include <algorithm>
#include <limits>

namespace labelgrove {

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

void LeastByPlace::start(std::span<const float> by_place) {
  by_place_ = by_place;
  found_.clear();
  value_ = by_place.empty() ? 0.0F : by_place.front();
}

// With at least found_[i] and less than found_[i - 1], a label has place i. As places ask for more and more, all
// probabilities from some value on suffice.
void LeastByPlace::add(float probability) {
  if (by_place_.size() <= 1) return;
  found_.insert(std::ranges::upper_bound(found_, probability, std::ranges::greater{}), probability);
  if (found_.size() == by_place_.size()) found_.pop_back();
  std::size_t i = found_.size();
  value_ = by_place_[i];
  while (i > 0 && value_ >= found_[i - 1]) {
    --i;
    value_ = std::max(by_place_[i], found_[i]);
  }
}

// --- the rules -------------------------------------------------------------------------------------------------------

bool Search::after(const Inner& a, const Inner& b) {
  return a.probability != b.probability ? a.probability < b.probability : a.node > b.node;
}

void Search::start(const Query& query) {
  query_ = query;
  stats_ = {};
  found_.clear();
  queue_.clear();
  next_.clear();
  at_ = 0;
  least_.start(query.least);
  const bool wanted = query.kind == Query::Kind::above_threshold || query.k > 0;
  if (wanted && scope_->open(kAboveRoot)) queue_.push_back({1.0F, kAboveRoot, 0});
}

Opening Search::next() {
  switch (query_.kind) {
    case Query::Kind::top_k:
      return next_best();
    case Query::Kind::above_threshold:
      return next_above();
    case Query::Kind::beam:
      return next_in_beam();
  }
  return {};
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
    const float probability = product >= 0.0F ? product : 0.0F;  // NaN counts as 0
    if (hopeless(probability) || !scope_->open(children[i])) continue;
    const TreeNode& child = (*tree_)[children[i]];
    if (query_.kind == Query::Kind::above_threshold && probability < scope_->threshold(children[i])) continue;
    if (child.is_leaf()) keep({child.label, probability});
    else take({probability, children[i], depth});
  }
}

void Search::take(const Inner& child) {
  if (query_.kind == Query::Kind::beam) return next_.push_back(child);
  queue_.push_back(child);
  if (query_.kind == Query::Kind::top_k) std::push_heap(queue_.begin(), queue_.end(), after);
}

void Search::keep(const Scored& leaf) {
  if (query_.kind == Query::Kind::above_threshold) found_.push_back(leaf);
  else if (keep_best(found_, query_.k, leaf)) least_.add(leaf.probability);
}

Opening Search::open(const Inner& inner) {
  opened_ = inner;
  return {0, inner.node};
}

// Nothing below a node is more probable than the node. Once k leaves are known, nodes less probable than the worst of
// them can be ignored. The nodes opened are thus those at least as probable as the k-th best label, and no exact search
// opens fewer (each node exactly as probable may hide a label that comes first among equals).
bool Search::hopeless(float probability) const {
  if (query_.kind == Query::Kind::above_threshold) return false;
  return probability < least_.value() || (found_.size() == query_.k && probability < found_.front().probability);
}

Opening Search::next_best() {
  if (queue_.empty() || hopeless(queue_.front().probability)) {
    std::sort_heap(found_.begin(), found_.end(), better);
    return {};
  }
  std::pop_heap(queue_.begin(), queue_.end(), after);
  const Inner best = queue_.back();
  queue_.pop_back();
  return open(best);
}

Opening Search::next_above() {
  if (queue_.empty()) {
    std::ranges::sort(found_, better);
    return {};
  }
  const Inner last = queue_.back();
  queue_.pop_back();
  return open(last);
}

// Leaves near the root are found early and may make the rest of the beam hopeless; then the search does not wait for
// the deepest path.
Opening Search::next_in_beam() {
  do {
    while (at_ < queue_.size()) {
      const Inner& inner = queue_[at_++];
      if (!hopeless(inner.probability)) return open(inner);
    }
  } while (next_level());
  std::sort_heap(found_.begin(), found_.end(), better);
  return {};
}

bool Search::next_level() {
  queue_.swap(next_);
  next_.clear();
  at_ = 0;
  const std::size_t kept = std::min(query_.width, queue_.size());
  std::partial_sort(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(kept), queue_.end(),
                    [](const Inner& a, const Inner& b) { return after(b, a); });
  queue_.resize(kept);
  return kept > 0;
}

}  // namespace labelgrove
