#include "labelgrove/grove_search.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "labelgrove/hash.hpp"

namespace labelgrove {
namespace {

constexpr float kRounded = 1.0F - 1e-5F;  // slack below a required mean, for the rounding of sums
constexpr float kAllDigits = std::numeric_limits<float>::min();  // smaller means are rounded by more than that

constexpr std::uint32_t kScans = 8;  // linear scans of a node before making a heap pays

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
  lowest_ = std::ranges::min(by_label);
  for (Scope& scope : scopes_) scope.set_thresholds(by_label);
}

bool GroveScope::fits(std::span<const TreeView> trees) const {
  return std::ranges::equal(scopes_, trees,
                            [](const Scope& scope, const TreeView& one) { return scope.fits(one.tree()); });
}

// --- the rules -------------------------------------------------------------------------------------------------------

GroveSearch::GroveSearch(std::span<const TreeView> trees, const GroveScope& scope)
    : trees_(trees), scope_(&scope), fronts_(trees.size()), descents_(trees.size()) {}

void GroveSearch::start(const Query& query) {
  query_ = query;
  stats_ = {};
  found_.clear();
  best_.clear();
  named_.clear();
  looked_up_ = kNone;
  least_.start(query.least);
  for (std::size_t t = 0; t < trees_.size(); ++t) {
    Front& front = fronts_[t];
    front.queue.clear();
    front.places.clear();
    front.products.clear();
    if (scope_->of_tree(t).open(kAboveRoot)) front.queue.push_back({1.0F, kNone, 0});
  }
  beams_.clear();
  beam_ = 0;
  reached_.clear();
  for (std::size_t t = 0; t < trees_.size() && query.kind == Query::Kind::beam; ++t) {
    beams_.emplace_back(trees_[t], scope_->of_tree(t));
    beams_.back().start({Query::Kind::beam, std::numeric_limits<std::size_t>::max(), query.width});
  }
}

Opening GroveSearch::next() {
  for (;;) {
    opened_ = {};
    if (looked_up_ != kNone) opened_ = look_further();
    else if (query_.kind == Query::Kind::beam && (beam_ < beams_.size() || !reached_.empty()))
      opened_ = next_of_beams();
    else if (query_.kind != Query::Kind::beam && more()) opened_ = advance();
    else break;
    if (opened_.node != kNone) return opened_;
  }
  std::ranges::sort(found_, better);
  if (query_.kind != Query::Kind::above_threshold && found_.size() > query_.k) found_.resize(query_.k);
  return {};
}

void GroveSearch::take(const float* probabilities, std::uint64_t bytes) {
  const auto [t, v] = opened_;
  Front& front = fronts_[t];
  const TreeNode& node = tree(t)[v];
  float above = 1.0F;
  std::uint32_t depth = 0;
  if (v != kAboveRoot) {
    const std::uint32_t parent = front.places.find(node.parent);
    above = product(t, parent, v);
    depth = front.open[parent].depth + 1;
  }
  const std::uint32_t place = front.places.add(v);
  if (place == front.open.size()) front.open.emplace_back();
  Open& open = front.open[place];
  open.node = v;
  open.children = node.children.data();
  open.depth = depth;
  open.begin = static_cast<std::uint32_t>(front.products.size());
  open.size = static_cast<std::uint32_t>(node.children.size());
  open.taken = 0;
  open.done = false;
  front.products.resize(open.begin + node.children.size());
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    front.products[open.begin + i] = std::max(0.0F, above * probabilities[i]);  // NaN counts as 0
  }
  stats_.classifiers += static_cast<std::uint32_t>(node.children.size());
  stats_.blocks += 1;
  stats_.bytes += bytes;
  if (looked_up_ != kNone) {
    Descent& descent = descents_[t];
    descent.left.pop_back();
    descent.product = product(t, place, descent.left.back());
    return;
  }
  stats_.depth = std::max(stats_.depth, depth);
  if (query_.kind == Query::Kind::beam) beams_[beam_].take(probabilities, bytes);
  else queue_next(t, place);
}

// The sign only marks products as taken.
float GroveSearch::product(std::size_t t, std::uint32_t place, NodeId child) const {
  return std::fabs(fronts_[t].products[fronts_[t].open[place].begin + tree(t)[child].slot]);
}

float GroveSearch::wanted(std::size_t t, NodeId v) const {
  if (query_.kind == Query::Kind::above_threshold) return scope_->of_tree(t).threshold(v);
  if (query_.kind != Query::Kind::top_k) return 0.0F;
  return std::max(least_.value(), best_.size() == query_.k ? best_.front() : 0.0F);
}

float GroveSearch::bound_of_others(std::size_t t) const {
  float sum = 0.0F;
  for (std::size_t other = 0; other < fronts_.size(); ++other) {
    if (other != t) sum += fronts_[other].queue.front().probability;
  }
  return sum;
}

bool GroveSearch::more() const {
  float sum = 0.0F;
  for (const Front& front : fronts_) {
    if (front.queue.empty()) return false;  // every label has been yielded
    sum += front.queue.front().probability;
  }
  const float most = sum / static_cast<float>(fronts_.size());
  if (query_.kind == Query::Kind::above_threshold) return most >= scope_->lowest_threshold();
  return query_.k > 0 && most >= least_.value() && !(best_.size() == query_.k && best_.front() > most);
}

