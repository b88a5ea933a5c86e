"""Label vectors, against explicit sums."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from labelgrove import DataError, ParameterError
from labelgrove._validation import check_rows
from labelgrove.trees import _embeddings, kmeans_tree, label_embeddings, label_indicator
from labelgrove.trees._embeddings import pifa as vectors_of


def unit(row: list[float]) -> list[float]:
    length = math.sqrt(sum(value * value for value in row))
    return [value / length if length else 0.0 for value in row]


def pifa(X: list[list[float]], Y: list[list[int]]) -> list[list[float]]:
    rows = [unit(row) for row in X]
    vectors = []
    for label in range(len(Y[0])):
        carriers = [row for row, labels in zip(rows, Y, strict=True) if labels[label]]
        vectors.append(unit([sum(column) for column in zip(*carriers, strict=True)] or [0.0] * 3))
    return vectors


@st.composite
def data(draw: st.DrawFn) -> tuple[list[list[float]], list[list[int]]]:
    n, n_labels = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    row = st.lists(st.sampled_from([0.0, 1.0, -2.0, 3.5]), min_size=3, max_size=3)
    X = draw(st.lists(row, min_size=n, max_size=n))
    labels = st.lists(st.integers(0, 1), min_size=n_labels, max_size=n_labels)
    return X, draw(st.lists(labels, min_size=n, max_size=n))


def indicator(Y: list[list[int]]) -> Any:
    """As an array; a single column would be read as one label a row, unless it is sparse."""
    return np.array(Y) if len(Y[0]) > 1 else sp.csr_array(Y)


@settings(max_examples=50)
@given(data())
def test_pifa_is_the_direction_of_the_sum(given_: tuple[Any, Any]) -> None:
    X, Y = given_
    expected = np.array(pifa(X, Y))
    dense = label_embeddings(X, indicator(Y))
    sparse = label_embeddings(sp.csc_matrix(X), sp.coo_array(Y))
    assert isinstance(dense, np.ndarray) and dense.dtype == sparse.dtype == np.float32
    # Where examples cancel out, what is left of them is noise: of any direction, or none.
    sums = np.array(Y).T @ np.array([unit(row) for row in X])
    clear = np.linalg.norm(sums, axis=1) > 1e-5
    np.testing.assert_allclose(dense[clear], expected[clear], atol=1e-5)
    np.testing.assert_allclose(sparse.toarray()[clear], expected[clear], atol=1e-5)
    lengths = np.linalg.norm(dense, axis=1)
    assert ((np.abs(lengths - 1) < 1e-6) | (lengths == 0)).all()
    assert sparse.has_sorted_indices


def test_pifa_is_the_same_for_any_number_of_threads() -> None:
    X = sp.random_array((3000, 50), density=0.2, rng=1, format="csr", dtype=np.float32)
    Y = sp.random_array((3000, 400), density=0.02, rng=2, format="csr")
    rows, examples_of = check_rows(X), sp.csr_array(Y.T)
    one, three = (vectors_of(rows, examples_of, threads) for threads in (1, 3))
    for part in ("indptr", "indices", "data"):
        assert np.array_equal(getattr(one, part), getattr(three, part))


@settings(max_examples=30)
@given(data())
def test_cooccurrence_counts_the_examples_in_common(given_: tuple[Any, Any]) -> None:
    _, Y = given_
    labels = range(len(Y[0]))
    together = [[sum(row[a] * row[b] for row in Y) for b in labels] for a in labels]
    for run in (1, 4, 100):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_embeddings, "_RUN_ENTRIES", run)
            found = label_embeddings(None, indicator(Y), kind="cooccurrence").toarray()
        np.testing.assert_allclose(found, [unit(row) for row in together], rtol=1e-6)


def test_columns_without_entries_cost_nothing() -> None:
    """Hashed text has two billion columns; SciPy's products allocate memory for each."""
    far = 2**31 - 2
    X = sp.csr_array(([3.0, 4.0, 1.0], [5, far, 7], [0, 2, 3]), shape=(2, far + 1))
    Y = sp.csr_array(np.eye(2, dtype=int))
    found = label_embeddings(X, Y)
    assert found.shape == (2, far + 1) and found.indices.tolist() == [5, far, 7]
    assert found.data.tolist() == pytest.approx([0.6, 0.8, 1.0])
    assert kmeans_tree(found, max_leaf_size=1).n_labels == 2
    nothing = label_embeddings(sp.csr_array(X.shape), Y)
    assert nothing.shape == found.shape and nothing.nnz == 0
    assert kmeans_tree(nothing, max_leaf_size=1).n_labels == 2


