#include "labelgrove/search_cost.hpp"

#include <queue>
#include <utility>

namespace labelgrove {
namespace {

// The tree in preorder: the nodes below v are v + 1, …, v + size[v] - 1.
struct Preorder {
  std::vector<std::uint32_t> parent;
  std::vector<std::uint32_t> size;
  std::vector<LabelId> label;  // kNone for inner nodes
  std::vector<double> visits;

  Preorder(const ClusterTree& tree, std::span<const double> visits_by_level)
      : parent(tree.parents.size(), 0),
        size(tree.parents.size()),
        label(tree.parents.size(), kNone),
        visits(tree.parents.size()) {
    const std::size_t n = tree.parents.size();
    const auto above = [&](std::size_t v) { return static_cast<std::size_t>(tree.parents[v]); };
    std::vector<std::uint32_t> count(n, 1);
    for (std::size_t v = n; v-- > 1;) count[above(v)] += count[v];
    std::vector<std::uint32_t> place(n, 0);
    std::vector<std::uint32_t> next(n, 1);  // by node: the place of its next child
    std::size_t leaves = 0;
    for (std::size_t v = 0; v < n; ++v) {
      if (v > 0) {
        place[v] = std::exchange(next[above(v)], next[above(v)] + count[v]);
        next[v] = place[v] + 1;
        parent[place[v]] = place[above(v)];
      }
      size[place[v]] = count[v];
      visits[place[v]] = visits_by_level[v];
      if (count[v] == 1 && leaves < tree.labels.size()) label[place[v]] = tree.labels[leaves++];
    }
  }
  bool is_leaf(std::uint32_t v) const { return size[v] == 1; }
};

class Reduction {
 public:
  Reduction(const Preorder& tree, double block_cost)
      : tree_(tree), cost_(tree.size.size(), 0.0), below_(tree.size.size(), 0.0), kept_(tree.size.size(), 0) {
    for (auto v = static_cast<std::uint32_t>(cost_.size()); v-- > 0;) {
      if (!tree.is_leaf(v)) cost_[v] = tree.visits[v] * block_cost + spread(v);
    }
  }

  // The children that a remaining node has in the cheapest tree.
  std::vector<std::uint32_t> children(std::uint32_t v) {
    spread(v);
    std::vector<std::uint32_t> found;
    for (std::uint32_t u = v + 1; u < v + tree_.size[v];) {
      const bool child = kept_[u] != 0;
      if (child) found.push_back(u);
      u += child ? tree_.size[u] : 1;
    }
    return found;
  }

 private:
  // The least cost of v's children: one classifier for every visit of v, plus everything below. A node u below v
  // becomes a child, or is replaced by its own children, whichever is cheaper.
  double spread(std::uint32_t v) {
    const double visits = tree_.visits[v];
    for (std::uint32_t u = v + tree_.size[v] - 1; u > v; --u) {
      const double as_child = visits + cost_[u];
      const double left_out = std::exchange(below_[u], 0.0);
      kept_[u] = tree_.is_leaf(u) || as_child < left_out ? 1 : 0;
      below_[tree_.parent[u]] += kept_[u] != 0 ? as_child : left_out;
    }
    return std::exchange(below_[v], 0.0);
  }

  const Preorder& tree_;
  std::vector<double> cost_;   // of all blocks at and below a node, if the node remains
  std::vector<double> below_;  // scratch space of spread()
  std::vector<std::uint8_t> kept_;
};

}  // namespace

std::vector<double> visits_of(const ClusterTree& tree, const LabelSets& sets) {
  const std::size_t n = tree.parents.size();
  std::vector<std::size_t> leaf_of(tree.labels.size());
  std::vector<std::uint8_t> inner(n, 0);
  for (std::size_t v = 1; v < n; ++v) inner[static_cast<std::size_t>(tree.parents[v])] = 1;
  for (std::size_t v = 0, leaf = 0; v < n; ++v) {
    if (inner[v] == 0 && leaf < leaf_of.size()) leaf_of[tree.labels[leaf++]] = v;
  }
  std::vector<double> visits(n, 0.0);
  std::vector<std::size_t> seen_in(n, sets.frequencies.size());
  for (std::size_t set = 0; set < sets.frequencies.size(); ++set) {
    const auto begin = static_cast<std::size_t>(sets.indptr[set]);
    for (std::size_t i = begin; i < static_cast<std::size_t>(sets.indptr[set + 1]); ++i) {
      for (std::size_t v = leaf_of[sets.labels[i]]; seen_in[v] != set; v = static_cast<std::size_t>(tree.parents[v])) {
        seen_in[v] = set;
        visits[v] += sets.frequencies[set];
        if (v == 0) break;
      }
    }
  }
  return visits;
}

ClusterTree cheapest_reduction(const ClusterTree& tree, std::span<const double> visits, double block_cost) {
  const Preorder preorder(tree, visits);
  Reduction reduction(preorder, block_cost);
  ClusterTree reduced{{-1}, {}};
  // Places in preorder, and numbers in the reduced tree.
  std::queue<std::pair<std::uint32_t, std::int64_t>> nodes;
  nodes.emplace(0U, 0);
  while (!nodes.empty()) {
    const auto [v, number] = nodes.front();
    nodes.pop();
    if (preorder.is_leaf(v)) {
      if (preorder.label[v] != kNone) reduced.labels.push_back(preorder.label[v]);
      continue;
    }
    for (const std::uint32_t child : reduction.children(v)) {
      nodes.emplace(child, static_cast<std::int64_t>(reduced.parents.size()));
      reduced.parents.push_back(number);
    }
  }
  return reduced;
}

}  // namespace labelgrove
