"""The trees of batch models are those that the builders make of the same data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from labelgrove import LabelTree, PLTClassifier
from labelgrove.trees import (
    cost_tree,
    interpolated_tree,
    kmeans_tree,
    label_embeddings,
    label_frequencies,
    label_indicator,
)


@pytest.fixture(scope="module")
def data() -> tuple[Any, list[list[str]]]:
    random = np.random.default_rng(0)
    labels = [[f"t{label}" for label in random.choice(30, size=2)] for _ in range(200)]
    X = random.random((200, 40)) * (random.random((200, 40)) < 0.2)
    for row, names in enumerate(labels):
        X[row, [int(name[1:]) for name in names]] += 1
    return X, labels


def nested(tree: LabelTree, node: int = 0) -> Any:
    below = tree.children(node)
    return tuple(nested(tree, child) for child in below) if below else tree.labels[node]


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