def test_labels_come_as_fit_takes_them() -> None:
    X = np.array([[3.0, 4.0], [1.0, 0.0], [0.0, 1.0]])
    sets = [["b", "a"], [], ["b"]]
    matrix, names = label_indicator(sets)
    assert names.tolist() == ["b", "a"]
    for Y in (sets, [tuple(row) for row in sets], matrix, matrix.toarray()):
        np.testing.assert_allclose(label_embeddings(X, Y), label_embeddings(X, matrix))
    np.testing.assert_allclose(label_embeddings(X, ["oak", "elm", "oak"])[1], [1.0, 0.0])
    together = label_embeddings(None, sets, kind="cooccurrence")
    assert together.shape == (2, 2) and together.indices.tolist() == [0, 1, 0, 1]
    with pytest.raises(DataError, match="pass an indicator as an array"):
        label_embeddings(X, [[1, 1], [0, 1], [0, 0]])


def test_no_square_overflows_or_vanishes() -> None:
    for size in (1e-30, 1e30):
        X = np.array([[3.0, 4.0], [4.0, 3.0]]) * size
        np.testing.assert_allclose(label_embeddings(X, ["a", "b"]), X / (5 * size), rtol=1e-6)


def test_labels_come_in_any_form() -> None:
    Y, names = label_indicator([["b", "a"], [], ["b"]])
    assert names.tolist() == ["b", "a"] and Y.toarray().tolist() == [[1, 1], [0, 0], [1, 0]]
    Y, names = label_indicator(np.array([30, 10, 30]))
    assert names.tolist() == [30, 10] and Y.toarray().tolist() == [[1, 0], [0, 1], [1, 0]]
    Y, names = label_indicator(np.array([[0, 1, 0], [0, 1, 1]]))
    assert names.tolist() == [0, 1, 2] and Y.toarray().tolist() == [[0, 1, 0], [0, 1, 1]]
    Y, names = label_indicator([])
    assert Y.shape == (0, 0) and names.tolist() == []


@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        ([[1.0]], [[1], [0]], "X has 1 rows and Y has 2"),
        ([[1.0]], np.array([[2, 1]]), "Y, row 0, column 0: 2, expected 0 or 1"),
        ([[float("inf")]], [[1]], "X: row 0, column 0: found inf"),
        ([[1.0]], [["a", 1]], "labels are all strings or all integers"),
    ],
)
def test_wrong_data_are_named(X: Any, Y: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        label_embeddings(X, Y)


def test_wrong_parameters_are_named() -> None:
    with pytest.raises(ParameterError, match="kind='mean': expected one of 'pifa', 'cooccurrence'"):
        label_embeddings([[1.0]], [[1]], kind="mean")
    with pytest.raises(ParameterError, match="X is None: expected the examples"):
        label_embeddings(None, [[1]])


@pytest.mark.parametrize("written", [2**31 - 1, 3, 0])
def test_ids_that_change_after_they_were_checked_lead_nowhere(written: int) -> None:
    """As when another thread writes to the caller's array."""
    X = sp.csr_array(np.eye(4, dtype=np.float32)[[0, 1, 2, 3, 3]])
    X = sp.csr_array(X + sp.csr_array(np.eye(4, dtype=np.float32)[[3, 3, 3, 1, 1]]))
    rows = check_rows(X)
    assert np.shares_memory(rows.ids, X.indices)
    X.indices[0] = written
    indicator, _ = label_indicator([["a"], ["b"], ["a"], ["b"], ["a"]])
    examples_of = sp.csr_array(indicator.T).astype(np.float32)
    if written < 4:
        assert vectors_of(rows, examples_of).shape == (2, 4)
    else:
        with pytest.raises(DataError, match="changed by another thread"):
            vectors_of(rows, examples_of)
