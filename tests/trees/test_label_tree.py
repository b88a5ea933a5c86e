"""LabelTree: checks, arrays, equality and copies."""

from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelgrove import DataError, LabelTree, OnlinePLTClassifier, ParameterError
from trees.definitions import depths_by_walking, trees


@given(trees())
def test_arrays_agree_with_parents(tree: LabelTree) -> None:
    parents = tree.parents.tolist()
    assert tree.depths.tolist() == depths_by_walking(parents)
    assert tree.depth == max(depths_by_walking(parents))
    for node in range(tree.n_nodes):
        assert tree.children(node) == [v for v, parent in enumerate(parents) if parent == node]
    leaves = [v for v in range(tree.n_nodes) if v not in parents]
    assert tree.leaves.tolist() == (leaves if tree.n_labels else [])
    assert tree.labels == dict(zip(tree.leaves.tolist(), tree.leaf_labels.tolist(), strict=True))
    assert (tree.n_labels, tree.n_nodes) == (len(tree.labels), len(parents))


@given(trees())
def test_copies_are_equal(tree: LabelTree) -> None:
    for twin in (
        pickle.loads(pickle.dumps(tree)),
        copy.deepcopy(tree),
        LabelTree(tree.parents, tree.labels),
        LabelTree(tree.parents.tolist(), tree.leaf_labels),
        LabelTree(tree.parents, dict(reversed(tree.labels.items()))),
    ):
        assert twin == tree and hash(twin) == hash(tree) and twin.labels == tree.labels


def test_trees_differ_by_shape_numbering_and_labels() -> None:
    tree = LabelTree([-1, 0, 0, 1, 1], ["a", "b", "c"])
    others = [
        LabelTree([-1, 0, 0, 1, 1], ["a", "c", "b"]),
        LabelTree([-1, 0, 0, 2, 2], ["a", "b", "c"]),
        LabelTree([-1, 0, 0, 0], ["a", "b", "c"]),
        LabelTree([-1, 0, 0, 1, 1], [1, 2, 3]),
    ]
    assert all(tree != other for other in others)
    assert tree != "a tree" and len({tree, *others}) == 5
    assert LabelTree([-1], ["1"]) != LabelTree([-1], [1]) != LabelTree([-1], [])


def test_what_a_tree_hands_out_cannot_change_it() -> None:
    given_parents = np.array([-1, 0, 0])
    tree = LabelTree(given_parents, ["a", "b"])
    given_parents[1] = 2
    tree.parents[1] = 2
    tree.labels[1] = "c"
    tree.children(0).append(7)
    for array in (tree.depths, tree.leaves, tree.leaf_labels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    assert tree == LabelTree([-1, 0, 0], ["a", "b"]) and tree.children(0) == [1, 2]


@pytest.mark.parametrize(
    ("parents", "labels", "message"),
    [
        ([], [], "node 0 must be the root"),
        ([0, 0], ["a"], "node 0 must be the root"),
        ([-1, -1], ["a"], "node 1 has parent -1; expected 0 to 1"),
        ([-1, 0, 3], ["a", "b"], "node 2 has parent 3; expected 0 to 2"),
        ([-1, 2**64 - 1], ["a"], "integers"),
        ([-1, 0.0], ["a"], "expected a flat sequence of integers"),
        ([-1, None], ["a"], "expected a flat sequence of integers"),
        ([[-1, 0]], ["a"], "expected a flat sequence"),
        ([[-1], [0, 1]], ["a"], "expected a flat sequence of integers"),
        ("tree", ["a"], "expected a flat sequence"),
        ([-1, 1], [], "node 1 leads to a cycle"),
        ([-1, 0, 4, 2, 3, 2], ["a", "b"], "node 2 leads to a cycle"),
        ([-1, 0, 0], ["a"], "there are 1 labels for 2 leaves"),
        ([-1], ["a", "b"], "there are 2 labels for 1 leaves"),
        ([-1, 0, 0], {1: "a"}, "node 2 is a leaf without a label"),
        ([-1, 0], {0: "a", 1: "b"}, "node 0 is an inner node with a label"),
        ([-1, 0], {1: "a", 2: "b"}, "label of node 2, which does not exist"),
        ([-1, 0], {-1: "a"}, "label of node -1, which does not exist"),
        ([-1, 0], {1.0: "a"}, "label of node 1.0; expected an integer"),
        ([-1, 0], {True: "a"}, "label of node True"),
        ([-1, 0, 0], ["a", "a"], "two leaves, nodes 1 and 2, have the same label 'a'"),
    ],
)
def test_what_is_no_tree_is_named(parents: object, labels: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        LabelTree(parents, labels)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1, "a"], "tree, node 2: label 'a' is a string"),
        ({1: None, 2: "a"}, "tree, node 1: the label is missing"),
        (["a", ("b",)], "tree, node 2.*expected a label"),
        (["a", "\ud800"], "tree, node 2.*surrogate"),
        ([1, 2**63], "tree, node 2.*64 bits"),
        ("ab", "expected a list of labels"),
    ],
)
def test_what_is_no_label_is_named(labels: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        LabelTree([-1, 0, 0], labels)  # type: ignore[arg-type]


@pytest.mark.parametrize("labels", [3, "cat", None])
def test_labels_of_a_flat_tree_are_a_list(labels: object) -> None:
    with pytest.raises(DataError, match="expected a list of labels, not "):
        LabelTree.flat(labels)  # type: ignore[arg-type]


def test_children_of_a_node_that_is_none() -> None:
    for node in (-1, 3, 1.5, "1", True, None, [1], 10**30):
        message = re.escape(f"node={node!r}: expected an integer from 0 to 2")
        with pytest.raises(ParameterError, match=message):
            LabelTree.flat(["a", "b"]).children(node)  # type: ignore[arg-type]
    assert LabelTree.flat(["a", "b"]).children(np.int8(0)) == [1, 2]


@given(st.permutations(range(1, 30)))
def test_a_cycle_is_found_at_any_length(order: list[int]) -> None:
    parents = [-1] * 30
    for above, node in zip([order[-1], *order], order, strict=False):
        parents[node] = above
    with pytest.raises(ParameterError, match="leads to a cycle"):
        LabelTree(parents, [])


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["wide", "binary", "chain", "random"])
def test_many_nodes_are_checked(shape: str) -> None:
    """An algorithm quadratic in the number of nodes would not finish."""
    n = 300_000
    nodes = np.arange(-1, n - 1)
    parents = {
        "wide": np.minimum(nodes, 0),
        "binary": np.where(nodes < 0, -1, nodes // 2),
        "chain": nodes,
        "random": (nodes * np.random.default_rng(0).random(n)).astype(int),
    }[shape]
    parents[0] = -1
    n_leaves = n - np.unique(parents[1:]).size
    tree = LabelTree(parents, np.arange(n_leaves))
    assert tree.n_labels == n_leaves and tree.children(0)


def test_a_classifier_keeps_the_tree_that_it_is_given() -> None:
    tree = LabelTree([-1, 0, 0, 0, 1, 1], {2: "a", 3: "b", 4: "c", 5: "d"})
    clf = OnlinePLTClassifier(tree=tree, policy="fixed")
    clf.fit(np.eye(4), ["a", "b", "c", "d"])
    assert clf.tree_ == tree
    assert clf.predict(np.eye(4)).tolist() == ["a", "b", "c", "d"]
