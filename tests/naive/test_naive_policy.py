"""Algorithm 8 and its relatives, on trees small enough to follow by eye."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive.label_tree import LabelTree, Node
from naive.learners import AdaGrad, instance
from naive.oplt import OPLT
from naive.policy import (
    BestGreedy,
    Eta,
    FewestLeaves,
    LeafExpansion,
    PreLeafPolicy,
    RandomChoice,
    policy_named,
)


def fit(**of_node: float) -> Eta:
    """Return eta from keywords such as n3=0.9; other nodes have 0.5."""
    return lambda node: of_node.get(f"n{node}", 0.5)


@pytest.fixture
def lopsided() -> LabelTree:
    """Return a root with child 1 (leaves 3 4 5) and child 2 (leaves 6 7)."""
    labels = {0: 3, 1: 4, 2: 5, 3: 6, 4: 7}
    return LabelTree.from_parents([None, 0, 0, 1, 1, 1, 2, 2], labels)


def test_best_greedy_weighs_fit_against_balance(lopsided: LabelTree) -> None:
    assert BestGreedy(alpha=0.0)(lopsided, 0, fit(n1=0.6)) == 1
    assert BestGreedy(alpha=1.0)(lopsided, 0, fit(n1=1.0, n2=0.0)) == 2
    # The balance terms log((5/2)/3) and log((5/2)/2) differ by log(3/2), times alpha.
    even = 0.5 * math.log(1.5)  # the advantage in fit, halved, that makes up for it
    assert BestGreedy(alpha=0.5)(lopsided, 0, fit(n1=0.5 + 2 * even + 0.01, n2=0.5)) == 1
    assert BestGreedy(alpha=0.5)(lopsided, 0, fit(n1=0.5 + 2 * even - 0.01, n2=0.5)) == 2


def test_ties_go_to_the_first_child(lopsided: LabelTree) -> None:
    assert BestGreedy(alpha=0.0)(lopsided, 0, fit()) == 1
    lopsided.add_leaf(5, 2)
    assert BestGreedy(alpha=0.75)(lopsided, 0, fit()) == 1
    assert FewestLeaves()(lopsided, 0, fit()) == 1


def test_fewest_leaves_counts_the_silent_ones(lopsided: LabelTree) -> None:
    assert FewestLeaves()(lopsided, 0, fit()) == 2
    for label in (0, 1, 2):
        lopsided.remove_label(label)
    assert FewestLeaves()(lopsided, 0, fit()) == 2


def test_random_counts_its_draws(lopsided: LabelTree) -> None:
    drawn: list[tuple[int, int]] = []

    def hash_(seed: int, draws: int) -> int:
        drawn.append((seed, draws))
        return 10 + draws

    choose = RandomChoice(seed=4, hash=hash_)
    assert [choose(lopsided, v, fit()) for v in (0, 0, 1)] == [1, 2, 3]
    assert drawn == [(4, 0), (4, 1), (4, 2)] and choose.draws == 3


def test_selection_stops_at_a_pre_leaf(lopsided: LabelTree) -> None:
    policy = PreLeafPolicy(FewestLeaves(), b=2, b_max=3)
    assert policy.select(lopsided, fit(), first=True) == (2, False)
    lopsided.add_leaf(5, 2)
    assert policy.select(lopsided, fit(), first=True) == (1, True)  # b_max reached


def test_selection_stops_where_there_is_room_under_b(lopsided: LabelTree) -> None:
    policy = PreLeafPolicy(FewestLeaves(), b=3, b_max=3)
    assert policy.select(lopsided, fit(), first=True) == (0, False)


def test_the_only_leaf_among_children_is_selected_instead(lopsided: LabelTree) -> None:
    lopsided.add_leaf(5, 0)  # node 8, the one leaf beside two internal nodes
    policy = PreLeafPolicy(FewestLeaves(), b=4, b_max=4)
    assert policy.select(lopsided, fit(), first=True) == (8, True)


def test_the_second_label_of_an_observation_starts_at_the_saved_node(lopsided: LabelTree) -> None:
    policy = PreLeafPolicy(BestGreedy(alpha=0.0), b=2, b_max=4)
    assert policy.select(lopsided, fit(n1=0.9), first=True) == (1, False)
    lopsided.add_leaf(5, 1)
    assert policy.select(lopsided, fit(n1=0.0), first=False) == (1, True)
    lopsided.insert_node(1)
    leaf = lopsided.add_leaf(6, 1)
    assert policy.select(lopsided, fit(n1=0.0), first=False) == (leaf, True)  # line 8
    assert policy.saved == leaf
    lopsided.insert_node(leaf)
    lopsided.add_leaf(7, leaf)
    assert policy.select(lopsided, fit(n1=0.0), first=False) == (leaf, False)


def test_a_given_tree_may_be_wider_than_b() -> None:
    labels = {0: 2, 1: 3, 2: 4, 3: 5}
    wide = LabelTree.from_parents(
        [None, 0, 0, 0, 1, 1], labels
    )  # three children, two of them leaves
    policy = PreLeafPolicy(BestGreedy(alpha=0.0), b=2, b_max=3)
    assert policy.select(wide, fit(n1=0.9), first=True) == (1, False)
    assert not policy.may_extend(wide, 0)


def test_cpet_goes_down_to_a_leaf_and_on_from_there(lopsided: LabelTree) -> None:
    policy = LeafExpansion(BestGreedy(alpha=0.0))
    assert policy.select(lopsided, fit(n2=0.9, n7=0.9), first=True) == (7, True)
    low, high = lopsided.insert_node(7), lopsided.add_leaf(5, 7)
    eta = fit(n1=1.0, **{f"n{low}": 0.1, f"n{high}": 0.2})
    assert policy.select(lopsided, eta, first=False) == (high, True)


# Whole trees, from nothing


def grow(policy: str, rows: list[list[int]], *, b: int = 2, b_max: int = 100) -> OPLT:
    model = OPLT(AdaGrad, policy_named(policy, b=b, b_max=b_max))
    for row in rows:
        model.learn(instance({0: 1.0}), row)
        model.tree.check()
    return model


def shape(tree: LabelTree, v: Node = 0) -> object:
    """Return nested lists of labels."""
    return [shape(tree, c) for c in tree.children[v]] or tree.label[v]


def test_best_greedy_grows_pre_leaves_to_b_max_then_splits_above() -> None:
    rows = [[label] for label in range(6)]
    trees = [shape(grow("best-greedy", rows[:m], b_max=3).tree) for m in range(1, 7)]
    assert trees == [
        0,  # the root is the first label's leaf
        [0, 1],  # variant 3
        [0, 1, 2],  # variant 1
        [[0, 1, 2], 3],  # variant 2
        [[0, 1, 2], [3, 4]],  # the root is full, its leaf child is chosen: variant 3
        [[0, 1, 2], [3, 4, 5]],
    ]


def test_new_labels_of_one_observation_stay_together() -> None:
    model = grow("best-greedy", [[0], [1], [2, 3, 4, 5]], b_max=3)
    assert shape(model.tree) == [[0, 1, 2], [3, 4, 5]]


def test_a_wider_tree_takes_leaves_one_by_one_and_splits_each() -> None:
    rows = [[label] for label in range(8)]
    trees = [shape(grow("complete", rows[:m], b=3, b_max=3).tree) for m in (4, 5, 6, 7, 8)]
    assert trees == [
        [[0, 1, 2], 3],
        [[0, 1, 2], [3, 4]],
        [[0, 1, 2], [3, 4], 5],
        [[0, 1, 2], [3, 4], [5, 6]],
        [[0, 1, 2], [3, 4, 7], [5, 6]],
    ]


def test_cpet_splits_leaves_only() -> None:
    model = grow("cpet", [[0], [1], [2], [3]])
    assert shape(model.tree) == [[0, 2], [1, 3]]
    assert set(model.Theta) == {v for v in model.tree.nodes() if model.tree.is_leaf(v)}


def test_complete_stays_balanced() -> None:
    model = grow("complete", [[label] for label in range(16)], b_max=2)
    depths = {len(model.tree.path(leaf)) - 1 for leaf in model.tree.leaves(0)}
    assert depths == {4}


def test_theta_is_kept_where_it_can_be_used() -> None:
    def theta(labels: int, b: int = 2) -> set[Node]:
        rows = [[label] for label in range(labels)]
        return set(grow("best-greedy", rows, b=b, b_max=3).Theta)

    assert theta(0) == theta(1) == {0}  # the root, before and with its first label
    assert theta(3) == {0}  # a pre-leaf
    assert theta(4) == {4, 5}  # pre-leaf 4 and leaf 5, which variant 2 made; not the full root
    assert theta(4, b=3) == {0, 4, 5}  # here the root can have another child
    assert theta(5) == {4, 5}  # leaf 5 has become a pre-leaf


def test_a_new_label_takes_the_first_silent_leaf_of_the_selected_node() -> None:
    model = grow("best-greedy", [[0], [1], [2], [3]], b_max=4)
    model.remove(2)
    model.remove(1)
    nodes = len(model.tree.nodes())
    model.learn(instance({1: 1.0}), ["a", "b", "c"])  # labels 4, 5, 6
    assert shape(model.tree) == [[0, 4, 5, 3], 6]
    assert len(model.tree.nodes()) == nodes + 2
    assert model.tree.ghosts == {1: 5, 2: 5}  # moved below the inserted node


def test_a_silent_root_is_split_like_any_leaf() -> None:
    model = grow("best-greedy", [[0]])
    model.remove(0)
    model.learn(instance({0: 1.0}), [1])
    assert shape(model.tree) == [0, 1] and model.tree.silent == {1}


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(st.lists(st.integers(0, 60), max_size=6), max_size=20),
    policy=st.sampled_from(["best-greedy", "random", "complete"]),
    b=st.integers(2, 4),
    more=st.integers(0, 3),
)
def test_arities_are_bounded(rows: list[list[int]], policy: str, b: int, more: int) -> None:
    """Pre-leaf nodes have b_max children at most, other internal nodes b; 1 leaf if mixed."""
    tree = grow(policy, rows, b=b, b_max=b + more).tree
    for v in tree.nodes():
        if tree.is_pre_leaf(v):
            assert 2 <= len(tree.children[v]) <= b + more
        elif not tree.is_leaf(v):
            assert 2 <= len(tree.children[v]) <= b and len(tree.leaf_children(v)) <= 1
