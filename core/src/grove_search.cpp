#include "labelgrove/grove_search.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <utility>

#include "labelgrove/hash.hpp"

namespace labelgrove {
namespace {

constexpr float kRounded = 1.0F - 1e-5F;  // so much less than a mean may be asked for: sums are rounded

constexpr std::uint32_t kScans = 8;  // after so many a heap is worth its making

}  // namespace

void FewPlaces::clear() {
  ++round_;
  size_ = 0;
}

std::size_t FewPlaces::slot_of(std::uint32_t id) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = scattered(id) >> (32 - bits_);
  while (slots_[at].round == round_ && slots_[at].id != id) at = (at + 1) & mask;
  return at;
}

std::uint32_t FewPlaces::find(std::uint32_t id) const {
  const Slot& slot = slots_[slot_of(id)];
  return slot.round == round_ ? slot.place : kNone;
}

std::uint32_t FewPlaces::add(std::uint32_t id) {
  if (2 * std::size_t{size_} >= slots_.size()) {
    const std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
    ++bits_;
    for (const Slot& slot : before) {
      if (slot.round == round_) slots_[slot_of(slot.id)] = slot;
    }
  }
  slots_[slot_of(id)] = {id, size_, round_};
  return size_++;
}

GroveScope::GroveScope(std::span<const TreeView> trees) {
  for (const TreeView& one : trees) scopes_.emplace_back(one.tree());
}

GroveScope::GroveScope(std::span<const TreeView> trees, std::span<const LabelId> allowed) {
  for (const TreeView& one : trees) scopes_.emplace_back(one.tree(), allowed);
}

void GroveScope::set_thresholds(std::span<const float> by_label) {
  thresholds_.assign(by_label.begin(), by_label.end());
  lowest_ = std::ranges::min(thresholds_);
  for (Scope& scope : scopes_) scope.set_thresholds(by_label);
}

bool GroveScope::fits(std::span<const TreeView> trees) const {
  return std::ranges::equal(scopes_, trees,
                            [](const Scope& scope, const TreeView& one) { return scope.fits(one.tree()); });
}

GroveSearcher::GroveSearcher(std::span<const TreeView> trees, const GroveScope& scope)
    : trees_(trees), scope_(scope), fronts_(trees.size()), descents_(trees.size()) {}

void GroveSearcher::start(const Query& query, const Features& x) {
  query_ = query;
  x_ = x;
  stats_ = {};
  best_.clear();
  named_.clear();
  for (std::size_t t = 0; t < trees_.size(); ++t) {
    fronts_[t].queue.clear();
    fronts_[t].n_open = 0;
    fronts_[t].opened.clear();
    if (scope_.of_tree(t).open(kAboveRoot)) fronts_[t].queue.push_back({1.0F, kAboveRoot, 0, kNone});
  }
}

void GroveSearcher::find(const Query& query, const Features& x, std::vector<Scored>& found) {
  switch (query.kind) {
    case Query::Kind::top_k:
      return top_k(x, query.k, found);
    case Query::Kind::above_threshold:
      return above_threshold(x, found);
    case Query::Kind::beam:
      return beam(x, query.k, query.width, found);
  }
}

void GroveSearcher::top_k(const Features& x, std::size_t k, std::vector<Scored>& found) {
  found.clear();
  start({Query::Kind::top_k, k}, x);
  Scored next{};
  for (float most = bound(); most >= 0.0F && k > 0; most = bound()) {
    if (best_.size() == k && best_.front() > most) break;
    if (!advance(next)) continue;
    found.push_back(next);
    best_.push_back(next.probability);
    std::ranges::push_heap(best_, std::greater<>());
    if (best_.size() <= k) continue;
    std::ranges::pop_heap(best_, std::greater<>());
    best_.pop_back();
  }
  std::ranges::sort(found, better);
  if (found.size() > k) found.resize(k);
}

void GroveSearcher::above_threshold(const Features& x, std::vector<Scored>& found) {
  found.clear();
  start({Query::Kind::above_threshold}, x);
  Scored next{};
  for (float most = bound(); most >= 0.0F && most >= scope_.lowest_threshold(); most = bound()) {
    if (advance(next)) found.push_back(next);
  }
  std::ranges::sort(found, better);
}

