#include <algorithm>
#include <set>
#include <stdexcept>

#include "harness.hpp"
#include "labelgrove/label_tree.hpp"
#include "support.hpp"

namespace labelgrove::testing {
namespace {

// A tree as three arrays, the way it is stored.
struct Arrays {
  std::vector<NodeId> parents;
  std::vector<LabelId> labels;
  std::vector<std::uint8_t> silent;
  LabelId label_count = 0;

  explicit Arrays(const LabelTree& tree) : label_count(tree.label_count()) {
    for (NodeId v = 0; v < tree.size(); ++v) {
      parents.push_back(tree[v].parent);
      labels.push_back(tree[v].label);
      silent.push_back(tree[v].silent ? 1 : 0);
    }
  }
  Arrays(std::vector<NodeId> p, std::vector<LabelId> l, LabelId count)
      : parents(std::move(p)), labels(std::move(l)), silent(parents.size()), label_count(count) {}

  LabelTree tree() const { return LabelTree(parents, labels, silent, label_count); }
};

struct Below {
  std::uint32_t leaves = 0;
  std::uint32_t live = 0;
};

// Recomputes all properties of a node from its children.
Below check_node(const LabelTree& tree, NodeId v, std::set<NodeId>& reached) {
  CHECK(reached.insert(v).second);
  const TreeNode& node = tree[v];
  Below below;
  std::uint32_t leaf_children = 0;
  std::uint32_t silent_children = 0;
  for (std::size_t slot = 0; slot < node.children.size(); ++slot) {
    const NodeId child = node.children[slot];
    REQUIRE(child < tree.size());
    CHECK_EQ(tree[child].parent, v);
    CHECK_EQ(tree[child].slot, slot);
    const Below there = check_node(tree, child, reached);
    below.leaves += there.leaves;
    below.live += there.live;
    leaf_children += tree[child].is_leaf() ? 1 : 0;
    silent_children += tree[child].silent ? 1 : 0;
  }
  if (node.is_leaf()) {
    below.leaves = 1;
    below.live = node.label != kNone && !node.silent ? 1 : 0;
    if (below.live == 1) CHECK_EQ(tree.leaf_of(node.label), v);
  } else {
    CHECK_EQ(node.label, kNone);
    CHECK(!node.silent);
  }
  CHECK_EQ(node.leaves, below.leaves);
  CHECK_EQ(node.live, below.live);
  CHECK_EQ(node.leaf_children, leaf_children);
  CHECK_EQ(node.silent_children, silent_children);
  CHECK_EQ(tree.shape(v).is_pre_leaf(), !node.is_leaf() && leaf_children == node.children.size());
  return below;
}

void check_invariants(const LabelTree& tree) {
  REQUIRE(tree.size() >= 2);
  CHECK_EQ(tree[kAboveRoot].parent, kNone);
  CHECK(std::ranges::equal(tree[kAboveRoot].children, std::vector<NodeId>{kRoot}));
  std::set<NodeId> reached;
  const Below all = check_node(tree, kAboveRoot, reached);
  CHECK_EQ(reached.size(), tree.size());
  std::uint32_t live = 0;
  for (LabelId label = 0; label < tree.label_count(); ++label) {
    const NodeId leaf = tree.leaf_of(label);
    if (leaf == kNone) continue;
    ++live;
    CHECK_EQ(tree[leaf].label, label);
    CHECK(tree[leaf].is_leaf() && !tree[leaf].silent);
  }
  CHECK_EQ(all.live, live);
  CHECK_EQ(tree.leaf_of(tree.label_count()), kNone);
  CHECK_EQ(tree.leaf_of(kNone), kNone);
}

void check_same(const LabelTree& a, const LabelTree& b) {
  REQUIRE(a.size() == b.size());
  CHECK_EQ(a.label_count(), b.label_count());
  for (NodeId v = 0; v < a.size(); ++v) {
    CHECK(std::ranges::equal(a[v].children, b[v].children));
    CHECK_EQ(a[v].label, b[v].label);
    CHECK_EQ(a[v].silent, b[v].silent);
    CHECK_EQ(a[v].slot, b[v].slot);
  }
}

// A root with two leaves, one of which has a removed label.
LabelTree small_tree() {
  LabelTree tree;
  tree.give_label(kRoot, 0);
  tree.insert_node(kRoot);
  tree.add_leaf(kRoot, 1);
  tree.remove_label(1);
  return tree;
}

TEST("label tree: a new one is a root without a label") {
  const LabelTree tree;
  CHECK_EQ(tree.size(), 2U);
  CHECK(tree[kRoot].is_leaf());
  CHECK_EQ(tree[kRoot].live, 0U);
  check_invariants(tree);
  check_same(Arrays(tree).tree(), tree);
}

TEST("label tree: inserting a node at a leaf gives the new leaf its label") {
  LabelTree tree;
  tree.give_label(kRoot, 7);
  CHECK_EQ(tree.label_count(), 8U);
  const NodeId below = tree.insert_node(kRoot);
  CHECK_EQ(below, 2U);
  CHECK(std::ranges::equal(tree[kRoot].children, std::vector<NodeId>{below}));
  CHECK_EQ(tree.leaf_of(7), below);
  CHECK_EQ(tree[kRoot].label, kNone);
  CHECK_EQ(tree[below].parent, kRoot);
  check_invariants(tree);
}

TEST("label tree: inserting a node at an inner node moves its children down, in order") {
  LabelTree tree = small_tree();
  const auto children = tree[kRoot].children;
  const NodeId below = tree.insert_node(kRoot);
  CHECK(std::ranges::equal(tree[kRoot].children, std::vector<NodeId>{below}));
  CHECK(std::ranges::equal(tree[below].children, children));
  CHECK_EQ(tree[below].silent_children, 1U);
  CHECK_EQ(tree[kRoot].silent_children, 0U);
  check_invariants(tree);
}

TEST("label tree: a removed label leaves a silent leaf, which another label can take") {
  LabelTree tree = small_tree();
  CHECK_EQ(tree.leaf_of(1), kNone);
  CHECK_EQ(tree[kRoot].leaves, 2U);
  CHECK_EQ(tree[kRoot].live, 1U);
  CHECK_EQ(tree.label_count(), 2U);
  check_invariants(tree);
  check_same(Arrays(tree).tree(), tree);
  tree.give_label(3, 2);
  CHECK_EQ(tree.leaf_of(2), 3U);
  CHECK_EQ(tree[kRoot].live, 2U);
  CHECK_EQ(tree[kRoot].silent_children, 0U);
  check_invariants(tree);
}

TEST("label tree: the last label can be removed") {
  LabelTree tree;
  tree.give_label(kRoot, 0);
  tree.remove_label(0);
  check_invariants(tree);
  CHECK_EQ(tree[kRoot].live, 0U);
  check_same(Arrays(tree).tree(), tree);
  tree.insert_node(kRoot);
  tree.add_leaf(kRoot, 1);
  check_invariants(tree);
  CHECK_EQ(tree[kRoot].silent_children, 1U);
}

// A random step of a kind that OPLT takes, if it is allowed.
void step(LabelTree& tree, Random& random, LabelId& next_label, std::vector<LabelId>& live) {
  const NodeId v = 1 + random.below(tree.size() - 1);
  if (!live.empty() && random.chance(0.2)) {
    const std::size_t at = random.below(live.size());
    tree.remove_label(live[at]);
    live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
    return;
  }
  if (tree[v].is_leaf() && (tree[v].silent || tree[v].label == kNone)) {
    if (random.chance(0.5)) {
      tree.give_label(v, next_label);
      live.push_back(next_label++);
      return;
    }
    if (tree[v].label == kNone) return;
  }
  if (tree[v].is_leaf() || random.chance(0.2)) tree.insert_node(v);
  tree.add_leaf(v, next_label);
  live.push_back(next_label++);
}

TEST("label tree: counts are correct after any history, and the arrays describe the whole tree") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    LabelTree tree;
    LabelId next_label = random.below(3);
    std::vector<LabelId> live;
    for (int i = 0; i < 60; ++i) {
      step(tree, random, next_label, live);
      if (i % 7 == 0) check_invariants(tree);
    }
    check_invariants(tree);
    const LabelTree again = Arrays(tree).tree();
    check_invariants(again);
    check_same(again, tree);
  }
}

