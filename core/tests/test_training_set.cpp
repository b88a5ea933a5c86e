#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "harness.hpp"
#include "labelgrove/training_set.hpp"
#include "random_trees.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

// By slot of a positive child of v: the highest cost of a label below it.
std::map<std::uint32_t, float> positives_of(const LabelTree& tree, NodeId v, const std::vector<LabelId>& labels,
                                            const std::vector<float>& costs) {
  std::map<std::uint32_t, float> positives;
  for (const LabelId label : labels) {
    NodeId u = tree.leaf_of(label);
    while (u != kAboveRoot && tree[u].parent != v) u = tree[u].parent;
    if (u == kAboveRoot) continue;
    float& cost = positives[tree[u].slot];
    cost = std::max(cost, costs.empty() ? 1.0F : costs[label]);
  }
  if (v == kAboveRoot && labels.empty()) positives[0] = 1.0F;
  return positives;
}

TEST("training set: a node learns from the examples with a label below it, the root from all, with any threads") {
  Random random(3);
  const Forest forest(random, 30, 0.0F, {});
  const LabelTree& tree = forest.tree;
  std::vector<NodeId> nodes;
  for (NodeId v = 0; v < tree.size(); ++v) {
    if (!tree[v].is_leaf() && (v <= kRoot || random.chance(0.6))) nodes.push_back(v);
  }
  std::vector<std::vector<LabelId>> labels(5000);
  for (auto& own : labels) random.shuffle(own = random_subset(random, 30, 0.05));
  std::vector<float> random_costs(30);
  for (float& cost : random_costs) cost = random.between(0.1F, 9.0F);
  TrainingSet data;
  data.size = labels.size();
  data.example = [&](std::size_t i) { return LabelledExample{{}, labels[i]}; };
  for (const std::vector<float>& costs : {std::vector<float>(), random_costs}) {
    data.label_costs = costs;
    for (const unsigned threads : {0U, 1U, 3U, 9U}) {
      const Assignment assignment(tree, nodes, data, threads);
      for (const NodeId v : nodes) {
        const NodeExamples own = assignment[v];
        CHECK_EQ(own.costs == nullptr, costs.empty());
        std::size_t n = 0;
        for (std::uint32_t i = 0; i < labels.size(); ++i) {
          const auto positives = positives_of(tree, v, labels[i], costs);
          if (positives.empty() && v != kRoot) continue;
          REQUIRE(n < own.size() && own.examples[n] == i);
          std::uint64_t at = own.ends[n++];
          REQUIRE(own.ends[n] - at == positives.size());
          for (const auto& [slot, cost] : positives) {
            CHECK_EQ(own.positives[at], slot);
            if (!costs.empty()) CHECK_EQ(own.costs[at], cost);
            ++at;
          }
        }
        CHECK_EQ(n, own.size());
      }
    }
  }
}

}  // namespace
}  // namespace labelgrove::testing