void GroveSearcher::beam(const Features& x, std::size_t k, std::size_t width, std::vector<Scored>& found) {
  found.clear();
  start({Query::Kind::beam, k, width}, x);
  std::vector<Scored> reached;
  SearchStats beams;
  for (std::size_t t = 0; t < trees_.size(); ++t) {
    Searcher searcher(trees_[t].tree(), trees_[t].blocks(), scope_.of_tree(t));
    searcher.beam(x, std::numeric_limits<std::size_t>::max(), width, reached);
    beams.classifiers += searcher.stats().classifiers;
    beams.depth = std::max(beams.depth, searcher.stats().depth);
    beams.blocks += searcher.stats().blocks;
    beams.bytes += searcher.stats().bytes;
    for (const Scored& one : reached) {
      if (named_.find(one.label) != kNone) continue;
      named_.add(one.label);
      found.push_back({one.label, mean(one.label)});
    }
  }
  stats_.classifiers += beams.classifiers;
  stats_.blocks += beams.blocks;
  stats_.bytes += beams.bytes;
  stats_.depth = std::max(stats_.depth, beams.depth);
  std::ranges::sort(found, better);
  if (found.size() > k) found.resize(k);
}

float GroveSearcher::bound() const {
  float sum = 0.0F;
  for (const Front& front : fronts_) {
    if (front.queue.empty()) return -1.0F;  // every label has been handed out
    sum += front.queue.front().probability;
  }
  return sum / static_cast<float>(fronts_.size());
}

bool GroveSearcher::advance(Scored& next) {
  const auto front = std::ranges::max_element(fronts_, [](const Front& a, const Front& b) {
    return a.queue.front().probability < b.queue.front().probability;
  });
  const auto t = static_cast<std::size_t>(front - fronts_.begin());
  const LabelTree& tree = trees_[t].tree();
  std::ranges::pop_heap(front->queue, std::less<>());
  const Item top = front->queue.back();
  front->queue.pop_back();
  if (top.siblings != kNone) queue_next(t, top.siblings);
  if (!tree[top.node].is_leaf()) {
    expand(t, top);
    return false;
  }
  const LabelId label = tree[top.node].label;
  if (named_.find(label) != kNone) return false;
  named_.add(label);
  next = {label, mean(label)};
  return next.probability >= 0.0F;
}

void GroveSearcher::expand(std::size_t t, const Item& item) {
  Front& front = fronts_[t];
  const std::vector<float>& probabilities = open(t, item.node);
  const std::uint32_t depth = item.node == kAboveRoot ? 0 : item.depth + 1;
  stats_.depth = std::max(stats_.depth, depth);
  if (front.n_open == front.siblings.size()) front.siblings.emplace_back();
  front.siblings[front.n_open].start(item.node, depth, item.probability, probabilities);
  queue_next(t, front.n_open++);
}

void GroveSearcher::queue_next(std::size_t t, std::uint32_t siblings) {
  Front& front = fronts_[t];
  Siblings& from = front.siblings[siblings];
  const float others = bound_of_others(t);
  const float shares = kRounded * static_cast<float>(fronts_.size());
  const auto unwanted = [&](float probability, NodeId v) { return probability + others < shares * wanted(t, v); };
  while (!from.empty()) {
    const auto [probability, slot] = from.take();
    if (unwanted(probability, from.parent())) return from.clear();  // nor are those that are less probable
    const NodeId child = trees_[t].tree()[from.parent()].children[slot];
    if (unwanted(probability, child) || !scope_.of_tree(t).open(child)) continue;
    front.queue.push_back({probability, child, from.depth(), siblings});
    std::ranges::push_heap(front.queue, std::less<>());
    return;
  }
}

