#include "labelgrove/lom_search.hpp"

#include <algorithm>
#include <limits>

namespace labelgrove {
namespace {

constexpr double kUnseen = 0.5;  // examples of classes not seen

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

NodeId LomSearcher::descend(const Features& x) {
  stats_ = SearchStats();
  const auto nodes = tree_.nodes();
  NodeId v = LomTree::kRoot;
  while (!nodes[v].is_leaf()) {
    v = tree_.margin(v, x, work_) > 0.0F ? nodes[v].right : nodes[v].left;
    ++stats_.depth;
  }
  stats_.classifiers = stats_.depth;
  return v;
}

// Calls take(label, probability) for the classes of the leaf, then for those of its parent that the leaf has not seen,
// and so on upwards, until enough(mass) says that none is needed of those that share the mass that is left.
template <typename Enough, typename Take>
void LomSearcher::climb(NodeId leaf, Enough&& enough, Take&& take) const {
  const auto nodes = tree_.nodes();
  const ClassHistogram none;
  const ClassHistogram* below = &none;
  double mass = 1.0;
  for (NodeId v = leaf; v != kNone && !enough(mass); v = nodes[v].parent) {
    const ClassHistogram& classes = nodes[v].classes;
    double total = static_cast<double>(nodes[v].reached) + kUnseen;
    for (const ClassCount& known : below->all()) total -= static_cast<double>(classes.find(known.label)->reached);
    for (const ClassCount& count : classes.all()) {
      if (!scope_.open(count.label) || below->find(count.label) != nullptr) continue;
      take(count.label, static_cast<float>(mass * static_cast<double>(count.reached) / total));
    }
    mass *= kUnseen / total;
    below = &classes;
  }
}

void LomSearcher::top_k(const Features& x, std::size_t k, std::vector<Scored>& found) {
  found.clear();
  NodeId v = descend(x);
  const auto nodes = tree_.nodes();
  while (nodes[v].reached == 0 && v != LomTree::kRoot) v = nodes[v].parent;  // nobody was here: all mass goes up
  const LomTree::Node& node = nodes[v];
  if (k == 1 && scope_.open(node.frequent)) {  // no need to look through them all
    const double total = static_cast<double>(node.reached) + kUnseen;
    found.push_back({node.frequent, static_cast<float>(static_cast<double>(node.most) / total)});
    return;
  }
  climb(
      v, [&](double) { return found.size() >= k; },
      [&](LabelId label, float probability) { found.push_back({label, probability}); });
  const std::size_t kept = std::min(k, found.size());
  std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(kept), found.end(), better);
  found.resize(kept);
}

void LomSearcher::above_threshold(const Features& x, std::vector<Scored>& found) {
  found.clear();
  climb(
      descend(x), [&](double mass) { return static_cast<float>(mass) < scope_.lowest_threshold(); },
      [&](LabelId label, float probability) {
        if (probability >= scope_.threshold(label)) found.push_back({label, probability});
      });
  std::ranges::sort(found, better);
}

}  // namespace labelgrove
