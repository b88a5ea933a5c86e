#include "labelgrove/lom_search.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace labelgrove {
namespace {

constexpr double kMore = 0.5;  // pseudo-examples that smoothing adds to a node

double total_at(const LomTree::Node& node) { return node.weight() + (node.parent != kNone ? kMore : 0.0); }

// Terms smaller than this share of a probability are lost in a float's rounding.
constexpr double kNothing = 1e-9;

// Whether a probability of at most `most` may be no less than `bound` as a float: sums are rounded in different orders,
// and very small ones underflow.
bool may_reach(double most, double bound) {
  constexpr double kNearly = 1.0 - 1e-6;
  return most + static_cast<double>(std::numeric_limits<float>::denorm_min()) >= bound * kNearly;
}

}  // namespace

void LomSearcher::find_leaves(const Features& x) {
  reached_.clear();
  for (const auto& [leaf, weight] : search_.find(x, work_)) reached_.push_back({leaf, weight, leaf, 1.0});
}

// --- classes --------------------------------------------------------------------------------------------------------

// Adds the next node up from every leaf to parts_. Returns the most that nodes further up can add to any class.
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
  add_up(parts_);
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
  while (rest > 0.0 && (parts_.size() < k || may_reach(rest, worst))) {
    rest = climb();
    if (parts_.size() < k) continue;
    scores_.clear();
    for (const Share& part : parts_) scores_.push_back(part.share);
    std::ranges::nth_element(scores_, scores_.begin() + static_cast<std::ptrdiff_t>(k - 1), std::greater<>());
    worst = scores_[k - 1];
  }
  for (const Share& part : parts_) {
    if (may_reach(part.share + rest, worst)) found.push_back({part.label, static_cast<float>(probability(part.label))});
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
  while (rest > 0.0 && may_reach(rest, lowest)) rest = climb();
  for (const Share& part : parts_) {
    const float threshold = scope_.threshold(part.label);
    if (!may_reach(part.share + rest, static_cast<double>(threshold))) continue;
    const auto exact = static_cast<float>(probability(part.label));
    if (exact >= threshold) found.push_back({part.label, exact});
  }
  std::ranges::sort(found, better);
}

}  // namespace labelgrove
