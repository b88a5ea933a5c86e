#include "labelgrove/lom_search.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <utility>

namespace labelgrove {
namespace {

// Where neither side is much more probable than the other, finding the most probable leaves for certain would mean
// asking nearly all nodes. So the search stops after this many times (leaves wanted) x (depth of a balanced tree)
// nodes.
constexpr std::size_t kBreadth = 2;

constexpr double kMore = 0.5;  // pseudo-examples that smoothing adds to a node

double total_at(const LomTree::Node& node) { return node.weight() + (node.parent != kNone ? kMore : 0.0); }

// Terms smaller than this share of a probability are lost in a float's rounding.
constexpr double kNothing = 1e-9;

// Slack for comparing sums that were rounded in different orders.
constexpr double kNearly = 1.0 - 1e-6;

bool less_probable(const auto& a, const auto& b) {
  return a.probability != b.probability ? a.probability < b.probability : a.node > b.node;
}

bool better(const Scored& a, const Scored& b) {
  return a.probability != b.probability ? a.probability > b.probability : a.label < b.label;
}

}  // namespace

LomScope::LomScope(const LomTree& tree, std::span<const LabelId> allowed)
    : tree_(tree), restricted_(true), allowed_(tree.label_count()) {
  for (const LabelId label : allowed) {
    if (label < allowed_.size()) allowed_[label] = 1;
  }
}

void LomScope::set_thresholds(std::span<const float> thresholds) {
  thresholds_.assign(thresholds.begin(), thresholds.end());
  lowest_ = thresholds.empty() ? std::numeric_limits<float>::infinity() : std::ranges::min(thresholds);
}

float LomScope::threshold(LabelId label) const {
  if (thresholds_.size() == 1) return thresholds_[0];
  return label < thresholds_.size() ? thresholds_[label] : std::numeric_limits<float>::infinity();
}

// --- leaves ---------------------------------------------------------------------------------------------------------

void LomSearcher::find_leaves(const Features& x) {
  stats_ = SearchStats();
  reached_.clear();
  const std::size_t most = leaves_ > 1 ? leaves_ * kBreadth * std::bit_width(tree_.nodes().size()) : 1;
  queue_.assign(1, {1.0, LomTree::kRoot, 0});
  while (!queue_.empty() && !hopeless(queue_.front()) && (reached_.empty() || stats_.classifiers < most)) {
    std::ranges::pop_heap(queue_, less_probable<Item, Item>);
    const Item item = queue_.back();
    queue_.pop_back();
    follow(item, x);
  }
  double sum = 0.0;
  for (const Reached& reached : reached_) sum += reached.weight;
  // Along a path of thousands of nodes the product underflows to 0.
  const double even = 1.0 / static_cast<double>(reached_.size());
  for (Reached& reached : reached_) reached.weight = sum > 0.0 ? reached.weight / sum : even;
}

// Whether no leaf below can be among the most probable.
bool LomSearcher::hopeless(const Item& item) const {
  return reached_.size() == leaves_ && item.probability <= reached_.back().weight;
}

// Descends to a leaf by the more probable side, queueing the other sides; stops early once no leaf below can count.
void LomSearcher::follow(Item item, const Features& x) {
  for (;;) {
    const LomTree::Node& node = tree_.nodes()[item.node];
    if (node.is_leaf()) break;
    const double right = node.side.probability(tree_.margin(item.node, x, work_));
    ++stats_.classifiers;
    stats_.depth = std::max(stats_.depth, ++item.depth);
    const bool goes_right = right > 0.5;
    Item other = item;
    other.node = goes_right ? node.left : node.right;
    other.probability *= goes_right ? 1.0 - right : right;
    if (leaves_ > 1) {
      queue_.push_back(other);
      std::ranges::push_heap(queue_, less_probable<Item, Item>);
    }
    item.node = goes_right ? node.right : node.left;
    item.probability *= goes_right ? right : 1.0 - right;
    if (hopeless(item)) return;
  }
  if (reached_.size() == leaves_) reached_.pop_back();
  const auto worse = std::ranges::find_if(reached_, [&](const Reached& one) { return one.weight < item.probability; });
  reached_.insert(worse, {item.node, item.probability, item.node, 1.0});
}

// --- classes --------------------------------------------------------------------------------------------------------

// Adds the next node up from every leaf to parts_. Returns the most that the nodes further up can add to any class.
double LomSearcher::climb() {
  const auto nodes = tree_.nodes();
  double rest = 0.0;
  for (Reached& reached : reached_) {
    if (reached.next == kNone) continue;
    const LomTree::Node& node = nodes[reached.next];
    const double total = total_at(node);
    for (const ClassCount& count : node.classes.all()) {
      if (!scope_.open(count.label)) continue;
      parts_.push_back({count.label, reached.weight * reached.mass * node.classes.weight(count) / total});
    }
    reached.mass *= node.parent != kNone ? kMore / total : 0.0;
    reached.next = node.parent;
    rest += reached.weight * reached.mass;
  }
  std::ranges::sort(parts_, {}, &Part::label);
  std::size_t kept = 0;
  for (const Part& part : parts_) {
    if (kept > 0 && parts_[kept - 1].label == part.label) parts_[kept - 1].score += part.score;
    else parts_[kept++] = part;
  }
  parts_.resize(kept);
  return rest;
}

double LomSearcher::probability(LabelId label) const {
  const auto nodes = tree_.nodes();
  double sum = 0.0;
  for (const Reached& reached : reached_) {
    double mass = reached.weight;
    for (NodeId v = reached.leaf; v != kNone && mass > sum * kNothing; v = nodes[v].parent) {
      const double total = total_at(nodes[v]);
      const ClassCount* count = nodes[v].classes.find(label);
      if (count != nullptr) sum += mass * nodes[v].classes.weight(*count) / total;
      mass *= kMore / total;
    }
  }
  return std::min(sum, 1.0);  // rounding may exceed it
}

void LomSearcher::top_k(const Features& x, std::size_t k, std::vector<Scored>& found) {
  found.clear();
  if (k == 0 || tree_.nodes()[LomTree::kRoot].reached == 0) return;
  find_leaves(x);
  parts_.clear();
  double worst = 0.0;  // of the best k so far
  double rest = 1.0;   // the most that any class, seen or unseen, can still gain
  while (rest > 0.0 && (parts_.size() < k || rest >= worst * kNearly)) {
    rest = climb();
    if (parts_.size() < k) continue;
    scores_.clear();
    for (const Part& part : parts_) scores_.push_back(part.score);
    std::ranges::nth_element(scores_, scores_.begin() + static_cast<std::ptrdiff_t>(k - 1), std::greater<>());
    worst = scores_[k - 1];
  }
  for (const Part& part : parts_) {
    if (part.score + rest >= worst * kNearly)
      found.push_back({part.label, static_cast<float>(probability(part.label))});
  }
  const std::size_t kept = std::min(k, found.size());
  std::ranges::partial_sort(found, found.begin() + static_cast<std::ptrdiff_t>(kept), better);
  found.resize(kept);
}

void LomSearcher::above_threshold(const Features& x, std::vector<Scored>& found) {
  found.clear();
  if (tree_.nodes()[LomTree::kRoot].reached == 0) return;
  find_leaves(x);
  parts_.clear();
  double rest = 1.0;
  const auto lowest = static_cast<double>(scope_.lowest_threshold());
  while (rest > 0.0 && rest >= lowest * kNearly) rest = climb();
  for (const Part& part : parts_) {
    const float threshold = scope_.threshold(part.label);
    if (part.score + rest < static_cast<double>(threshold) * kNearly) continue;
    const auto exact = static_cast<float>(probability(part.label));
    if (exact >= threshold) found.push_back({part.label, exact});
  }
  std::ranges::sort(found, better);
}

LomRoute explain_route(const LomTree& tree, const Features& x) {
  LomRoute route;
  Workspace work;
  NodeId v = LomTree::kRoot;
  while (!tree.nodes()[v].is_leaf()) {
    const LomTree::Node& node = tree.nodes()[v];
    route.nodes.push_back(v);
    route.contributions.resize(route.nodes.size() * x.size);
    route.bias.push_back(
        node.regressor.margin_parts(x, route.contributions.data() + (route.nodes.size() - 1) * x.size));
    v = tree.margin(v, x, work) > 0.0F ? node.right : node.left;
  }
  route.nodes.push_back(v);
  return route;
}

}  // namespace labelgrove
