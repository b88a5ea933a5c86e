"""Accuracy, entropy reduction and expected depth."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score

from labelgrove import DataError, ParameterError
from labelgrove.metrics import accuracy, binomial_margin, entropy_reduction, expected_depth

LABELS = st.sampled_from(["oak", "elm", "ash"])


@given(st.lists(st.tuples(LABELS, LABELS), min_size=1))
def test_accuracy_agrees_with_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    true, predicted = zip(*pairs, strict=True)
    assert accuracy(true, predicted) == pytest.approx(accuracy_score(true, predicted), abs=1e-15)
    assert accuracy(np.array(true), list(predicted)) == accuracy(true, predicted)


def test_labels_of_another_type_are_other_labels() -> None:
    assert accuracy([1, 2], np.array([1, 3])) == 0.5
    assert accuracy(["1", "2"], [1, 2]) == 0.0


@given(st.lists(st.tuples(LABELS, LABELS), min_size=1))
def test_entropy_reduction_is_the_difference_of_two_logarithms(
    pairs: list[tuple[str, str]],
) -> None:
    true, predicted = zip(*pairs, strict=True)
    right = sum(a == b for a, b in pairs)
    most = max(true.count(label) for label in true)
    expected = math.log2(right / most) if right else -math.inf
    assert entropy_reduction(true, predicted) == pytest.approx(expected, abs=1e-12)


def test_the_constant_predictor_gains_nothing() -> None:
    true = ["oak", "elm", "oak"]
    assert entropy_reduction(true, ["oak"] * 3) == 0.0
    assert entropy_reduction(true, ["oak"] * 3, constant="elm") == pytest.approx(1.0)
    assert entropy_reduction(true, true, constant="yew") == math.inf
    assert math.isnan(entropy_reduction(true, ["ash"] * 3, constant="yew"))


@pytest.mark.parametrize(
    ("true", "predicted", "message"),
    [
        ("oak", ["o", "a", "k"], "y_true: expected a one-dimensional sequence"),
        ([[1]], [1], "y_true: expected a one-dimensional sequence"),
        ([1, 2], [[1], [1, 2]], "y_pred: expected a one-dimensional sequence"),
        ([1, 2], [1], "y_pred has 1 rows: expected 2"),
        ([], [], "y_true has no rows"),
    ],
)
def test_bad_input_is_named(true: Any, predicted: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        accuracy(true, predicted)


def test_expected_depth_is_a_mean() -> None:
    assert expected_depth(np.array([3, 4, 8], dtype=np.int32)) == 5.0
    assert expected_depth([1, 2], interval=0.9).interval is not None


@pytest.mark.parametrize("depth", [[], [[1]], ["a"], [1, -1], [1.0, np.nan]])
def test_bad_depths_are_refused(depth: Any) -> None:
    with pytest.raises(DataError, match="depth"):
        expected_depth(depth)


def test_the_binomial_margin_is_that_of_the_papers() -> None:
    """LOMtree's Table 4: test sets of 780, 962 and 10 800 examples."""
    for percent, n, printed in [(6.36, 780, 1.71), (16.19, 962, 2.33), (83.74, 10_800, 0.70)]:
        assert 100 * binomial_margin(percent / 100, n) == pytest.approx(printed, abs=0.006)
    assert binomial_margin(0.5, 100, level=0.5) == pytest.approx(0.05 * 0.6745, rel=1e-3)
    assert binomial_margin(0, 9) == binomial_margin(1, 9) == 0
    levels = ({"level": level} for level in (0.0, 1.0, "0.9", [0.9, 0.95]))
    for bad in ({"share": 1.5}, {"share": math.nan}, {"n": 0}, *levels):
        with pytest.raises(ParameterError, match=next(iter(bad))):
            binomial_margin(**{"share": 0.5, "n": 9, **bad})
