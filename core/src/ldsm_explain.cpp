#include "labelgrove/ldsm_explain.hpp"

#include <ranges>

namespace labelgrove {
namespace {

// The steps through one tree.
class Climber {
 public:
  Climber(LdsmRoutes& routes, const LdsmTree& tree, std::uint32_t number, std::uint32_t arity)
      : routes_(routes), ways_in_(tree.nodes.size()), step_(tree.nodes.size(), kNone) {
    for (NodeId v = 0; v < tree.nodes.size(); ++v) {
      for (std::uint32_t m = 0; m < arity && !tree.nodes[v].is_leaf(); ++m)
        ways_in_[tree.nodes[v].first_child + m] = {number, v, m, kNone};
    }
  }

  // The step that leads to this node; new are those of its way that no other has gone.
  std::uint32_t to(NodeId node) {
    std::vector<NodeId> up;
    for (; node != 0 && step_[node] == kNone; node = ways_in_[node].node) up.push_back(node);
    std::uint32_t last = step_[node];
    for (const NodeId next : std::views::reverse(up)) {
      ways_in_[next].before = last;
      step_[next] = last = static_cast<std::uint32_t>(routes_.steps.size());
      routes_.steps.push_back(ways_in_[next]);
    }
    return last;
  }

 private:
  LdsmRoutes& routes_;
  std::vector<LdsmRoutes::Step> ways_in_;  // by node: the step to it
  std::vector<std::uint32_t> step_;        // by node: its number, or kNone
};

}  // namespace

LdsmRoutes explain_ldsm(const Ldsm& forest, const Features& x) {
  LdsmRoutes routes;
  LdsmRouter router(forest.options().arity);
  for (std::uint32_t number = 0; number < forest.trees().size(); ++number) {
    const LdsmTree& tree = forest.trees()[number];
    router.start({&x, 1});
    router.route(tree);
    Climber climber(routes, tree, number, forest.options().arity);
    for (const LdsmRouter::Leaf& leaf : router.ways(0).leaves)
      routes.leaves.push_back({number, leaf.node, climber.to(leaf.node)});
  }
  routes.contributions.resize(routes.steps.size() * x.size);
  float* added = routes.contributions.data();
  for (const LdsmRoutes::Step& step : routes.steps) {
    const LdsmRegressors& node = *forest.trees()[step.tree].nodes[step.node].regressors;
    routes.bias.push_back(node.bias()[step.child]);
    node.for_each_row(x, [&](std::uint32_t j, const float* row) {
      added[j] = row != nullptr ? row[step.child] * x.values[j] : 0.0F;
    });
    added += x.size;
  }
  return routes;
}

}  // namespace labelgrove