TEST("label tree: a given tree may be numbered in any way, as long as the root is node 1") {
  // 1 -> {5, 2}, 5 -> {3, 4}; children are ordered by number.
  const LabelTree tree = Arrays({kNone, 0, 1, 5, 5, 1}, {kNone, kNone, 2, 0, 1, kNone}, 4).tree();
  check_invariants(tree);
  CHECK(std::ranges::equal(tree[kRoot].children, std::vector<NodeId>{2, 5}));
  CHECK_EQ(tree[4].parent, 5U);
  CHECK_EQ(tree.label_count(), 4U);
  CHECK_EQ(tree.leaf_of(3), kNone);
}

TEST("label tree: arrays that are not a tree are refused") {
  const std::vector<NodeId> parents{kNone, 0, 1, 1};
  const std::vector<LabelId> labels{kNone, kNone, 0, 1};
  CHECK_EQ(Arrays(parents, labels, 2).tree().size(), 4U);
  const auto refused = [&](std::size_t node, NodeId parent) {
    auto wrong = parents;
    wrong[node] = parent;
    CHECK_THROWS(std::invalid_argument, Arrays(wrong, labels, 2).tree());
  };
  refused(0, 0);      // its own parent
  refused(0, 1);      // a cycle with the root
  refused(1, kNone);  // the root is detached
  refused(1, 2);      // a cycle
  refused(2, 0);      // a second root
  refused(2, 2);      // its own parent
  refused(2, 3);      // under a leaf with a label
  refused(2, 4);      // beyond the end
  refused(3, kNone);  // far beyond the end
  CHECK_THROWS(std::invalid_argument,
               Arrays({kNone, 0, 3, 2}, {kNone, 0, kNone, kNone}, 2).tree());  // a detached cycle
}

