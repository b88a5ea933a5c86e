"""OPLT's trees, small enough to follow by eye, and what random streams reach."""

from __future__ import annotations

from collections import Counter

from naive.label_tree import LabelTree, Node
from naive.learners import AdaGrad, instance
from naive.oplt import OPLT
from naive.policy import policy_named
from naive.streams import play, random_stream


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


def test_a_new_label_takes_the_first_silent_leaf_of_the_selected_node() -> None:
    model = grow("best-greedy", [[0], [1], [2], [3]], b_max=4)
    model.remove(2)
    model.remove(1)
    nodes = len(model.tree.nodes())
    model.learn(instance({1: 1.0}), ["a", "b", "c"])  # labels 4, 5, 6
    assert shape(model.tree) == [[0, 4, 5, 3], 6]
    assert len(model.tree.nodes()) == nodes + 2


ALL_STEPS = {
    "root",
    "variant 1, pre-leaf",
    "variant 1, mixed",
    "variant 2",
    "variant 3",
    "variant 3, silent",
    "take place",
    "remove",
}


def test_random_streams_reach_every_way_to_place_a_label() -> None:
    steps: Counter[str] = Counter()
    for name in ("best-greedy", "random", "complete"):
        for seed, (b, b_max) in enumerate([(2, 2), (2, 4), (3, 3), (3, 5), (4, 4)]):
            model = OPLT(AdaGrad, policy_named(name, b=b, b_max=b_max))
            for event in random_stream(seed, length=60):
                play(model, event)
            steps += model.steps
    assert set(steps) == ALL_STEPS and min(steps.values()) >= 5, steps
