"""Ranking metrics against their definitions, scikit-learn and the XMLRepository's habits."""

from __future__ import annotations

import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix
from sklearn.metrics import ndcg_score

from labelgrove import DataError, ParameterError, metrics
from naive import metrics as naive

N_LABELS = 6
ZEROS = st.sampled_from([0.0, 1.0, float("nan")])

Problem = tuple[list[set[int]], list[dict[int, float]]]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Draw a few rows: true label sets, and scores with many ties."""
    n = draw(st.integers(1, 5))
    labels = st.integers(0, N_LABELS - 1)
    truth = draw(st.lists(st.sets(labels), min_size=n, max_size=n))
    row = st.dictionaries(labels, st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0]))
    return truth, draw(st.lists(row, min_size=n, max_size=n))


def indicator(truth: list[set[int]]) -> csr_array:
    dense = np.zeros((len(truth), N_LABELS))
    for i, labels in enumerate(truth):
        dense[i, sorted(labels)] = 1
    return csr_array(dense)


def score_matrix(scores: list[dict[int, float]]) -> csr_array:
    rows = [i for i, row in enumerate(scores) for _ in row]
    columns = [j for row in scores for j in row]
    values = [value for row in scores for value in row.values()]
    return csr_array((values, (rows, columns)), shape=(len(scores), N_LABELS))


def padded(rankings: list[list[int]], width: int) -> np.ndarray:
    ids = np.full((len(rankings), width), -1, dtype=np.int32)
    for i, ranking in enumerate(rankings):
        ids[i, : len(ranking[:width])] = ranking[:width]
    return ids


def same(found: float, expected: float) -> bool:
    return found == pytest.approx(expected, abs=1e-12, nan_ok=True)


@given(problems(), st.integers(1, 7), ZEROS)
def test_metrics_are_what_their_definitions_say(problem: Problem, k: int, zero: float) -> None:
    truth, scores = problem
    rankings = [naive.ranked(row) for row in scores]
    q = [1.0 + j / 3 for j in range(N_LABELS)]
    expected = {
        f"p@{k}": naive.precision_at(truth, rankings, k),
        f"r@{k}": naive.recall_at(truth, rankings, k, zero),
        f"ndcg@{k}": naive.ndcg_at(truth, rankings, k, zero),
        f"coverage@{k}": naive.coverage_at(truth, rankings, k, zero),
        f"abandonment@{k}": naive.abandonment_at(truth, rankings, k),
        f"psp@{k}": naive.psp_at(truth, rankings, k, q, zero),
        f"psndcg@{k}": naive.psndcg_at(truth, rankings, k, q, zero),
        f"raw_psp@{k}": naive.raw_psp_at(truth, rankings, k, q),
        f"raw_psndcg@{k}": naive.ndcg_at(truth, rankings, k, zero, q),
    }
    Y = indicator(truth)
    for prediction in (score_matrix(scores), padded(rankings, 7)):
        found = metrics.ranking_metrics(
            Y, prediction, [k], inverse_propensities=q, zero_division=zero
        )
        assert found.keys() == expected.keys()
        for name, value in found.items():
            assert same(value, expected[name]), name


@given(problems(), st.sets(st.integers(0, N_LABELS - 1)))
def test_labels_restrict_what_counts_as_relevant(problem: Problem, labels: set[int]) -> None:
    truth, scores = problem
    rankings = padded([naive.ranked(row) for row in scores], 3)
    kept = [row & labels for row in truth]
    found = metrics.ranking_metrics(indicator(truth), rankings, [1, 3], labels=sorted(labels))
    assert found == metrics.ranking_metrics(indicator(kept), rankings, [1, 3])


SINGLE: dict[str, Callable[..., float]] = {
    "p": metrics.precision_at_k,
    "r": metrics.recall_at_k,
    "ndcg": metrics.ndcg_at_k,
    "coverage": metrics.coverage_at_k,
    "abandonment": metrics.abandonment_at_k,
    "psp": metrics.psp_at_k,
    "psndcg": metrics.psndcg_at_k,
    "raw_psp": metrics.raw_psp_at_k,
    "raw_psndcg": metrics.raw_psndcg_at_k,
}


@pytest.mark.parametrize("name", SINGLE)
def test_each_function_gives_what_the_summary_gives(name: str) -> None:
    random = np.random.default_rng(0)
    Y = csr_array((random.random((60, N_LABELS)) < 0.2).astype(int))
    scores = csr_array(random.random((60, N_LABELS)))
    q = random.random(N_LABELS) + 1
    extra = (q,) if "ps" in name else ()
    without_zero = ("p", "abandonment", "raw_psp")
    variants: list[dict[str, Any]] = [{}, {"labels": [1, 4]}]
    if name not in without_zero:
        variants.append({"zero_division": 1})
        with pytest.raises(ParameterError, match=r"zero_division=0\.5"):
            SINGLE[name](Y, scores, *extra, zero_division=0.5)
    for truth in (Y, csr_array(Y.shape)):
        for options in variants:
            summary = metrics.ranking_metrics(
                truth, scores, [2, 4, 5], inverse_propensities=q, **options
            )
            for k in (2, 4):
                assert SINGLE[name](truth, scores, *extra, k=k, **options) == summary[f"{name}@{k}"]
            assert SINGLE[name](truth, scores, *extra, **options) == summary[f"{name}@5"]


def test_ndcg_agrees_with_scikit_learn() -> None:
    random = np.random.default_rng(1)
    dense = random.integers(0, 2, (30, 8))
    dense[:, 0] = 1  # scikit-learn treats rows without labels differently
    scores = random.random((30, 8))
    for k in (1, 3, 5, 8):
        found = metrics.ndcg_at_k(csr_array(dense), csr_array(scores), k)
        assert found == pytest.approx(ndcg_score(dense, scores, k=k), abs=1e-14)


def test_rows_without_labels_count_as_misses_by_default() -> None:
    Y = csr_array([[1, 0], [0, 0]])
    found = metrics.ranking_metrics(Y, [[0, 1], [0, 1]], [1])
    assert found == {"p@1": 0.5, "r@1": 0.5, "ndcg@1": 0.5, "coverage@1": 1, "abandonment@1": 0.5}


def test_parts_of_the_labels_add_up_to_the_whole_precision() -> None:
    random = np.random.default_rng(2)
    Y = csr_array(random.integers(0, 2, (50, N_LABELS)))
    scores = csr_array(random.random((50, N_LABELS)))
    split = metrics.frequency_split(Y)
    parts = [
        metrics.precision_at_k(Y, scores, 3, labels=part)
        for part in (split.head, split.torso, split.tail)
    ]
    assert sum(parts) == pytest.approx(metrics.precision_at_k(Y, scores, 3))


def test_the_callers_matrices_are_left_alone() -> None:
    unsorted = csr_array((np.array([1.0, 1.0]), np.array([2, 0]), np.array([0, 2])), shape=(1, 3))
    scores = csr_array((np.array([0.5, 0.25]), np.array([1, 1]), np.array([0, 2])), shape=(1, 3))
    metrics.precision_at_k(unsorted, scores, 1)
    assert unsorted.indices.tolist() == [2, 0]
    assert scores.data.tolist() == [0.5, 0.25]


def test_scores_may_be_in_any_order_and_in_parts() -> None:
    columns, values = np.array([2, 0, 1, 0]), np.array([0.5, 0.25, 0.5, 0.5])
    scores = csr_array((values, columns, np.array([0, 4])), shape=(1, 3))
    found = [metrics.precision_at_k(csr_array(row), scores, 2) for row in np.eye(3)[:, np.newaxis]]
    assert found == [0.5, 0.5, 0]  # 0.75 in column 0, and a tie


@pytest.mark.parametrize("kind", [csr_array, csr_matrix, lambda m: csr_array(m).tocsc()])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.float32, np.uint64])
def test_any_sparse_kind_and_number_type_will_do(kind: Any, dtype: Any) -> None:
    Y = kind(np.array([[1, 0, 1], [0, 1, 0]], dtype=dtype))
    assert metrics.precision_at_k(Y, Y, 1) == 1.0
    assert metrics.precision_at_k(Y, np.array([[2], [1]], dtype=np.uint8), 1) == 1.0


GOOD_Y = csr_array([[1, 0, 1], [0, 1, 0]])


@pytest.mark.parametrize(
    ("Y_true", "prediction", "message"),
    [
        (np.eye(2), [[0], [1]], "Y_true is a ndarray: expected a SciPy sparse matrix"),
        (csr_array((0, 3)), [[0]], "Y_true has shape (0, 3): there is nothing to measure"),
        (csr_array([[1, 2]]), [[0]], "Y_true, row 0, column 1: 2, expected 0 or 1"),
        (csr_array([[0, np.nan]]), [[0]], "Y_true, row 0, column 1: nan, expected 0 or 1"),
        (GOOD_Y, csr_array([[0, 0, 1.0]]), "prediction has shape (1, 3): expected (2, 3)"),
        (GOOD_Y, csr_array([[0, 0, 1], [0, np.inf, 0]]), "prediction, row 1, column 1: inf"),
        (GOOD_Y, csr_array([[0, 0, 1j], [0, 1, 0]]), "prediction holds values of type complex128"),
        (GOOD_Y, [[0.5, 0.1], [0.2, 0.1]], "type float64: expected integer label ids"),
        ([["a"], ["b", "c"]], [[0], [1]], "of lists of labels, MultiLabelBinarizer("),
        (GOOD_Y, [["a"], ["b"]], "such as predict_proba(X, top_k=k)"),
        (GOOD_Y, [0, 1], "prediction is an array of shape (2,)"),
        (GOOD_Y, [[0], [1, 2]], "prediction: rows of different lengths"),
        (GOOD_Y, [[0]], "prediction has 1 rows: expected 2"),
        (GOOD_Y, [[0], [3]], "prediction, row 1, place 0: label id 3 found"),
        (GOOD_Y, [[0], [-2]], "prediction, row 1, place 0: label id -2 found"),
        (GOOD_Y, np.zeros((2, 0), dtype=int), "prediction has 0 places per row: expected at least"),
    ],
)
def test_bad_input_is_named(Y_true: Any, prediction: Any, message: str) -> None:
    with pytest.raises(DataError) as caught:
        metrics.precision_at_k(Y_true, prediction, 1)
    assert message in str(caught.value)


def test_a_label_ranked_twice_is_an_error_but_missing_places_may_repeat() -> None:
    with pytest.raises(DataError, match="row 1: label id 2 occurs twice"):
        metrics.precision_at_k(GOOD_Y, [[0, 1, 2], [2, 0, 2]], 3)
    assert metrics.precision_at_k(GOOD_Y, [[-1, -1, 0], [1, -1, -1]], 3) == pytest.approx(1 / 3)


def test_columns_beyond_the_matrix_are_an_error_not_a_crash() -> None:
    broken = csr_array((np.ones(1), np.array([0]), np.array([0, 1, 1])), shape=(2, 3))
    broken.indices = np.array([7])
    with pytest.raises(
        DataError, match="Y_true is damaged: it stores an entry in column 7 and has 3"
    ):
        metrics.precision_at_k(broken, [[0], [0]], 1)


@pytest.mark.parametrize("kind", [csr_array, csc_array, coo_array])
def test_scores_beyond_the_matrix_are_an_error_not_a_crash(kind: Any) -> None:
    scores = kind(np.ones((2, 3)))
    (scores.indices if hasattr(scores, "indices") else scores.col)[1] = 100
    with pytest.raises(DataError, match=r"prediction is damaged: it stores an entry in .* 100"):
        metrics.precision_at_k(GOOD_Y, scores, 1)


@pytest.mark.parametrize("kind", [csr_array, csc_array])
def test_scores_whose_indptr_is_damaged_are_an_error_not_a_crash(kind: Any) -> None:
    scores = kind(np.ones((2, 3)))
    scores.indptr[1] = 10**8
    with pytest.raises(DataError, match="prediction is damaged: its indptr falls at 1"):
        metrics.precision_at_k(GOOD_Y, scores, 1)


def test_what_lies_behind_the_last_row_is_ignored() -> None:
    scores = csr_array(np.array([[0.0, 0.5, 0.0], [0.9, 0.0, 0.0]]))
    scores.data = np.append(scores.data, np.nan)
    scores.indices = np.append(scores.indices, 100).astype(np.int32)
    assert metrics.precision_at_k(GOOD_Y, scores, 1) == metrics.precision_at_k(
        GOOD_Y, [[1], [0]], 1
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"k": 1.5},
        {"labels": [3]},
        {"labels": [0, 0]},
        {"labels": [[0]]},
        {"zero_division": 0.5},
        {"interval": 1.5},
    ],
)
def test_parameters_outside_their_domain_are_refused(wrong: dict[str, Any]) -> None:
    arguments = {"k": 1} | wrong
    with pytest.raises(ParameterError, match=r"k=|labels|zero_division=|level="):
        metrics.recall_at_k(GOOD_Y, [[0], [1]], **arguments)


def test_no_places_at_all_is_refused() -> None:
    with pytest.raises(ParameterError, match="ks is empty"):
        metrics.ranking_metrics(GOOD_Y, [[0], [1]], [])


def _read_labels(path: Path) -> csr_array:
    """Read a file of rows "label:1 label:1", whose first line gives the shape."""
    with lzma.open(path, "rt") as lines:
        n, n_labels = map(int, next(lines).split())
        rows = [[int(entry.split(":")[0]) for entry in line.split()] for line in lines]
    assert len(rows) == n
    indptr = np.concatenate(([0], np.cumsum([len(row) for row in rows])))
    indices = np.concatenate([np.array(row, dtype=np.int64) for row in rows])
    return csr_array((np.ones(indices.size), indices, indptr), shape=(n, n_labels))


@pytest.mark.data
def test_inverse_propensities_are_the_official_ones(data_folder: Path) -> None:
    folder = data_folder / "eurlex4k-labels-only"
    with lzma.open(folder / "inv_prop.txt.xz", "rt") as lines:
        official = np.array([float(line) for line in lines])
    found = metrics.inverse_propensity(_read_labels(folder / "trn_X_Y.txt.xz"))
    assert found.shape == official.shape
    assert [float(f"{value:.5g}") for value in found] == official.tolist()  # as they were written


@pytest.mark.data
def test_a_real_label_matrix_is_measured_as_the_definitions_say(data_folder: Path) -> None:
    folder = data_folder / "eurlex4k-labels-only"
    Y = _read_labels(folder / "tst_X_Y.txt.xz")
    q = metrics.inverse_propensity(_read_labels(folder / "trn_X_Y.txt.xz"))
    random = np.random.default_rng(3)
    own = [row.indices for row in Y]
    rankings = np.array(
        [random.permutation(np.unique(np.concatenate((y[:3], np.arange(5)))))[:5] for y in own]
    )
    truth, lists = [set(y.tolist()) for y in own], rankings.tolist()
    found = metrics.ranking_metrics(Y, rankings, [1, 5], inverse_propensities=q)
    assert same(found["p@5"], naive.precision_at(truth, lists, 5))
    assert same(found["ndcg@5"], naive.ndcg_at(truth, lists, 5, 0.0))
    assert same(found["psp@1"], naive.psp_at(truth, lists, 1, q.tolist(), 0.0))
    assert same(found["psp@5"], naive.psp_at(truth, lists, 5, q.tolist(), 0.0))
    assert same(found["psndcg@5"], naive.psndcg_at(truth, lists, 5, q.tolist(), 0.0))
