#include "labelgrove/online_thresholds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace labelgrove {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kUpper = 0.5;

}  // namespace

OnlineThresholds::OnlineThresholds(OfoOptions options, const LabelTree& tree, std::vector<Counts> counts,
                                   std::uint64_t examples)
    : options_(options), counts_(std::move(counts)), examples_(examples), least_(tree.size(), kInfinity) {
  for (LabelId label = 0; label < tree.label_count(); ++label) {
    const double least = tau(of(label));
    for (NodeId v = tree.leaf_of(label); v != kNone && least_[v] > least; v = tree[v].parent) least_[v] = least;
  }
}

// Equation 8. The minimum only matters if it starts above 1/2.
double OnlineThresholds::tau(const Counts& counts) const {
  return std::min((options_.a + static_cast<double>(counts.hits)) /
                      (options_.b + static_cast<double>(counts.positives + counts.predicted)),
                  kUpper);
}

double OnlineThresholds::threshold(LabelId label) const {
  const Counts counts = of(label);
  // nu = pi / (pi + 1) with pi = positives / examples.
  const double nu = static_cast<double>(counts.positives) /
                    static_cast<double>(std::max<std::uint64_t>(counts.positives + examples_, 1));
  return std::min(std::max(tau(counts), std::nextafter(nu, kInfinity)), kUpper);
}

void OnlineThresholds::count(const LabelTree& tree, std::span<const LabelId> truth,
                             std::span<const LabelId> predicted) {
  sorted_.assign(truth.begin(), truth.end());
  std::ranges::sort(sorted_);
  const auto counts_of = [this](LabelId label) -> Counts& {
    if (label >= counts_.size()) counts_.resize(label + std::size_t{1});
    return counts_[label];
  };
  for (const LabelId label : truth) ++counts_of(label).positives;
  for (const LabelId label : predicted) {
    Counts& counts = counts_of(label);
    ++counts.predicted;
    if (std::ranges::binary_search(sorted_, label)) ++counts.hits;
  }
  ++examples_;
  for (const auto& changed : {truth, predicted}) {
    for (const LabelId label : changed) {
      if (tree.leaf_of(label) != kNone) renew(tree, tree.leaf_of(label));
    }
  }
}

void OnlineThresholds::inserted(NodeId v, NodeId below) {
  if (below >= least_.size()) least_.resize(below + std::size_t{1}, kInfinity);
  least_[below] = least_[v];
}

void OnlineThresholds::renew(const LabelTree& tree, NodeId leaf) {
  if (leaf >= least_.size()) least_.resize(leaf + std::size_t{1}, kInfinity);
  const TreeNode& node = tree[leaf];
  least_[leaf] = node.silent || node.label == kNone ? kInfinity : tau(of(node.label));
  for (NodeId v = node.parent; v != kNone; v = tree[v].parent) {
    double least = kInfinity;
    for (const NodeId child : tree[v].children) least = std::min(least, least_[child]);
    if (std::exchange(least_[v], least) == least) break;
  }
}

}  // namespace labelgrove
