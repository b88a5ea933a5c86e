"""Labels and scores are read in every form, checked, and split into pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from labelgrove import DataError, ParameterError
from labelgrove.tuning import Thresholds, label_priors, lower_bounds, tune_fta, tune_ofo
from labelgrove.tuning._pairs import best_of_rows, grouped, read_pairs
from naive import thresholds as twins
from tuning.problems import Problem, problems


@given(problems(), st.integers(1, 12), st.sampled_from(["csr", "csc", "coo", "lil"]))
def test_every_pair_comes_once_in_order_of_row(problem: Problem, chunk: int, kind: str) -> None:
    Y = sparse.csr_array(problem.Y).asformat(kind)
    scores = sparse.csr_array(problem.scores).asformat(kind)
    runs, n, m = read_pairs(Y, scores, chunk=chunk)
    truth, found = np.zeros((n, m), np.int8), np.zeros((n, m))
    next_row = 0
    for pairs in runs:
        assert pairs.first_row == next_row
        next_row += pairs.n_rows
        assert (np.diff(pairs.row) >= 0).all()
        assert ((pairs.row >= pairs.first_row) & (pairs.row < next_row)).all()
        assert not (truth[pairs.row, pairs.label] | (found[pairs.row, pairs.label] > 0)).any()
        truth[pairs.row, pairs.label] = pairs.truth
        found[pairs.row, pairs.label] = pairs.score
    assert next_row == n
    assert np.array_equal(truth, problem.Y)
    assert np.array_equal(found, problem.scores)


def test_unsorted_repeated_and_zero_entries() -> None:
    scores = sparse.csr_array(
        (np.array([0.25, 0.5, 0.25, 0.0]), np.array([1, 0, 1, 2]), np.array([0, 4])), shape=(1, 3)
    )
    (pairs,) = read_pairs(np.array([[0, 0, 1]]), scores)[0]
    assert pairs.label.tolist() == [0, 1, 2]
    assert pairs.score.tolist() == [0.5, 0.5, 0.0]
    assert scores.indices.tolist() == [1, 0, 1, 2]
    twice = sparse.csr_array((np.array([0.25, 0.5]), np.array([0, 0]), np.array([0, 2])), (1, 1))
    (pairs,) = read_pairs(np.array([[0]]), twice)[0]
    assert pairs.score.tolist() == [0.75]
    twice.data[:] = [1.5, -0.75]
    assert next(read_pairs(np.array([[0]]), twice)[0]).score.tolist() == [0.75]
    twice.data[:] = 0.75
    with pytest.raises(DataError, match=r"scores, row 0, column 0: 1\.5 found"):
        read_pairs(np.array([[0]]), twice)


def test_scores_of_any_number_type() -> None:
    Y = [[1, 0], [0, 1]]
    for dtype in (np.float32, np.float16, np.int64, np.bool_):
        tuned = tune_ofo(Y, np.array(Y, dtype), a=1, b=4)
        assert tuned.score == 1.0
    assert tune_ofo([[1]], np.float32([[1 + 1e-7]])).score == 1.0  # 1, but for rounding


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([[0.5, 1.5]], "scores, row 0, column 1: 1.5 found where a probability from 0 to 1"),
        ([[0.5, -0.5]], "scores, row 0, column 1: -0.5 found"),
        ([[float("nan"), 0]], "scores, row 0, column 0: nan found"),
        ([[0.5]], r"scores has shape (1, 1): expected (1, 2), as Y has"),
        ([0.5, 0.5], "scores has 1 dimension(s): expected a matrix (n, m)"),
        ([[0.5], [0.5, 0.5]], "scores has rows of different lengths: expected a matrix"),
        ([["a", "b"]], "scores holds values of type <U1: expected numbers"),
    ],
)
def test_scores_that_cannot_be(scores: Any, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read_pairs([[0, 1]], scores)
    assert message in str(caught.value)


def test_damaged_matrices_are_named() -> None:
    damaged = sparse.csr_array(np.array([[0.5, 0.5]]))
    damaged.indices[1] = 7
    with pytest.raises(
        DataError, match="scores is damaged: it stores an entry in column 7 and has 2"
    ):
        read_pairs([[0, 1]], damaged)
    with pytest.raises(DataError, match="Y, row 0, column 1: 2, expected 0 or 1"):
        read_pairs([[0, 2]], [[0.5, 0.5]])
    with pytest.raises(DataError, match="scores has 1 dimension"):
        read_pairs([[0, 1]], sparse.coo_array([0.5, 0.5]))


@given(st.lists(st.integers(0, 5)))
def test_grouping_is_a_stable_sort(groups: list[int]) -> None:
    order, starts = grouped(np.array(groups, np.int64), 6)
    assert order.tolist() == np.argsort(groups, kind="stable").tolist()
    assert starts.tolist() == [sum(g < j for g in groups) for j in range(7)]


def test_bounds() -> None:
    assert label_priors(sparse.csr_array([[1, 0, 0], [1, 1, 0]])).tolist() == [1.0, 0.5, 0.0]
    nothing = np.zeros((0, 2))
    assert label_priors(nothing).tolist() == [0.0, 0.0]
    assert tune_fta(nothing, nothing).values.tolist() == [0.5, 0.5]
    assert lower_bounds([1.0, 0.0]).tolist() == [0.5, 0.0]
    assert lower_bounds([1.0, 0.0], c=2).tolist() == [0.5, 0.5]
    for wrong in (1, 0, float("nan"), float("inf"), "2", True):
        with pytest.raises(ParameterError, match="c="):
            lower_bounds([0.5], c=wrong)  # type: ignore[arg-type]
    for prior in (1.5, -0.5):
        with pytest.raises(ParameterError, match="priors: expected probabilities"):
            lower_bounds([prior])
    assert tune_fta([[1]], [[0.2]], thresholds=[0.1]).values == pytest.approx([0.5])  # one row
    assert tune_fta(np.zeros((2, 0)), np.zeros((2, 0)), average="micro").values.size == 0


@given(problems(), st.integers(0, 3))
def test_the_best_of_a_row_are_predicted_below_their_thresholds(problem: Problem, k: int) -> None:
    rows, columns = np.nonzero(problem.scores)
    mixed = np.random.default_rng(k).permutation(len(rows))
    order = mixed[np.argsort(columns[mixed], kind="stable")]  # sorted by column alone
    rows, columns = rows[order], columns[order]
    found = np.zeros(problem.scores.shape, int)
    found[rows, columns] = best_of_rows(rows, problem.scores[rows, columns], k)
    nothing = np.zeros_like(found).tolist()
    assert found.tolist() == twins.with_best(nothing, problem.scores.tolist(), k)
    taus = [0.4] * problem.Y.shape[1]
    thresholds = Thresholds(np.array(taus), 0.4, "sto", "macro", 0.0, least_labels=k)
    expected = twins.with_best(
        twins.predict(problem.scores.tolist(), taus), problem.scores.tolist(), k
    )
    for scores in (problem.scores, sparse.csr_array(problem.scores)):
        assert thresholds.apply(scores).toarray().tolist() == expected


def test_applying_thresholds() -> None:
    thresholds = Thresholds(np.array([0.5, 0.0]), 0.5, "sto", "macro", 0.0)
    scores = np.array([[0.5, 0.0], [0.49, 0.1]])
    predicted = thresholds.apply(sparse.csr_array(scores))
    assert predicted.dtype == np.int8
    assert predicted.toarray().tolist() == [[1, 0], [0, 1]]
    assert thresholds.apply(scores).toarray().tolist() == [[1, 0], [0, 1]]
    # 32-bit scores are compared as they are, not with rounded thresholds.
    third = Thresholds(np.array([1 / 3]), 0.5, "sto", "macro", 0.0)
    assert third.apply(np.array([[np.float32(1 / 3)]])).nnz == int(np.float32(1 / 3) >= 1 / 3)
    with pytest.raises(DataError, match=r"scores has shape \(2, 2\): expected 1 columns"):
        third.apply(scores)
    for values, found in (([0.5, np.nan], "NaN"), ([[0.5]], "an array of 2 dimensions")):
        with pytest.raises(ParameterError, match=f"thresholds: found {found}; expected one number"):
            Thresholds(np.array(values), 0.5, "sto", "macro", 0.0)
    with pytest.raises(ParameterError, match="thresholds: score='0.5': expected a float"):
        Thresholds(np.array([0.5]), 0.5, "sto", "macro", "0.5")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="thresholds: method=7: expected its name"):
        Thresholds(np.array([0.5]), 0.5, 7, "macro", 0.5)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="thresholds: least_labels=-1: expected an integer"):
        Thresholds(np.array([0.5]), 0.5, "sto", "macro", 0.5, least_labels=-1)
    listed = Thresholds([0, 1], 0, "sto", "macro", 0.5)  # type: ignore[arg-type]
    assert listed.apply([[0.5, 0.9], [0.0, 1.0]]).toarray().tolist() == [[1, 0], [0, 1]]
