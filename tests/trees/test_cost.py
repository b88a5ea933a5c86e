"""Search costs, and trees of least cost, against exhaustive search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from labelgrove import DataError, LabelTree, ParameterError
from labelgrove.trees import (
    complete_tree,
    cost_tree,
    huffman_tree,
    interpolated_tree,
    kmeans_tree,
    search_cost,
)
from naive.search_cost import Searches, cost, labels_below, least_cost
from trees.definitions import nested, trees
from trees.test_clustering import looks

BLOCK_COSTS = st.sampled_from([0.0, 1.0, 3.5, 20.0])


@st.composite
def matrices(draw: st.DrawFn, most: int = 7) -> list[list[int]]:
    n_labels = draw(st.integers(1, most))
    row = st.lists(st.integers(0, 1), min_size=n_labels, max_size=n_labels)
    return draw(st.lists(row, min_size=1, max_size=6).filter(lambda rows: any(map(any, rows))))


def sets(Y: list[list[int]]) -> Searches:
    return [({label for label, cell in enumerate(row) if cell}, 1.0) for row in Y]


@settings(max_examples=80)
@given(st.data(), trees(), BLOCK_COSTS)
def test_costs_are_those_of_the_twin(
    data: st.DataObject, tree: LabelTree, per_block: float
) -> None:
    names = data.draw(st.permutations(tree.leaf_labels.tolist()))  # not in the tree's order
    if not names:
        return
    row = st.lists(st.integers(0, 1), min_size=len(names), max_size=len(names))
    Y = data.draw(st.lists(row, min_size=1, max_size=5).filter(lambda rows: any(map(any, rows))))
    searches = [({names[label] for label in s}, f) for s, f in sets(Y) if s]
    plain = nested(tree)
    for frequencies in (Y, np.array(Y), sp.csr_array(Y)):
        found = search_cost(tree, frequencies, labels=names, block_cost=per_block)
        assert found.cost == pytest.approx(cost(plain, searches, per_block) / len(searches))
        assert found.cost == pytest.approx(per_block * found.blocks + found.classifiers)
    counts = data.draw(st.lists(st.integers(1, 5), min_size=len(names), max_size=len(names)))
    alone = [({name}, float(count)) for name, count in zip(names, counts, strict=True)]
    found = search_cost(tree, dict(zip(names, counts, strict=True)), block_cost=per_block)
    assert found.cost == pytest.approx(cost(plain, alone, per_block) / sum(counts))
    assert found.blocks == pytest.approx(tree.expected_depth(counts, names))


@settings(max_examples=60)
@given(matrices(), st.integers(0, 1000), BLOCK_COSTS, st.sampled_from([0.0, 0.5]))
def test_no_reduction_is_cheaper(
    Y: list[list[int]], seed: int, per_block: float, smoothing: float
) -> None:
    n = len(Y[0])
    vectors = looks(seed, n)
    tree = cost_tree(vectors, Y, block_cost=per_block, smoothing=smoothing, random_state=seed)
    counts = np.array(Y).sum(axis=0)
    finest = interpolated_tree(
        vectors,
        counts,
        interpolation=0.5,
        smoothing=smoothing,
        max_leaf_size=1,
        random_state=seed,
    )
    total = sum(map(any, Y))
    searches = [*sets(Y), *[({label}, smoothing * total / n) for label in range(n)]]
    assert labels_below(nested(tree)) == set(range(n))
    least = least_cost(nested(finest), searches, per_block)
    assert cost(nested(tree), searches, per_block) == pytest.approx(least)


def test_the_price_of_a_block_decides_on_the_width() -> None:
    vectors = looks(1, 300)
    counts = np.ones(300)
    deep, wide = (cost_tree(vectors, counts, block_cost=price) for price in (1, 100))
    assert deep.depth > wide.depth > 1
    assert cost_tree(vectors, counts, block_cost=1e6) == LabelTree.flat(wide.leaf_labels.tolist())
    for price, tree, other in ((1, deep, wide), (100, wide, deep)):
        own, others = (search_cost(t, counts, block_cost=price).cost for t in (tree, other))
        assert own < others


def test_it_is_cheaper_than_the_trees_that_know_less() -> None:
    counts = 1000 / np.arange(1, 501)
    vectors = looks(2, 500, 20)
    own = search_cost(cost_tree(vectors, counts), counts).cost
    for other in (
        kmeans_tree(vectors, arity=16),
        kmeans_tree(vectors),
        interpolated_tree(vectors, counts),
        huffman_tree(counts),
        complete_tree(range(500), arity=16),
    ):
        assert own < 0.9 * search_cost(other, counts).cost


def test_labels_without_searches_do_not_make_one_block() -> None:
    counts = np.zeros(5000)
    counts[:10] = 1.0
    tree = cost_tree(looks(3, 5000), counts)
    assert max(tree.statistics().arities) < 500


def test_a_tenth_of_the_searches_is_added_unless_told_otherwise() -> None:
    vectors, counts = looks(1, 100), np.arange(100)
    tree = cost_tree(vectors, counts)
    assert tree == cost_tree(vectors, counts, smoothing=0.1)
    for other in (0.05, 0.2):
        assert tree != cost_tree(vectors, counts, smoothing=other)


def test_any_number_of_threads_builds_the_same_tree() -> None:
    vectors, counts = looks(3, 6000, 30), np.arange(6000)
    assert cost_tree(vectors, counts) == cost_tree(vectors, counts, n_jobs=3)


def test_labels_have_names() -> None:
    assert cost_tree(np.eye(2), [1, 1], labels=["a", "b"]) == LabelTree.flat(["a", "b"])
    assert cost_tree([[1.0]], [3], labels=["a"]) == LabelTree([-1], ["a"])


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"block_cost": -1}, "block_cost=-1: expected a number from 0"),
        ({"interpolation": 3}, "interpolation=3: expected a number from 0 to 2"),
        ({"smoothing": -1}, "smoothing=-1"),
        ({"frequencies": [1]}, "frequencies: there are 1 for 3 embeddings"),
        ({"frequencies": {2: 1, 1: 1, 0: 9}}, "frequencies: found a mapping"),
        ({"frequencies": [[1, 0]]}, "frequencies: there are 2 for 3 embeddings"),
        ({"frequencies": [[1, 2], [3]]}, "Y: expected a matrix of 0 and 1"),
    ],
)
def test_wrong_parameters_are_named(given_: dict[str, Any], message: str) -> None:
    with pytest.raises((ParameterError, DataError), match=message):
        cost_tree(np.eye(3), given_.pop("frequencies", [1, 1, 1]), **given_)


@pytest.mark.parametrize(
    ("arguments", "labels", "message"),
    [
        (([1, 1],), ["a", "c"], "label 'c' is not in the tree; expected its labels only"),
        (([0, 0],), ["a", "b"], "frequencies: all are 0; expected one above 0"),
        (([[1, 1]],), ["a"], "labels: there are 1 for 2 columns; expected one for each"),
        (([1, 1],), None, "label 0 is not in the tree"),
        (([1, 1],), ["a", "a"], "labels: one label occurs twice; expected each once"),
    ],
)
def test_wrong_searches_are_named(arguments: tuple[Any, ...], labels: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        search_cost(LabelTree.flat(["a", "b"]), *arguments, labels=labels)
