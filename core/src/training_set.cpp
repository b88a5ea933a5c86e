#include "labelgrove/training_set.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace labelgrove {
namespace {

// A positive child of a positive node, and what it costs to miss it.
struct Reached {
  NodeId parent;
  std::uint32_t slot;
  float cost;

  bool operator<(const Reached& other) const {
    return std::tie(parent, slot, cost) < std::tie(other.parent, other.slot, other.cost);
  }
};

// All positive children of an example, by parent; a child with several labels below counts once, with the highest cost.
void reach(const LabelTree& tree, std::span<const LabelId> labels, std::span<const float> label_costs,
           std::vector<Reached>& reached) {
  reached.clear();
  for (const LabelId label : labels) {
    const float cost = label_costs.empty() ? 1.0F : label_costs[label];
    for (NodeId v = tree.leaf_of(label); v != kAboveRoot; v = tree[v].parent) {
      reached.push_back({tree[v].parent, tree[v].slot, cost});
    }
  }
  std::sort(reached.begin(), reached.end());
  std::size_t kept = 0;
  for (const Reached& next : reached) {
    const bool again = kept > 0 && reached[kept - 1].parent == next.parent && reached[kept - 1].slot == next.slot;
    reached[again ? kept - 1 : kept++] = next;
  }
  reached.resize(kept);
}

// Calls take(node, its reached children) for every node that learns from the example, node 0 first.
template <typename Take>
void for_each_node(std::span<const Reached> reached, Take&& take) {
  if (reached.empty()) take(kAboveRoot, reached);
  for (std::size_t begin = 0; begin < reached.size();) {
    std::size_t end = begin + 1;
    while (end < reached.size() && reached[end].parent == reached[begin].parent) ++end;
    take(reached[begin].parent, reached.subspan(begin, end - begin));
    begin = end;
  }
}

}  // namespace

Assignment::Assignment(const LabelTree& tree, std::span<const NodeId> nodes, const TrainingSet& data)
    : begin_(tree.size() + std::size_t{1}) {
  std::vector<bool> learns(tree.size());
  for (const NodeId v : nodes) learns[v] = true;
  std::vector<Reached> reached;
  std::vector<std::uint64_t> positives(tree.size());
  for (std::size_t i = 0; i < data.size; ++i) {
    reach(tree, data.example(i).labels, data.label_costs, reached);
    for_each_node(std::span<const Reached>(reached), [&](NodeId v, std::span<const Reached> children) {
      if (!learns[v]) return;
      ++begin_[v + std::size_t{1}];
      positives[v] += children.size();
    });
  }
  std::uint64_t positives_before = 0;
  for (NodeId v = 0; v < tree.size(); ++v) {
    begin_[v + std::size_t{1}] += begin_[v];
    positives_before += std::exchange(positives[v], positives_before);
  }
  examples_.resize(begin_.back());
  ends_.resize(begin_.back() + 1);
  positives_.resize(positives_before);
  if (!data.label_costs.empty()) costs_.resize(positives_before);
  ends_.back() = positives_before;

  std::vector<std::uint64_t> next(begin_.begin(), begin_.end() - 1);
  for (std::size_t i = 0; i < data.size; ++i) {
    reach(tree, data.example(i).labels, data.label_costs, reached);
    for_each_node(std::span<const Reached>(reached), [&](NodeId v, std::span<const Reached> children) {
      if (!learns[v]) return;
      const std::uint64_t entry = next[v]++;
      examples_[entry] = static_cast<std::uint32_t>(i);
      ends_[entry] = positives[v];
      for (const Reached& child : children) {
        if (!costs_.empty()) costs_[positives[v]] = child.cost;
        positives_[positives[v]++] = child.slot;
      }
    });
  }
}

NodeExamples Assignment::operator[](NodeId v) const {
  const std::uint64_t begin = begin_[v];
  const std::uint64_t n = begin_[v + std::size_t{1}] - begin;
  return {std::span(examples_).subspan(begin, n), std::span(ends_).subspan(begin, n + 1), positives_.data(),
          costs_.empty() ? nullptr : costs_.data()};
}

}  // namespace labelgrove
