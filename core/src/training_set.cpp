#include "labelgrove/training_set.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "labelgrove/parallel.hpp"

namespace labelgrove {
namespace {

constexpr std::size_t kRowsInPart = 1024;  // minimum per part, if threads share the rows

// A positive child of a positive node, and the cost of missing it.
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

// Calls take(node, its reached children) for every node that learns from the example, node 0 first. Examples without
// labels reach the root, too, and none of its children.
template <typename Take>
void for_each_node(const LabelTree& tree, std::span<const Reached> reached, Take&& take) {
  static constexpr Reached kReachedRoot{kAboveRoot, 0, 1.0F};
  if (reached.empty()) {
    take(kAboveRoot, std::span(&kReachedRoot, tree[kRoot].is_leaf() ? 0 : 1));
    take(kRoot, reached);
  }
  for (std::size_t begin = 0; begin < reached.size();) {
    std::size_t end = begin + 1;
    while (end < reached.size() && reached[end].parent == reached[begin].parent) ++end;
    take(reached[begin].parent, reached.subspan(begin, end - begin));
    begin = end;
  }
}

}  // namespace

Assignment::Assignment(const LabelTree& tree, std::span<const NodeId> nodes, const TrainingSet& data, unsigned threads)
    : begin_(tree.size() + std::size_t{1}) {
  std::vector<std::uint32_t> place(tree.size(), kNone);  // by node: index among the given nodes
  for (std::uint32_t i = 0; i < nodes.size(); ++i) place[nodes[i]] = i;

  // Every part of the rows first counts its entries for each node, and then learns where they belong.
  struct Counts {
    std::vector<std::uint64_t> entries;
    std::vector<std::uint64_t> positives;
  };
  // So that counts take no more memory than rows.
  const auto least = std::max<std::size_t>(nodes.size(), kRowsInPart);
  const auto parts = std::clamp<std::size_t>(data.size / least, 1, std::max(threads, 1U));
  std::vector<Counts> counts(parts,
                             {std::vector<std::uint64_t>(nodes.size()), std::vector<std::uint64_t>(nodes.size())});
  const auto for_each_entry = [&](auto&& take) {
    parallel_for(parts, threads, [&](std::size_t part) {
      std::vector<Reached> reached;
      for (std::size_t i = data.size * part / parts; i < data.size * (part + 1) / parts; ++i) {
        reach(tree, data.example(i).labels, data.label_costs, reached);
        for_each_node(tree, reached, [&](NodeId v, std::span<const Reached> children) {
          if (place[v] == kNone) return;
          take(i, counts[part].entries[place[v]], counts[part].positives[place[v]], children);
        });
      }
    });
  };
  for_each_entry([](std::size_t, std::uint64_t& entries, std::uint64_t& positives, std::span<const Reached> children) {
    ++entries;
    positives += children.size();
  });
  std::uint64_t entries_before = 0;
  std::uint64_t positives_before = 0;
  for (NodeId v = 0; v < tree.size(); ++v) {
    begin_[v] = entries_before;
    if (place[v] == kNone) continue;
    for (Counts& part : counts) {
      entries_before += std::exchange(part.entries[place[v]], entries_before);
      positives_before += std::exchange(part.positives[place[v]], positives_before);
    }
  }
  begin_.back() = entries_before;
  examples_.resize(entries_before);
  ends_.resize(entries_before + 1);
  positives_.resize(positives_before);
  if (!data.label_costs.empty()) costs_.resize(positives_before);
  ends_.back() = positives_before;

  for_each_entry([&](std::size_t i, std::uint64_t& entry, std::uint64_t& at, std::span<const Reached> children) {
    examples_[entry] = static_cast<std::uint32_t>(i);
    ends_[entry++] = at;
    for (const Reached& child : children) {
      if (!costs_.empty()) costs_[at] = child.cost;
      positives_[at++] = child.slot;
    }
  });
}

NodeExamples Assignment::operator[](NodeId v) const {
  const std::uint64_t begin = begin_[v];
  const std::uint64_t n = begin_[v + std::size_t{1}] - begin;
  return {std::span(examples_).subspan(begin, n), std::span(ends_).subspan(begin, n + 1), positives_.data(),
          costs_.empty() ? nullptr : costs_.data()};
}

}  // namespace labelgrove
