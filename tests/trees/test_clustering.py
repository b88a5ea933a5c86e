"""The clustering builders against their naive twin, and on labels with known positions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from labelgrove import DataError, LabelTree, ParameterError, _core
from labelgrove.trees import kmeans_tree
from naive.clustering import Builder, Centres
from trees.definitions import nested

ARITIES = st.integers(2, 7)
SIZES = st.integers(1, 6)
_CLUSTERING = 5  # the stream of draws


def looks(seed: int, n: int, d: int = 6) -> Any:
    """Return sparse vectors of no special kind; a few of them twice, and perhaps some empty.

    None has one feature alone: of unit length, all of these are equal but for rounding, and which
    of them comes first would be a matter of the last bit.
    """
    random = np.random.default_rng(seed)
    there = random.random((n, d)) < 0.6
    there[there.sum(axis=1) == 1] = False
    dense = random.normal(size=(n, d)) * there
    if n > 5:
        dense[random.integers(n)] = dense[random.integers(n)]
    return sp.csr_array(dense.astype(np.float32))


def drawn_centres(seed: int) -> Centres:
    """Return the first centres that the core draws."""

    def centres(begin: int, end: int) -> tuple[int, int]:
        n, which = end - begin, begin << 32 | end
        first = _core.draw(seed, _CLUSTERING, which, 0) % n
        return first, (first + 1 + _core.draw(seed, _CLUSTERING, which, 1) % (n - 1)) % n

    return centres


def as_dicts(vectors: Any) -> list[dict[int, float]]:
    rows = vectors.toarray().tolist() if sp.issparse(vectors) else vectors.tolist()
    return [{j: value for j, value in enumerate(row) if value} for row in rows]


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 40), ARITIES, SIZES)
def test_kmeans_is_its_twin(seed: int, n: int, arity: int, size: int) -> None:
    vectors = looks(seed, n)
    twin = Builder(as_dicts(vectors), drawn_centres(seed), None, arity, size)
    tree = kmeans_tree(vectors, arity=arity, max_leaf_size=size, random_state=seed)
    assert nested(tree) == twin.tree()


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(2, 300), ARITIES, SIZES)
def test_parts_are_balanced(seed: int, n: int, arity: int, size: int) -> None:
    tree = kmeans_tree(looks(seed, n), arity=arity, max_leaf_size=size, random_state=seed)
    assert sorted(tree.leaf_labels.tolist()) == list(range(n))
    below = np.ones(tree.n_nodes, int)
    for node in range(tree.n_nodes - 1, -1, -1):
        if children := tree.children(node):
            below[node] = below[children].sum()
            assert below[children].max() - below[children].min() <= 1
            if below[node] > max(arity, size):
                assert len(children) == arity
            else:
                assert len(children) == below[node]


def test_labels_that_look_alike_stand_together() -> None:
    random = np.random.default_rng(0)
    kinds = np.arange(64) % 8
    vectors = np.eye(8)[kinds] + random.normal(scale=0.05, size=(64, 8))
    tree = kmeans_tree(vectors, arity=8, max_leaf_size=8)
    for node in tree.children(0):
        assert len({kinds[tree.labels[leaf]] for leaf in tree.children(node)}) == 1


def test_any_number_of_threads_builds_the_same_tree() -> None:
    vectors = looks(3, 9000, 30)
    assert kmeans_tree(vectors, max_leaf_size=20) == kmeans_tree(
        vectors, max_leaf_size=20, n_jobs=3
    )


def test_dense_and_sparse_vectors_of_any_length_are_the_same() -> None:
    random = np.random.default_rng(1)
    dense = random.normal(size=(50, 20)).astype(np.float32)
    tree = kmeans_tree(dense, max_leaf_size=3)
    assert tree == kmeans_tree(sp.csr_array(dense), max_leaf_size=3)
    scales = 2.0 ** random.integers(-9, 9, size=(50, 1))
    assert tree == kmeans_tree(dense * scales, max_leaf_size=3)
    assert tree == kmeans_tree((dense * scales).tolist(), max_leaf_size=3)


def test_labels_without_a_vector_have_a_place() -> None:
    tree = kmeans_tree(sp.csr_array((10, 4)), max_leaf_size=2)
    assert sorted(tree.leaf_labels.tolist()) == list(range(10))
    assert kmeans_tree(np.zeros((10, 4)), max_leaf_size=2) == tree


def test_the_largest_floats_do_no_harm() -> None:
    vectors = np.array([[3e38, 1e38], [1e-40, 3e38], [3e38, -3e38], [1.0, 1e-30]], np.float32)
    assert kmeans_tree(vectors, max_leaf_size=1).n_labels == 4


def test_labels_have_names() -> None:
    assert kmeans_tree([[1.0], [2.0]], labels=["a", "b"]) == LabelTree.flat(["a", "b"])
    assert kmeans_tree([[1.0]], labels=["a"]) == LabelTree([-1], ["a"])
    assert kmeans_tree(np.eye(3)).labels == {1: 0, 2: 1, 3: 2}


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"arity": 1}, "arity=1: expected an integer from 2"),
        ({"max_leaf_size": 0}, "max_leaf_size=0: expected an integer from 1"),
        ({"tolerance": -1.0}, "tolerance=-1.0: expected a number from 0 to 1"),
        ({"max_iterations": 0}, "max_iterations=0"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"random_state": -1}, "random_state=-1"),
        ({"labels": ["a"]}, "labels: there are 1 for 3 embeddings; expected one for each"),
    ],
)
def test_wrong_parameters_are_named(given_: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        kmeans_tree(np.eye(3), **given_)


@pytest.mark.parametrize(
    ("embeddings", "message"),
    [
        ([[1.0], [float("nan")]], "embeddings: row 1, column 0: found NaN"),
        ([1.0, 2.0], "embeddings: Expected 2D array"),
        (np.empty((0, 3)), "embeddings: Found array with 0 sample"),
    ],
)
def test_wrong_embeddings_are_named(embeddings: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        kmeans_tree(embeddings)


def test_labels_without_ends_are_refused() -> None:
    def none(kind: type) -> Any:
        return np.empty(0, kind)

    with pytest.raises(ValueError, match="the labels' arrays do not fit together"):
        _core.label_vectors(
            np.zeros(1, np.int64),
            none(np.uint32),
            none(np.float32),
            4,
            none(np.int64),
            none(np.uint32),
            1,
        )
