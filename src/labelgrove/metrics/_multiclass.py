"""Metrics for examples that have exactly one label."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable
from statistics import NormalDist
from typing import Any

import numpy as np

from labelgrove._errors import DataError, ParameterError, brief
from labelgrove._parameters import integer, number_from, real
from labelgrove.metrics._score import Interval, Score, estimate, mean_of


def accuracy(y_true: Any, y_pred: Any, *, interval: Interval = None) -> Score:
    """Share of examples whose predicted label is the true one.

    Parameters
    ----------
    y_true, y_pred : sequence or array (n_rows,)
        One label per row: strings or integers.
    interval : float or Bootstrap, optional
        Level of a bootstrap interval over rows, kept in the result's ``interval``.

    Returns
    -------
    Score
        A float in [0, 1].

    Raises
    ------
    DataError
        When the two are not one-dimensional, of equal length, and non-empty.
    ParameterError
        When `interval` lies outside its domain.

    Examples
    --------
    >>> accuracy(["rose", "oak", "oak", "elm"], ["rose", "oak", "elm", "elm"])
    0.75
    """
    true, predicted = _label_pairs(y_true, y_pred)
    right = np.array([a == b for a, b in zip(true, predicted, strict=True)], dtype=np.float64)
    return estimate(mean_of(right), right.size, interval)


def entropy_reduction(
    y_true: Any,
    y_pred: Any,
    *,
    constant: Hashable | None = None,
    interval: Interval = None,
) -> Score:
    """Bits gained over a constant predictor: log2(Acc) - log2(Acc_const).

    This is the measure of Section 5.2 of Jasinska-Kobus et al. (2021). Acc_const is the accuracy
    of a predictor that always returns the same label.

    Parameters
    ----------
    y_true, y_pred : sequence or array (n_rows,)
        One label per row: strings or integers.
    constant : label, optional
        The label that the constant predictor returns. Default: the most frequent label of
        `y_true`, the best possible constant.
    interval : float or Bootstrap, optional
        As for `accuracy`; the constant is the same in all resamples.

    Returns
    -------
    Score
        0 for the constant predictor itself; at most log2 of the number of classes if these are
        balanced; minus infinity if no prediction is right.

    Raises
    ------
    DataError, ParameterError
        As for `accuracy`.

    Examples
    --------
    >>> entropy_reduction(["a", "b", "c", "a"], ["a", "b", "c", "a"])
    1.0
    """
    true, predicted = _label_pairs(y_true, y_pred)
    answer = Counter(true).most_common(1)[0][0] if constant is None else constant
    right = np.array([a == b for a, b in zip(true, predicted, strict=True)], dtype=np.float64)
    accuracy_of = mean_of(right)
    constant_accuracy_of = mean_of(np.array([a == answer for a in true], dtype=np.float64))
    return estimate(
        lambda weight: log2_ratio(accuracy_of(weight), constant_accuracy_of(weight)),
        right.size,
        interval,
    )


def binomial_margin(share: float, n: int, *, level: float = 0.95) -> float:
    """Half the width of the symmetric binomial interval of a share, the figure papers put after ±.

    Parameters
    ----------
    share : float
        A share of the examples, such as the test error, in [0, 1].
    n : int
        Number of examples it was measured on.
    level : float, default=0.95
        Confidence level of the interval.

    Returns
    -------
    float
        z √(share (1 - share) / n), where z is the two-sided normal quantile of `level`.

    Raises
    ------
    ParameterError
        When `share`, `n` or `level` lies outside its domain.

    Examples
    --------
    >>> f"16.50 ± {100 * binomial_margin(0.165, 10_800):.2f}"
    '16.50 ± 0.70'
    """
    share = real("share", share, 0.0, 1.0)
    if not 0 < number_from(level) < 1:
        raise ParameterError(f"level={brief(level)}: expected a number between 0 and 1")
    quantile = NormalDist().inv_cdf((1 + level) / 2)
    return quantile * math.sqrt(share * (1 - share) / integer("n", n, 1))


def log2_ratio(above: float, below: float) -> float:
    """Return log2(above) - log2(below) for numbers of 0 or more, in the extended reals."""
    if above == 0.0:
        return -math.inf if below > 0.0 else math.nan
    return math.log2(above) - math.log2(below) if below > 0.0 else math.inf


def _label_pairs(y_true: Any, y_pred: Any) -> tuple[list[Any], list[Any]]:
    true, predicted = _one_dimension(y_true, "y_true"), _one_dimension(y_pred, "y_pred")
    if len(true) != len(predicted):
        raise DataError(f"y_pred has {len(predicted)} rows: expected {len(true)}, as y_true has")
    if not true:
        raise DataError("y_true has no rows: there is nothing to measure")
    return true, predicted


def _one_dimension(labels: Any, name: str) -> list[Any]:
    try:
        flat = not isinstance(labels, str | bytes) and np.ndim(labels) == 1
    except ValueError:  # entries of different lengths
        flat = False
    if not flat:
        raise DataError(f"{name}: expected a one-dimensional sequence, one label per row")
    values: list[Any] = np.asarray(labels, dtype=object).tolist()
    return values
