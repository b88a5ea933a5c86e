#include <algorithm>
#include <vector>

#include "harness.hpp"
#include "labelgrove/tree_policy.hpp"

namespace labelgrove::testing {
namespace {

// Node 1 is the root; 2 and 3 are its children, 2 with leaves 4, 5, 6 and 3 with leaves 7, 8.
LabelTree two_pre_leaves() {
  return {{{kNone, 0, 1, 1, 2, 2, 2, 3, 3}},
          {{kNone, kNone, kNone, kNone, 0, 1, 2, 3, 4}},
          std::vector<std::uint8_t>(9),
          5};
}

TreePolicy policy_of(Policy policy, double alpha = 0.5) {
  return {{.policy = policy, .alpha = alpha, .arity = 2, .max_leaves = 3}, 7};
}

std::span<const float> none(NodeId) { return {}; }

TEST("tree policy: complete descends to the fewest leaves") {
  const LabelTree tree = two_pre_leaves();
  TreePolicy policy = policy_of(Policy::complete);
  CHECK_EQ(policy.select(tree, kNone, none), 3U);
  CHECK(!policy.must_insert(tree, 3));
  CHECK(policy.must_insert(tree, 2));
  CHECK(policy.must_insert(tree, 4));
}

TEST("tree policy: best-greedy weighs fit against balance") {
  const LabelTree tree = two_pre_leaves();
  const std::vector<float> probabilities{0.9F, 0.1F};
  const auto give = [&](NodeId) { return std::span<const float>(probabilities); };
  TreePolicy fit = policy_of(Policy::best_greedy, 0.0);
  TreePolicy balance = policy_of(Policy::best_greedy, 1.0);
  CHECK_EQ(fit.select(tree, kNone, give), 2U);
  CHECK_EQ(balance.select(tree, kNone, give), 3U);
  CHECK_EQ(fit.past().draws + balance.past().draws, 0U);
  const std::vector<float> equal{0.5F, 0.5F};
  CHECK_EQ(fit.select(tree, kNone, [&](NodeId) { return std::span<const float>(equal); }), 2U);
}

TEST("tree policy: an example that is not learnt after all leaves no trace") {
  TreePolicy policy = policy_of(Policy::random);
  policy.observe(3);
  policy.observe(20);
  policy.take_back(20);
  CHECK_EQ(policy.past().examples, 1U);
  CHECK_EQ(policy.past().features, 3U);
}

TEST("tree policy: random choices are counted, and resume after loading") {
  const LabelTree tree = two_pre_leaves();
  TreePolicy one = policy_of(Policy::random);
  std::vector<NodeId> chosen;
  for (int i = 0; i < 40; ++i) chosen.push_back(one.select(tree, kNone, none));
  CHECK_EQ(one.past().draws, 40U);
  CHECK(std::ranges::count(chosen, 2U) > 5);
  CHECK(std::ranges::count(chosen, 3U) > 5);
  TreePolicy other = policy_of(Policy::random);
  other.restore({.draws = 20});
  for (std::size_t i = 20; i < 40; ++i) CHECK_EQ(other.select(tree, kNone, none), chosen[i]);
}

TEST("tree policy: the root is wide if examples have five or more features") {
  const LabelTree flat(std::vector<NodeId>{kNone, 0, 1, 1, 1}, std::vector<LabelId>{kNone, kNone, 0, 1, 2},
                       std::vector<std::uint8_t>(5), 3);
  TreePolicy policy({.arity = 2, .max_leaves = 3, .first_leaves = 4}, 0);
  policy.observe(5);
  CHECK(!policy.must_insert(flat, kRoot));
  policy.observe(4);
  CHECK(policy.must_insert(flat, kRoot));
  TreePolicy on = policy;
  on.restore({.examples = 1, .features = 5});
  CHECK(!on.must_insert(flat, kRoot));
  CHECK(on.must_insert(two_pre_leaves(), 2));
}

TEST("tree policy: keeps auxiliary classifiers of nodes that may still be selected") {
  const LabelTree tree = two_pre_leaves();
  const auto kept = [&](Policy policy) {
    std::vector<NodeId> nodes;
    for (NodeId v = 0; v < tree.size(); ++v) {
      if (policy_of(policy).needs_theta(tree, v)) nodes.push_back(v);
    }
    return nodes;
  };
  CHECK(kept(Policy::fixed).empty());
  CHECK(kept(Policy::complete) == std::vector<NodeId>({2, 3}));
  CHECK(kept(Policy::cpet) == std::vector<NodeId>({4, 5, 6, 7, 8}));
}

}  // namespace
}  // namespace labelgrove::testing