TEST("label tree: labels that do not fit are refused") {
  const std::vector<NodeId> parents{kNone, 0, 1, 1};
  const auto refused = [&](std::vector<LabelId> labels, std::vector<std::uint8_t> silent, LabelId count) {
    Arrays arrays(parents, std::move(labels), count);
    arrays.silent = std::move(silent);
    CHECK_THROWS(std::invalid_argument, arrays.tree());
  };
  refused({kNone, kNone, 0, 0}, {0, 0, 0, 0}, 2);      // a label twice
  refused({kNone, kNone, 0, 2}, {0, 0, 0, 0}, 2);      // a label out of range
  refused({kNone, kNone, 0, kNone}, {0, 0, 0, 0}, 2);  // a leaf without a label
  refused({kNone, 1, 0, 1}, {0, 0, 0, 0}, 2);          // an inner node with a label
  refused({0, kNone, 0, 1}, {0, 0, 0, 0}, 2);          // the node above the root with a label
  refused({kNone, kNone, 0, 1}, {0, 1, 0, 0}, 2);      // a silent inner node
  refused({kNone, kNone, 0, 2}, {0, 0, 0, 1}, 2);      // a silent label out of range
  refused({kNone, kNone, 0}, {0, 0, 0, 0}, 2);         // too few labels
  refused({kNone, kNone, 0, 1}, {0, 0, 0}, 2);
  CHECK_THROWS(std::invalid_argument, Arrays({kNone}, {kNone}, 0).tree());
  CHECK_THROWS(std::invalid_argument, Arrays({}, {}, 0).tree());
  Arrays silent_root({kNone, 0}, {kNone, kNone}, 0);
  silent_root.silent[1] = 1;
  CHECK_THROWS(std::invalid_argument, silent_root.tree());
}

TEST("label tree: random arrays are refused or make a consistent tree") {
  std::size_t accepted = 0;
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    Random random(seed);
    const std::uint32_t n = 2 + random.below(5);
    const LabelId count = random.below(5);
    const auto any = [&](std::uint32_t most) {
      return random.chance(0.05) ? kNone - random.below(2) : random.below(most);
    };
    Arrays arrays({kNone, 0}, {kNone, kNone}, count);
    for (std::uint32_t v = 2; v < n; ++v) arrays.parents.push_back(any(n));
    for (std::uint32_t v = 2; v < n; ++v) arrays.labels.push_back(random.chance(0.5) ? kNone : any(count + 1));
    if (random.chance(0.1)) arrays.parents[random.below(2)] = any(n);
    if (random.chance(0.1)) arrays.labels[random.below(2)] = any(count + 1);
    arrays.silent.resize(n);
    if (random.chance(0.3)) arrays.silent[random.below(n)] = 1;
    try {
      const LabelTree tree = arrays.tree();
      check_invariants(tree);
      ++accepted;
    } catch (const std::invalid_argument&) {
      continue;
    }
  }
  CHECK(accepted > 200);
}

}  // namespace
}  // namespace labelgrove::testing
