"""The propensity model's parameters and the input it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove import DataError, ParameterError
from labelgrove.metrics import inverse_propensity, psp_at_k
from naive import metrics as naive


@pytest.mark.parametrize(("a", "b"), [(0.55, 1.5), (0.5, 0.4), (0.6, 2.6)])
def test_counts_and_matrix_agree_with_the_formula(a: float, b: float) -> None:
    Y = csr_array(np.random.default_rng(0).integers(0, 2, (40, 5)) * np.array([1, 1, 1, 1, 0]))
    counts = Y.sum(axis=0)
    expected = [naive.inverse_propensity(int(count), 40, a, b) for count in counts]
    assert inverse_propensity(Y, A=a, B=b).tolist() == pytest.approx(expected, rel=1e-14)
    found = inverse_propensity(counts, n_examples=40, A=a, B=b)
    assert found.tolist() == pytest.approx(expected, rel=1e-14)


def test_the_type_of_a_count_costs_no_digits() -> None:
    counts = np.array([0, 1, 10, 100], np.int8)
    q = inverse_propensity(counts, n_examples=np.int8(120))
    assert q.tolist() == inverse_propensity([0, 1, 10, 100], n_examples=120).tolist()


def test_a_label_may_occur_in_every_example() -> None:
    expected = naive.inverse_propensity(9, 9, 0.55, 1.5)
    assert inverse_propensity([9], n_examples=9).tolist() == pytest.approx([expected])


def test_rarer_labels_weigh_more() -> None:
    q = inverse_propensity([0, 1, 10, 100], n_examples=1000)
    assert (np.diff(q) < 0).all()


@pytest.mark.parametrize(
    ("labels", "arguments", "error", "message"),
    [
        ([1, 2], {}, ParameterError, "n_examples is missing"),
        ([1, 2], {"n_examples": 2}, ParameterError, "n_examples=2: expected .* at least 3$"),
        ([1, 2], {"n_examples": True}, ParameterError, "=True: expected .* at least 3$"),
        (
            [1, 2],
            {"n_examples": float("nan")},
            ParameterError,
            "n_examples=nan: expected an integer",
        ),
        ([1, 2], {"n_examples": "9"}, ParameterError, "n_examples='9': expected an integer"),
        ([1, 2], {"n_examples": 9, "A": 0}, ParameterError, "two positive numbers"),
        ([1, 2], {"n_examples": 9, "B": 0}, ParameterError, "two positive numbers"),
        (
            [1, 2],
            {"n_examples": 9, "B": float("nan")},
            ParameterError,
            "B=nan: expected a finite number",
        ),
        ([1, 2], {"n_examples": 9, "A": 1e3}, ParameterError, "A=1000.0, B=1.5: .* smaller"),
        ([1, -2], {"n_examples": 9}, DataError, "label 1 has the negative count -2"),
        ([1, 12], {"n_examples": 9}, DataError, "label 1 occurs 12 times in 9 examples"),
        ([1.5, 2], {"n_examples": 9}, DataError, "one-dimensional array of counts"),
        ([["a"], ["b", "c"]], {}, DataError, "expected a 0/1 SciPy sparse matrix"),
    ],
)
def test_bad_input_is_named(
    labels: Any, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        inverse_propensity(labels, **arguments)


@pytest.mark.parametrize(
    ("q", "message"),
    [
        ([1.0], r"shape \(1,\): expected \(2,\)"),
        ([1.0, 0.0], "0.0 found for label 1 where a positive number"),
        ([np.nan, 1.0], "nan found for label 0"),
    ],
)
def test_weights_that_cannot_be_used_are_named(q: list[float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        psp_at_k(csr_array([[1, 0]]), [[0]], q, 1)


def test_weights_are_numbers() -> None:
    with pytest.raises(ParameterError, match="inverse_propensities: expected numbers"):
        psp_at_k(csr_array([[1, 0]]), [[0]], ["rare", "frequent"], 1)