Opening GroveSearch::advance() {
  const auto front = std::ranges::max_element(fronts_, [](const Front& a, const Front& b) {
    return a.queue.front().probability < b.queue.front().probability;
  });
  const auto t = static_cast<std::size_t>(front - fronts_.begin());
  std::ranges::pop_heap(front->queue, std::less<>());
  const Item top = front->queue.back();
  front->queue.pop_back();
  NodeId v = kAboveRoot;
  if (top.place != kNone) {
    v = front->open[top.place].children[top.slot];
    queue_next(t, top.place);
    if (unwanted(t, top.probability, v) || !scope_->of_tree(t).open(v)) return {};
  }
  const TreeNode& node = tree(t)[v];
  if (node.is_leaf()) {
    look_up(node.label);
    return {};
  }
  const std::uint32_t place = front->places.find(v);
  if (place == kNone) return {static_cast<std::uint32_t>(t), v};
  stats_.depth = std::max(stats_.depth, front->open[place].depth);
  queue_next(t, place);
  return {};
}

bool GroveSearch::unwanted(std::size_t t, float probability, NodeId v) const {
  const float least = wanted(t, v);
  const float shares = kRounded * static_cast<float>(fronts_.size());
  return least >= kAllDigits && probability + bound_of_others(t) < shares * least;
}

void GroveSearch::queue_next(std::size_t t, std::uint32_t place) {
  Front& front = fronts_[t];
  Open& from = front.open[place];
  if (from.done) return;
  const auto [probability, slot] = take_best(front, from);
  from.done = probability < 0.0F || unwanted(t, probability, from.node);  // nor can less probable ones
  if (from.done) return;
  __builtin_prefetch(from.children + slot);
  front.queue.push_back({probability, place, slot});
  std::ranges::push_heap(front.queue, std::less<>());
}

// As signed integers, the bits of non-negative floats are ordered like the floats, and negative floats come before
// them.
std::pair<float, std::uint32_t> GroveSearch::take_best(Front& front, Open& from) {
  const std::span products = std::span(front.products).subspan(from.begin, from.size);
  const auto bits = [&](std::size_t i) { return std::bit_cast<std::int32_t>(products[i]); };
  std::uint32_t slot = 0;
  if (from.taken++ < kScans) {
    std::int32_t best = bits(0);
    for (std::size_t i = 1; i < products.size(); ++i) best = std::max(best, bits(i));
    while (bits(slot) != best) ++slot;
  } else {
    if (from.taken == kScans + 1) {
      from.left.clear();
      for (std::uint32_t i = 0; i < from.size; ++i) {
        if (bits(i) >= 0) from.left.push_back(static_cast<std::uint64_t>(bits(i)) << 32 | (kNone - i));
      }
      std::ranges::make_heap(from.left);
    }
    if (from.left.empty()) return {-1.0F, 0};
    std::ranges::pop_heap(from.left);
    slot = kNone - static_cast<std::uint32_t>(from.left.back());
    from.left.pop_back();
  }
  const float best = products[slot];
  products[slot] = std::copysign(best, -1.0F);
  return {std::signbit(best) ? -1.0F : best, slot};
}

Opening GroveSearch::next_of_beams() {
  for (; beam_ < beams_.size(); ++beam_) {
    const NodeId v = beams_[beam_].next().node;
    if (v != kNone) return {static_cast<std::uint32_t>(beam_), v};
    for (const Scored& one : beams_[beam_].found()) reached_.push_back(one.label);
  }
  if (reached_.empty()) return {};
  const LabelId label = reached_.back();
  reached_.pop_back();
  look_up(label);
  return {};
}

// Multiplies products along the path from the root down, like the search in a single tree, so that both round alike.
void GroveSearch::look_up(LabelId label) {
  if (named_.find(label) != kNone) return;
  named_.add(label);
  looked_up_ = label;
  for (std::size_t t = 0; t < trees_.size(); ++t) {
    Descent& descent = descents_[t];
    descent.left.assign(1, tree(t).leaf_of(label));
    descent.product = 1.0F;
    while (descent.left.back() != kAboveRoot) {
      const NodeId v = descent.left.back();
      const std::uint32_t place = fronts_[t].places.find(tree(t)[v].parent);
      if (place != kNone) {
        descent.product = product(t, place, v);
        break;
      }
      descent.left.push_back(tree(t)[v].parent);
    }
  }
}

Opening GroveSearch::look_further() {
  float sum = 0.0F;
  std::size_t next = trees_.size();  // the tree with the highest product among those not fully open
  for (std::size_t t = 0; t < trees_.size(); ++t) {
    sum += descents_[t].product;
    const bool open = descents_[t].left.size() > 1;
    if (open && (next == trees_.size() || descents_[t].product > descents_[next].product)) next = t;
  }
  const float mean = sum / static_cast<float>(trees_.size());
  const bool hopeless = mean < wanted(0, tree(0).leaf_of(looked_up_));
  if (next != trees_.size() && !hopeless) return {static_cast<std::uint32_t>(next), descents_[next].left.back()};
  if (!hopeless) keep({looked_up_, mean});
  looked_up_ = kNone;
  return {};
}

void GroveSearch::keep(const Scored& label) {
  found_.push_back(label);
  if (query_.kind != Query::Kind::top_k) return;
  best_.push_back(label.probability);
  least_.add(label.probability);
  std::ranges::push_heap(best_, std::greater<>());
  if (best_.size() <= query_.k) return;
  std::ranges::pop_heap(best_, std::greater<>());
  best_.pop_back();
}

}  // namespace labelgrove
