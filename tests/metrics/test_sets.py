"""Precision, recall, F-measures and Hamming loss agree with scikit-learn."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.sparse import csr_array
from sklearn import metrics as sklearn_metrics

from labelgrove import DataError, ParameterError, metrics

SHAPE = (6, 4)
INDICATORS = arrays.arrays(np.int64, SHAPE, elements=st.integers(0, 1))
AVERAGES = {"macro": "macro", "micro": "micro", "instance": "samples"}


@given(
    INDICATORS,
    INDICATORS,
    st.sampled_from(sorted(AVERAGES)),
    st.sampled_from([0.0, 1.0, float("nan")]),
    st.sampled_from([None, [2], [3, 0]]),
)
def test_agreement_with_scikit_learn(
    true: np.ndarray, predicted: np.ndarray, average: str, zero: float, labels: list[int] | None
) -> None:
    arguments = {"average": average, "labels": labels, "zero_division": zero}
    theirs = arguments | {"average": AVERAGES[average]}
    Y, P = csr_array(true), csr_array(predicted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sklearn_metrics._classification.UndefinedMetricWarning)
        pairs = [
            (metrics.precision(Y, P, **arguments), sklearn_metrics.precision_score),
            (metrics.recall(Y, P, **arguments), sklearn_metrics.recall_score),
            (metrics.f_measure(Y, P, **arguments), sklearn_metrics.f1_score),
        ]
        expected = [score(true, predicted, **theirs) for _, score in pairs]
        expected.append(sklearn_metrics.fbeta_score(true, predicted, beta=2, **theirs))
    found = [value for value, _ in pairs] + [metrics.f_measure(Y, P, beta=2, **arguments)]
    assert found == pytest.approx(expected, abs=1e-15, nan_ok=True)


@given(INDICATORS, INDICATORS)
def test_hamming_loss_agrees_with_scikit_learn(true: np.ndarray, predicted: np.ndarray) -> None:
    found = metrics.hamming_loss(csr_array(true), csr_array(predicted))
    assert found == pytest.approx(sklearn_metrics.hamming_loss(true, predicted), abs=1e-15)
    part = metrics.hamming_loss(csr_array(true), csr_array(predicted), labels=[1, 2])
    expected = sklearn_metrics.hamming_loss(true[:, 1:3], predicted[:, 1:3])
    assert part == pytest.approx(expected, abs=1e-15)


@given(INDICATORS, INDICATORS, st.sampled_from([0.0, 1.0, float("nan")]))
def test_the_summary_gives_what_each_function_gives(
    true: np.ndarray, predicted: np.ndarray, zero: float
) -> None:
    Y, P = csr_array(true), csr_array(predicted)
    expected = {"hamming_loss": metrics.hamming_loss(Y, P)}
    for average in AVERAGES:
        arguments: dict[str, Any] = {"average": average, "zero_division": zero}
        expected[f"{average}_precision"] = metrics.precision(Y, P, **arguments)
        expected[f"{average}_recall"] = metrics.recall(Y, P, **arguments)
        expected[f"{average}_f1"] = metrics.f_measure(Y, P, **arguments)
    found = metrics.set_metrics(Y, P, zero_division=zero)
    assert found == pytest.approx(expected, nan_ok=True)


@given(INDICATORS, arrays.arrays(np.float64, SHAPE, elements=st.floats(0, 1)), st.integers(1, 5))
def test_macro_f_at_k_is_the_macro_f_of_the_first_k(
    true: np.ndarray, scores: np.ndarray, k: int
) -> None:
    top = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    predicted = np.zeros(SHAPE, dtype=np.int64)
    np.put_along_axis(predicted, top, 1, axis=1)
    predicted[scores == 0] = 0
    Y, P, S = map(csr_array, (true, predicted, scores))
    assert metrics.macro_f_at_k(Y, S, k) == metrics.f_measure(Y, P)
    others: dict[str, Any] = {"beta": 2.0, "labels": [3, 0], "zero_division": 1}
    assert metrics.macro_f_at_k(Y, S, k, **others) == metrics.f_measure(Y, P, **others)


def test_the_interval_of_macro_f_at_k_is_that_of_the_first_k() -> None:
    Y, P = (
        csr_array([[1, 0, 1], [0, 1, 0], [1, 1, 0]]),
        csr_array([[1, 0, 1], [1, 1, 0], [0, 1, 1]]),
    )
    S = csr_array([[0.9, 0.1, 0.8], [0.7, 0.6, 0.2], [0.0, 0.4, 0.5]])
    found = metrics.macro_f_at_k(Y, S, 2, interval=0.9)
    assert found.interval == metrics.f_measure(Y, P, interval=0.9).interval


def test_nothing_of_nothing_is_0_if_nothing_is_said() -> None:
    nothing = csr_array((3, 2))
    for metric in (metrics.precision, metrics.recall, metrics.f_measure, metrics.macro_f_at_k):
        assert metric(nothing, nothing) == 0.0
    assert set(metrics.set_metrics(nothing, nothing).values()) == {0.0}
    assert metrics.label_table(nothing, nothing).f1.tolist() == [0.0, 0.0]


def test_a_ranking_is_read_as_a_set() -> None:
    Y = csr_array([[1, 0, 1], [0, 1, 0]])
    P = csr_array([[1, 0, 1], [1, 1, 0]])
    ranking = np.array([[2, 0, -1], [-1, 1, 0]])
    assert metrics.set_metrics(Y, ranking) == metrics.set_metrics(Y, P)
    assert metrics.f_measure(Y, np.array([[-1], [-1]])) == 0.0


def test_sets_of_different_sizes_need_placeholders() -> None:
    with pytest.raises(DataError, match="Y_pred: rows of different lengths; fill missing places"):
        metrics.set_metrics(csr_array([[1, 0], [1, 1]]), [[0], [0, 1]])
    with pytest.raises(DataError, match="Y_pred has 1 rows: expected 2"):
        metrics.set_metrics(csr_array([[1, 0], [1, 1]]), [[0]])


def test_scores_are_not_taken_for_sets() -> None:
    with pytest.raises(DataError, match=r"Y_pred, row 0, column 1: 0.5, expected 0 or 1"):
        metrics.f_measure(csr_array([[1, 0]]), csr_array([[0, 0.5]]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"average": "samples"}, "average='samples': expected one of 'macro', 'micro', 'instance'"),
        ({"beta": 0.0}, "beta=0.0: expected a positive number"),
        ({"labels": [9]}, "labels: id 9 is not one of the 2 columns"),
        ({"zero_division": "warn"}, "zero_division='warn': expected 0, 1 or nan"),
    ],
)
def test_parameters_outside_their_domain_are_refused(
    arguments: dict[str, Any], message: str
) -> None:
    Y = csr_array([[1, 0]])
    with pytest.raises(ParameterError, match=message):
        metrics.f_measure(Y, Y, **arguments)
    with pytest.raises(DataError, match=r"Y_pred has shape \(1, 2\): expected \(1, 3\)"):
        metrics.f_measure(csr_array([[1, 0, 0]]), Y)
