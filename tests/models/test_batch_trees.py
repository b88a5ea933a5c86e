"""Batch models have the trees that the builders make from the same data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from labelgrove import DataError, EmbeddingClassifier, LabelTree, OnlinePLTClassifier, PLTClassifier
from labelgrove.models.engine._trees import TreePlan
from labelgrove.trees import (
    cost_tree,
    huffman_tree,
    interpolated_tree,
    kmeans_tree,
    label_embeddings,
    label_frequencies,
    label_indicator,
)
from trees.definitions import nested


@pytest.fixture(scope="module")
def data() -> tuple[Any, list[list[str]]]:
    random = np.random.default_rng(0)
    labels = [[f"t{label}" for label in random.choice(30, size=2)] for _ in range(200)]
    X = random.random((200, 40)) * (random.random((200, 40)) < 0.2)
    for row, names in enumerate(labels):
        X[row, [int(name[1:]) for name in names]] += 1
    return X, labels


def test_names_of_trees_are_those_of_builders(data: tuple[Any, list[list[str]]]) -> None:
    X, labels = data
    Y, names = label_indicator(labels)
    looks, often = label_embeddings(X, Y), label_frequencies(Y)
    shape: dict[str, Any] = {"arity": 3, "max_leaf_size": 4}
    for tree, expected in (
        ("kmeans", kmeans_tree(looks, labels=names, **shape)),
        ("interpolated", interpolated_tree(looks, often, labels=names, **shape)),
        ("cost", cost_tree(looks, Y, labels=names)),
    ):
        clf = PLTClassifier(tree=tree, interpolation=1.0, random_state=0, **shape).fit(X, labels)
        assert nested(clf.tree_) == nested(expected)


@pytest.mark.parametrize(
    ("labels", "leaf_size", "children"),
    [
        (200, 200, 200),  # one node for all
        (201, 200, 2),
        (256, 200, 2),
        (257, 200, 3),
        (1024, 200, 8),
        (4096, 200, 32),
        (10_000, 200, 32),
        (30, 4, 8),
        (5, 1, 5),
        (5, 4, 2),
    ],
)
def test_by_default_a_child_stands_for_128_labels_or_a_leaf_size(
    labels: int, leaf_size: int, children: int
) -> None:
    plan = TreePlan(PLTClassifier(max_leaf_size=leaf_size).get_params(), 0)
    looks = np.random.default_rng(0).random((labels, 2))
    tree = plan.one(np.ones(labels, np.int64), 1, looks, None, 0)
    assert len(tree.children(0)) == children


@pytest.mark.parametrize(
    ("examples", "labels", "trees", "children"),
    [
        (1000, 1000, 1, 1000),  # one node for all
        (1000, 1001, 1, 8),
        (1001, 200, 1, 200),
        (1001, 201, 1, 2),
        (1000, 201, 3, 2),  # three trees of one node would be alike
    ],
)
def test_by_default_a_leaf_of_few_examples_is_larger(
    examples: int, labels: int, trees: int, children: int
) -> None:
    plan = TreePlan(PLTClassifier(n_trees=trees).get_params(), 0)
    looks = np.random.default_rng(0).random((labels, 2))
    tree = plan.one(np.ones(labels, np.int64), examples, looks, None, 0)
    assert len(tree.children(0)) == children


@pytest.mark.parametrize(
    ("estimator", "leaf_size"), [(PLTClassifier, 200), (EmbeddingClassifier, 16)]
)
@pytest.mark.parametrize(("examples", "is_flat"), [(1000, True), (1001, False)])
def test_the_examples_of_a_fit_decide(
    estimator: Any, leaf_size: int, examples: int, is_flat: bool
) -> None:
    y = np.arange(examples) % 250
    for size in (None, leaf_size):
        model = estimator(max_iter=1, max_leaf_size=size).fit(np.eye(250)[y], y)
        sizes = [len(model.tree_.children(v)) for v in range(model.tree_.n_nodes)]
        assert max(sizes) == 250 if is_flat and size is None else max(sizes) <= leaf_size


def test_by_default_a_huffman_tree_has_32_children_a_node() -> None:
    counts = np.arange(1, 100)
    for arity, children in ((None, 32), (3, 3)):
        plan = TreePlan(PLTClassifier(tree="huffman", arity=arity).get_params(), 0)
        assert plan.one(counts, 1, None, None, 0) == huffman_tree(counts, arity=children)


@pytest.mark.parametrize("estimator", [PLTClassifier, EmbeddingClassifier, OnlinePLTClassifier])
def test_an_indicator_has_a_column_for_every_label_of_the_tree(estimator: Any) -> None:
    X, Y = np.eye(6, dtype=np.float32), np.eye(6, 3, dtype=int)
    for label in (3, 9_000_000, -1):
        model = estimator(tree=LabelTree.flat([0, 1, 2, label]))
        for y in (Y, sp.csr_array(Y)):
            with pytest.raises(DataError, match=f"3 columns, but .* the label {label}; expected"):
                model.fit(X, y)


def test_the_tree_by_default_is_that_of_its_arity(data: tuple[Any, list[list[str]]]) -> None:
    chosen = PLTClassifier(max_leaf_size=4).fit(*data)
    asked = PLTClassifier(max_leaf_size=4, arity=8).fit(*data)
    assert chosen.arity is None
    assert chosen.tree_ == asked.tree_