// Floats from 0 on are ordered as their bits are.
void GroveSearcher::Siblings::start(NodeId parent, std::uint32_t depth, float probability,
                                    std::span<const float> of_children) {
  parent_ = parent;
  depth_ = depth;
  taken_ = 0;
  left_.resize(of_children.size());
  for (std::size_t i = 0; i < of_children.size(); ++i) {
    const float product = std::max(0.0F, probability * of_children[i]);  // NaN counts as 0
    left_[i] = std::uint64_t{std::bit_cast<std::uint32_t>(product)} << 32 | (kNone - i);
  }
}

std::pair<float, std::uint32_t> GroveSearcher::Siblings::take() {
  if (taken_++ < kScans) {
    std::uint64_t best = 0;
    for (const std::uint64_t one : left_) best = std::max(best, one);
    std::swap(*std::ranges::find(left_, best), left_.back());
  } else {
    if (taken_ == kScans + 1) std::ranges::make_heap(left_);
    std::ranges::pop_heap(left_);
  }
  const std::uint64_t best = left_.back();
  left_.pop_back();
  return {std::bit_cast<float>(static_cast<std::uint32_t>(best >> 32)), kNone - static_cast<std::uint32_t>(best)};
}

float GroveSearcher::wanted(std::size_t t, NodeId v) const {
  if (query_.kind == Query::Kind::above_threshold) return scope_.of_tree(t).threshold(v);
  return query_.kind == Query::Kind::top_k && best_.size() == query_.k ? best_.front() : 0.0F;
}

float GroveSearcher::bound_of_others(std::size_t t) const {
  float sum = 0.0F;
  for (std::size_t other = 0; other < fronts_.size(); ++other) {
    if (other != t) sum += fronts_[other].queue.front().probability;
  }
  return sum;
}

float GroveSearcher::mean(LabelId label) {
  for (std::size_t t = 0; t < trees_.size(); ++t) {
    const LabelTree& tree = trees_[t].tree();
    descents_[t].left.clear();
    descents_[t].product = 1.0F;
    for (NodeId v = tree.leaf_of(label); v != kAboveRoot; v = tree[v].parent) descents_[t].left.push_back(v);
    descend(t, false);
  }
  const float least = query_.kind == Query::Kind::beam ? 0.0F : wanted(0, trees_[0].tree().leaf_of(label));
  for (;;) {
    const float most = mean_so_far();
    if (most < least) return -1.0F;
    // The tree that leaves most open.
    std::size_t next = trees_.size();
    for (std::size_t t = 0; t < trees_.size(); ++t) {
      if (!descents_[t].left.empty() && (next == trees_.size() || descents_[t].product > descents_[next].product))
        next = t;
    }
    if (next == trees_.size()) return most;
    descend(next, true);
  }
}

float GroveSearcher::mean_so_far() const {
  float sum = 0.0F;
  for (const Descent& descent : descents_) sum += descent.product;
  return sum / static_cast<float>(descents_.size());
}

// The product along the path, multiplied from the root down as the search does, so that both round alike.
void GroveSearcher::descend(std::size_t t, bool further) {
  const LabelTree& tree = trees_[t].tree();
  Descent& descent = descents_[t];
  for (; !descent.left.empty(); descent.left.pop_back()) {
    const TreeNode& node = tree[descent.left.back()];
    if (fronts_[t].opened.find(node.parent) == kNone) {
      if (!further) return;
      further = false;
    }
    descent.product *= open(t, node.parent)[node.slot];
    if (!(descent.product >= 0.0F)) descent.product = 0.0F;  // NaN counts as 0
  }
}

const std::vector<float>& GroveSearcher::open(std::size_t t, NodeId v) {
  Front& front = fronts_[t];
  if (const std::uint32_t place = front.opened.find(v); place != kNone) return front.probabilities[place];
  const std::uint32_t place = front.opened.add(v);
  if (place == front.probabilities.size()) front.probabilities.emplace_back();
  std::vector<float>& probabilities = front.probabilities[place];
  const NodeBlock& block = *trees_[t].blocks()[v];
  probabilities.resize(block.children());
  const std::uint64_t before = work_.bytes;
  block.predict(x_, work_, probabilities.data());
  stats_.classifiers += block.children();
  stats_.blocks += 1;
  stats_.bytes += work_.bytes - before;
  return probabilities;
}

}  // namespace labelgrove
