#include "labelgrove/memory_tree.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "labelgrove/budget.hpp"
#include "labelgrove/elementary.hpp"
#include "labelgrove/hash.hpp"
#include "labelgrove/kernels.hpp"

namespace labelgrove {
namespace {

// Limits of the weight of a router's step that is due to a reward. Differences of rewards are often tiny, and a
// lopsided node should not be corrected at once.
constexpr double kLeastStep = 0.01;
constexpr double kMostStep = 100.0;

// For counting memory: a node, in a list that doubles, with kSpareEntries; a label's data, its classifier and its name;
// a remembered example's entries here and at a leaf.
constexpr std::uint64_t kBytesOfNode = 384;
constexpr std::uint64_t kBytesOfLabel = 384;
constexpr std::uint64_t kBytesOfEntry = 24;
constexpr std::size_t kSpareEntries = 16;

// A leaf that could not be split is scanned up to this many times its capacity.
constexpr std::size_t kMostLookedAt = 4;

}  // namespace

double f1_of(std::span<const LabelId> a, std::span<const LabelId> b) {
  if (a.empty() && b.empty()) return 1.0;
  const auto common = std::ranges::count_if(a, [b](LabelId label) { return std::ranges::find(b, label) != b.end(); });
  return 2.0 * static_cast<double>(common) / static_cast<double>(a.size() + b.size());
}

// --- the similarity -------------------------------------------------------------------------------------------------

// The feature's slot, or the empty one where it belongs; kNone if neither is within reach.
std::uint32_t Nearness::place(FeatureId feature) const {
  const auto mask = static_cast<std::uint32_t>(slots_.size()) - 1;
  std::uint32_t at = scattered(feature) >> shift_;
  for (std::uint32_t distance = 0; distance <= kFarthestProbe; ++distance, at = (at + 1) & mask) {
    if (slots_[at].feature == kNone || slots_[at].feature == feature) return at;
  }
  return kNone;
}

void Nearness::ask(const Regressor& similarity, const Features& x) {
  x_ = x;
  scale_ = unit_scale(x);
  weights_.resize(x.size);
  bias_ = similarity.margin_parts(x, weights_.data());
  for (std::uint32_t j = 0; j < x.size; ++j) weights_[j] = scaled(weights_[j] + x.values[j], scale_);
  if (is_dense(x)) return;
  const auto bits = static_cast<unsigned>(std::bit_width(x.size * std::size_t{2} + 1));
  slots_.assign(std::size_t{1} << bits, {});
  shift_ = 32 - bits;
  crowded_out_ = false;
  for (std::uint32_t j = 0; j < x.size && !crowded_out_; ++j) {
    const std::uint32_t at = place(x.ids[j]);
    if (at != kNone) slots_[at] = {x.ids[j], j};
    else crowded_out_ = true;
  }
}

float Nearness::of(const Features& z) const {
  const double scale = unit_scale(z);
  if (is_dense(x_) && is_dense(z)) {
    const std::size_t n = std::min(x_.size, z.size);
    return scaled(kernels().run_margin(weights_.data(), z.values, n), scale) + bias_;
  }
  float sum = 0.0F;
  if (is_dense(x_)) {
    for (std::uint32_t j = 0; j < z.size && z.ids[j] < x_.size; ++j) sum += z.values[j] * weights_[z.ids[j]];
  } else if (crowded_out_) {
    for_each_common(x_, z, [&](std::uint32_t i, std::uint32_t j) { sum += z.values[j] * weights_[i]; });
  } else {
    for (std::uint32_t j = 0; j < z.size; ++j) {
      const std::uint32_t at = place(z.ids[j]);
      if (at != kNone && slots_[at].feature != kNone) sum += z.values[j] * weights_[slots_[at].place];
    }
  }
  return scaled(sum, scale) + bias_;
}

Features Nearness::common(const Features& z) {
  ids_.clear();
  products_.clear();
  const double scale = scale_ * unit_scale(z);
  for_each_common(x_, z, [&](std::uint32_t i, std::uint32_t j) {
    ids_.push_back(x_.ids[i]);
    products_.push_back(scaled(x_.values[i] * z.values[j], scale));
  });
  return {ids_.data(), products_.data(), static_cast<std::uint32_t>(ids_.size())};
}

// --- the tree -------------------------------------------------------------------------------------------------------

MemoryTree::MemoryTree(const MemoryTreeOptions& options)
    : options_(options), nodes_(1), max_examples_(options.max_examples), budget_(options.max_bytes) {
  similarity_.start(options_.learner);
  budget_.takes(count());
}

auto MemoryTree::regressors() {
  return
      [this](auto&& visit) { for_each_regressor(*this, [&](Regressor& regressor, const auto&) { visit(regressor); }); };
}

std::size_t MemoryTree::capacity() const {
  return std::size_t{options_.leaf_multiplier} * static_cast<std::size_t>(std::bit_width(nodes_.size()));
}

double MemoryTree::goes_right(NodeId v, float margin) const {
  const Node& node = nodes_[v];
  if (nodes_[node.left].remembered == 0) return 1.0;
  if (nodes_[node.right].remembered == 0) return 0.0;
  return node.side.probability(margin);
}

std::span<const std::uint32_t> MemoryTree::looked_at(NodeId leaf) const {
  const auto& entries = nodes_[leaf].entries;
  return std::span(entries).last(std::min(entries.size(), kMostLookedAt * capacity()));
}

// log2(n_l / n_r): positive if the left side has more examples. Each side counts one extra, so that empty sides are
// defined.
double MemoryTree::balance(const Node& node) const {
  return fixed_log((nodes_[node.left].remembered + 1.0) / (nodes_[node.right].remembered + 1.0)) / kLog2;
}

// The child that a query goes to.
NodeId MemoryTree::child(NodeId v, const Features& x) {
  return margin(v, x, work_) > 0.0F ? nodes_[v].right : nodes_[v].left;
}

void MemoryTree::learn(const Features& given, std::span<const LabelId> labels, float weight) {
  if (weight == 0.0F) {
    ++passed_over_;
    return;
  }
  usable_ = false;  // until all is done
  const std::uint64_t room = budget_.bounded() ? make_room_for(given, labels) : 0;
  const std::uint64_t remembered = count_memory() + room;
  for (const LabelId label : labels) {
    known_.see(label);
    if (label >= seen_.size()) seen_.resize(label + std::size_t{1});
    by_frequency_.erase({-seen_[label], label});
    seen_[label] += static_cast<double>(weight);
    by_frequency_.emplace(-seen_[label], label);
  }
  all_seen_ += static_cast<double>(weight);
  if (options_.classifiers) {
    while (classifiers_.size() < known_.count()) classifiers_.emplace_back().start(options_.learner);
  }
  const ExampleId example = examples_.add(given, options_.normalize ? unit_scale(given) : 1.0, weight);
  update(examples_.view(example), labels, weight, 0);

  const std::size_t entry = remembered_.next_place(options_.seed, max_examples_);
  if (entry < remembered_.size()) take_out(static_cast<std::uint32_t>(entry));
  const ExampleId forgotten = remembered_.offer(options_.seed, max_examples_, example, labels);
  if (forgotten != kNone) examples_.release(forgotten);
  if (forgotten != example) {
    places_.resize(remembered_.size());
    insert(static_cast<std::uint32_t>(entry));
  }
  for (std::uint32_t r = 0; r < options_.reroutes; ++r) {
    const auto again = static_cast<std::uint32_t>(remembered_.pick(options_.seed, r));
    take_out(again);
    update(this->example(again), this->labels(again), this->weight(again), r + 1);
    insert(again);
  }
  if (budget_.bounded()) budget_.gives_back(remembered - count_memory());
  usable_ = true;
}

// Update: draws a node of the path. A router learns which of its sides has the better answer to the example; at a leaf,
// the similarity learns from an entry drawn at random, but not when an example is learnt again. `turn` tells the draws
// after one new example apart; it is 0 for that example.
void MemoryTree::update(const Features& x, std::span<const LabelId> labels, float weight, std::uint64_t turn) {
  path_.assign(1, kRoot);
  while (!nodes_[path_.back()].is_leaf()) path_.push_back(child(path_.back(), x));
  if (options_.classifiers) learn_classifiers(path_.back(), x, labels, weight);
  const auto drawn = [&](std::uint64_t which, std::size_t n) {
    return static_cast<std::size_t>(draw(options_.seed, Draw::reward, remembered_.reached(), 2 * turn + which) % n);
  };
  const NodeId v = path_[drawn(0, path_.size())];
  const bool is_new = turn == 0;
  if (nodes_[v].is_leaf()) {
    const auto there = looked_at(v);
    if (there.empty() || !is_new) return;
    const std::uint32_t entry = there[drawn(1, there.size())];
    nearness_.ask(similarity_, x);
    learn_similarity(entry, f1_of(labels, this->labels(entry)), weight);
    return;
  }
  const double on_left = reward(nodes_[v].left, x, labels, weight, is_new);
  const double gain = reward(nodes_[v].right, x, labels, weight, is_new) - on_left;
  Node& node = nodes_[v];
  const auto alpha = static_cast<double>(options_.alpha);
  const double objective = (1.0 - alpha) * balance(node) + alpha * gain / 2.0;
  if (objective == 0.0) return;
  const double step = std::clamp(std::abs(objective), kLeastStep, kMostStep) * static_cast<double>(weight);
  const auto most = static_cast<double>(kMostWeight);
  const float before =
      teach(node.regressor, x, objective > 0.0 ? 1.0F : -1.0F, static_cast<float>(std::min(step, most))).before;
  if (gain != 0.0) node.side.learn(before, gain > 0.0);
}

// The reward of the nearest example at the leaf that x reaches from v, from which the similarity also learns if x is
// new; 0 if the leaf is empty.
double MemoryTree::reward(NodeId v, const Features& x, std::span<const LabelId> labels, float weight, bool is_new) {
  while (!nodes_[v].is_leaf()) v = child(v, x);
  nearness_.ask(similarity_, x);
  std::uint32_t nearest = kNone;
  float best = 0.0F;
  for (const std::uint32_t entry : looked_at(v)) {
    const float near = nearness_.of(example(entry));
    if (nearest != kNone && !(near > best)) continue;
    nearest = entry;
    best = near;
  }
  if (nearest == kNone) return 0.0;
  const double found = f1_of(labels, this->labels(nearest));
  if (is_new) learn_similarity(nearest, found, weight);
  return found;
}

void MemoryTree::learn_similarity(std::uint32_t entry, double reward, float weight) {
  const double target = 2.0 * reward - 1.0;
  if (target == 0.0) return;
  const Features pair = nearness_.common(example(entry));
  float cosine = 0.0F;
  for (std::uint32_t j = 0; j < pair.size; ++j) cosine += pair.values[j];
  teach(similarity_, pair, target > 0.0 ? 1.0F : -1.0F, static_cast<float>(std::abs(target)) * weight, cosine);
}

// One against some: trains the classifiers of the labels found at the leaf, and of the example's own labels.
// Memories keep removed labels, which have no classifiers.
void MemoryTree::learn_classifiers(NodeId leaf, const Features& x, std::span<const LabelId> labels, float weight) {
  candidates_.clear();
  const auto add = [this](std::span<const LabelId> some) {
    std::ranges::copy_if(some, std::back_inserter(candidates_), [this](LabelId label) { return known_.has(label); });
  };
  add(labels);
  for (const std::uint32_t entry : looked_at(leaf)) add(this->labels(entry));
  std::ranges::sort(candidates_);
  candidates_.erase(std::unique(candidates_.begin(), candidates_.end()), candidates_.end());
  for (const LabelId label : candidates_) {
    const bool has = std::ranges::find(labels, label) != labels.end();
    teach(classifiers_[label], x, has ? 1.0F : -1.0F, weight, kUnlikely);
  }
}

void MemoryTree::remove_labels(std::span<const LabelId> labels) {
  known_.remove(labels);
  for (const LabelId label : labels) {
    by_frequency_.erase({-seen_[label], label});
    if (!options_.classifiers) continue;
    if (can_learn_) budget_.gives_back(classifiers_[label].most_bytes());
    classifiers_[label].start(options_.learner);
  }
}

// Insert. If routers cannot separate a leaf's examples, splitting is tried again when there are twice as many.
void MemoryTree::insert(std::uint32_t entry) {
  const NodeId leaf = go_down(entry, kRoot);
  const std::size_t more = nodes_[leaf].entries.size() - 1;
  if (more % capacity() == 0 && std::has_single_bit(more / capacity())) split(leaf);
}

// Every router on the way learns the direction of the smaller side or of its own prediction, and is then followed.
NodeId MemoryTree::go_down(std::uint32_t entry, NodeId v) {
  const Features x = example(entry);
  const auto alpha = static_cast<double>(options_.alpha);
  for (;;) {
    Node& node = nodes_[v];
    ++node.remembered;
    if (node.is_leaf()) break;
    const float before = node.regressor.margin(x, work_);
    const double prediction = std::isnan(before) ? 0.0 : static_cast<double>(before);
    const float target = (1.0 - alpha) * balance(node) + alpha * prediction < 0.0 ? -1.0F : 1.0F;
    const float after = teach(node.regressor, x, target, weight(entry)).after;
    v = after > 0.0F ? node.right : node.left;
  }
  put(entry, v);
  return v;
}

void MemoryTree::put(std::uint32_t entry, NodeId leaf) {
  places_[entry] = {leaf, static_cast<std::uint32_t>(nodes_[leaf].entries.size())};
  nodes_[leaf].entries.push_back(entry);
}

// Turns a leaf into an inner node and routes its examples, unless all would go to one side.
void MemoryTree::split(NodeId v) {
  if (!budget_.take(2 * kBytesOfNode, regressors())) return;
  const auto left = static_cast<NodeId>(nodes_.size());
  nodes_.resize(nodes_.size() + 2);
  nodes_[left].parent = nodes_[left + 1].parent = v;
  Node& node = nodes_[v];
  const std::vector<std::uint32_t> entries = std::exchange(node.entries, {});
  node.left = left;
  node.right = left + 1;
  node.remembered = 0;
  node.regressor.start(options_.learner);
  for (const std::uint32_t entry : entries) go_down(entry, v);
  if (nodes_[left].remembered > 0 && nodes_[left + 1].remembered > 0) return;
  nodes_.resize(left);
  budget_.gives_back(2 * kBytesOfNode + nodes_[v].regressor.most_bytes());
  const NodeId parent = nodes_[v].parent;
  nodes_[v] = Node();
  nodes_[v].parent = parent;
  nodes_[v].remembered = static_cast<std::uint32_t>(entries.size());
  for (const std::uint32_t entry : entries) put(entry, v);
}

// The last entry of the leaf takes its place.
void MemoryTree::take_out(std::uint32_t entry) {
  const Place place = places_[entry];
  auto& entries = nodes_[place.leaf].entries;
  entries[place.at] = entries.back();
  places_[entries.back()].at = place.at;
  entries.pop_back();
  if (budget_.bounded() && entries.capacity() > 2 * entries.size() + kSpareEntries) entries.shrink_to_fit();
  for (NodeId v = place.leaf; v != kNone; v = nodes_[v].parent) --nodes_[v].remembered;
}

// --- the budget -----------------------------------------------------------------------------------------------------

std::uint64_t MemoryTree::count_memory() const {
  return examples_.most_bytes() + remembered_.most_bytes() + remembered_.size() * kBytesOfEntry;
}

std::uint64_t MemoryTree::count() const {
  std::uint64_t bytes = count_memory() + nodes_.size() * kBytesOfNode + known_.count() * kBytesOfLabel;
  for_each_regressor(*this, [&](const Regressor& regressor, const auto&) { bytes += regressor.most_bytes(); });
  return bytes;
}

std::uint64_t MemoryTree::make_room_for(const Features& x, std::span<const LabelId> labels) {
  const std::uint64_t most = options_.max_bytes;
  const std::uint64_t example =
      ExampleStore::most_bytes(x.size) + ReplayMemory::growth(1, labels.size()) + kBytesOfEntry;
  std::uint64_t known = known_.count();
  for (const LabelId label : labels) known = std::max<std::uint64_t>(known, label + std::uint64_t{1});
  const std::uint64_t names = (known - known_.count()) * kBytesOfLabel;
  try {
    const std::uint64_t lasting = nodes_.size() * kBytesOfNode + known * kBytesOfLabel + example;
    if (lasting > most) throw BudgetExceeded(most, lasting);
    if (budget_.held() + example + names > full(most)) forget_examples(for_examples(most, lasting));
    budget_.take_or_throw(example + names, regressors());
  } catch (const BudgetExceeded&) {
    usable_ = true;
    throw;
  }
  return example;
}

// Keeps a random sample of the remembered examples, each at its leaf.
void MemoryTree::forget_examples(std::uint64_t most) {
  while (count_memory() > most && remembered_.size() > 1) {
    budget_.gives_back(count_memory());
    const std::size_t n = remembered_.size();
    std::vector<ExampleId> examples;
    for (std::size_t entry = 0; entry < n; ++entry) examples.push_back(remembered_.example(entry));
    max_examples_ = n - n / 4 - (n < 4 ? 1 : 0);
    for (const ExampleId example : remembered_.shrink(options_.seed, max_examples_)) examples_.release(example);
    std::unordered_map<ExampleId, std::uint32_t> kept;
    for (std::uint32_t entry = 0; entry < remembered_.size(); ++entry) kept.emplace(remembered_.example(entry), entry);
    places_ = std::vector<Place>(remembered_.size());
    for (NodeId v = 0; v < nodes_.size(); ++v) {
      const std::vector<std::uint32_t> before = std::exchange(nodes_[v].entries, {});
      for (const std::uint32_t entry : before) {
        const auto now = kept.find(examples[entry]);
        if (now != kept.end()) put(now->second, v);
      }
      const auto gone = static_cast<std::uint32_t>(before.size() - nodes_[v].entries.size());
      for (NodeId above = v; gone > 0 && above != kNone; above = nodes_[above].parent) nodes_[above].remembered -= gone;
    }
    budget_.takes(count_memory());
  }
}

Regressor::Margins MemoryTree::teach(Regressor& regressor, const Features& x, float target, float weight,
                                     float offset) {
  return budget_.teach(regressor, options_.learner, x, target, weight, offset, work_, regressors());
}

// --- the learnt model ------------------------------------------------------------------------------------------------

ModelSize MemoryTree::size() const {
  ModelSize size;
  for (const Node& node : nodes_) size.model_bytes += sizeof(Node) + node.entries.capacity() * sizeof(std::uint32_t);
  for_each_regressor(*this, [&](const Regressor& regressor, const auto&) {
    size.model_bytes += sizeof(Regressor) + regressor.bytes();
    size.weights += regressor.size() + 1;
  });
  constexpr std::size_t kBytesByLabel = 72;  // by_frequency_'s node and other data by label
  size.model_bytes += kBytesByLabel * known_.count();
  size.memory_bytes = examples_.bytes() + remembered_.bytes() + places_.capacity() * sizeof(Place);
  return size;
}

}  // namespace labelgrove
