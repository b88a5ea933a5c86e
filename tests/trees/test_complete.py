"""Complete trees against a twin that fills them node by node."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelgrove import LabelTree, ParameterError
from labelgrove.trees import complete_tree
from trees.definitions import complete, label_depths, nested

SIZES = st.integers(1, 70)


def leaves_in_order(tree: Any) -> list[Any]:
    return (
        [x for part in tree for x in leaves_in_order(part)] if isinstance(tree, tuple) else [tree]
    )


@given(SIZES, st.integers(2, 7), st.integers(1, 9))
def test_tree_is_as_defined(n: int, arity: int, max_leaves: int) -> None:
    tree = complete_tree(range(n), arity=arity, max_leaves=max_leaves)
    found = nested(tree)
    assert found == complete(list(range(n)), arity, max_leaves)
    assert leaves_in_order(found) == list(range(n))


@given(SIZES, st.integers(2, 7))
def test_no_level_could_be_spared(n: int, arity: int) -> None:
    tree = complete_tree(range(n), arity=arity)
    depth = 0
    while arity**depth < n:
        depth += 1
    assert set(label_depths(tree).values()) <= {depth - 1, depth} and tree.depth == depth
    arities = [len(tree.children(v)) for v in range(tree.n_nodes) if tree.children(v)]
    assert all(found == arity for found in arities[:-1])
    assert not arities or 2 <= arities[-1] <= arity


@given(SIZES, st.integers(2, 5), st.integers(2, 9))
def test_groups_are_few_and_even(n: int, arity: int, max_leaves: int) -> None:
    tree = complete_tree(range(n), arity=arity, max_leaves=max_leaves)
    parents = tree.parents[tree.leaves]
    groups = -(-n // max_leaves)
    sizes = np.bincount(np.unique(parents, return_inverse=True)[1])
    if n > 1 and n // groups > 1:
        assert len(sizes) == groups and sizes.max() <= max_leaves and np.ptp(sizes) <= 1


def test_seed_decides_the_order() -> None:
    labels = [f"l{i}" for i in range(50)]
    trees = [complete_tree(labels, shuffle=True, random_state=seed) for seed in (0, 1, 0)]
    assert trees[0] == trees[2] != trees[1]
    assert trees[0] != complete_tree(labels) == complete_tree(labels, random_state=1)
    assert sorted(trees[0].leaf_labels.tolist()) == sorted(labels)
    assert np.array_equal(trees[0].parents, complete_tree(labels).parents)


def test_few_labels_of_any_kind() -> None:
    assert complete_tree([]) == LabelTree([-1], [])
    assert complete_tree(["a"], max_leaves=5) == LabelTree([-1], ["a"])
    assert complete_tree(np.array([5, 6]), max_leaves=9) == LabelTree.flat([5, 6])
    assert complete_tree(x for x in "ab") == LabelTree.flat(["a", "b"])


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"arity": 1}, "arity=1: expected an integer from 2"),
        ({"max_leaves": 0}, "max_leaves=0: expected an integer from 1"),
        ({"random_state": -1}, "random_state=-1: expected 0 to"),
        ({"labels": ["a", "a"]}, "have the same label 'a'"),
    ],
)
def test_wrong_parameters_are_named(given_: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        complete_tree(**{"labels": ["a", "b"]} | given_)
