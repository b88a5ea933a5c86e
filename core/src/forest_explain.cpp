#include "labelgrove/forest_explain.hpp"

namespace labelgrove {
namespace {

// The steps taken in one tree.
class Climber {
 public:
  Climber(ForestRoutes& routes, const ForestTree& tree, std::uint32_t number, std::uint32_t children)
      : routes_(routes), ways_in_(tree.nodes.size()), step_(tree.nodes.size(), kNone) {
    for (NodeId v = 0; v < tree.nodes.size(); ++v) {
      for (std::uint32_t m = 0; m < children && !tree.nodes[v].is_leaf(); ++m)
        ways_in_[tree.nodes[v].first_child + m] = {number, v, m, kNone};
    }
  }

  // Returns the step that leads to this node, after adding the steps on its path that are still missing.
  std::uint32_t to(NodeId node) {
    std::vector<NodeId> up;
    for (; node != 0 && step_[node] == kNone; node = ways_in_[node].node) up.push_back(node);
    std::uint32_t last = step_[node];
    for (auto next = up.rbegin(); next != up.rend(); ++next) {
      ways_in_[*next].before = last;
      step_[*next] = last = static_cast<std::uint32_t>(routes_.steps.size());
      routes_.steps.push_back(ways_in_[*next]);
    }
    return last;
  }

 private:
  ForestRoutes& routes_;
  std::vector<ForestRoutes::Step> ways_in_;  // by node: the step to it
  std::vector<std::uint32_t> step_;          // by node: the index of that step, or kNone
};

}  // namespace

ForestRoutes explain_forest(const Forest& forest, const Features& x) {
  ForestRoutes routes;
  ForestRouter router(forest.options());
  for (std::uint32_t number = 0; number < forest.trees().size(); ++number) {
    const ForestTree& tree = forest.trees()[number];
    router.start({&x, 1});
    router.route(tree);
    Climber climber(routes, tree, number, forest.options().children);
    for (const ForestRouter::Leaf& leaf : router.ways(0).leaves)
      routes.leaves.push_back({number, leaf.node, climber.to(leaf.node)});
  }
  routes.contributions.resize(routes.steps.size() * x.size);
  float* added = routes.contributions.data();
  for (const ForestRoutes::Step& step : routes.steps) {
    const Hyperplanes& node = *forest.trees()[step.tree].nodes[step.node].planes;
    // A single hyperplane scores the second child; the first has the opposite score.
    const std::uint32_t column = node.count() == 1 ? 0 : step.child;
    const float sign = node.count() == 1 && step.child == 0 ? -1.0F : 1.0F;
    routes.bias.push_back(sign * node.bias()[column]);
    node.for_each_row(x, [&](std::uint32_t j, const float* row) {
      added[j] = row != nullptr ? sign * row[column] * x.values[j] : 0.0F;
    });
    added += x.size;
  }
  return routes;
}

}  // namespace labelgrove
