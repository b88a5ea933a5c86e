"""Metrics of predicted label sets, from counts of right, wrong and missed labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from labelgrove._errors import ParameterError, brief
from labelgrove._parameters import choice, finite, integer
from labelgrove.metrics._inputs import (
    IntArray,
    as_indicator,
    as_ranking,
    as_sets,
    label_ids,
    ranking_indicator,
    restrict,
)
from labelgrove.metrics._score import (
    Finish,
    FloatArray,
    Interval,
    Score,
    check_zero_division,
    divide,
    estimate,
    mean_of,
)

AVERAGES = ("macro", "micro", "instance")


class Counts(NamedTuple):
    """Sizes of the true sets, the predicted sets and their intersections."""

    true: FloatArray
    predicted: FloatArray
    common: FloatArray


@dataclass(frozen=True)
class Overlap:
    """True sets, predicted sets and their intersection, each a 0/1 CSR of shape (n, L)."""

    truth: csr_array
    predicted: csr_array
    common: csr_array
    columns: IntArray | None  # those that count, None for all; the matrices hold no others

    @property
    def n_rows(self) -> int:
        return int(self.truth.shape[0])

    @property
    def n_labels(self) -> int:
        """Number of columns that count."""
        return int(self.truth.shape[1] if self.columns is None else self.columns.size)

    def by_row(self) -> Counts:
        """Count within every row; arrays of shape (n,)."""
        return self._count(lambda sets: np.diff(sets.indptr).astype(np.float64))

    def by_label(self, weight: FloatArray | None = None) -> Counts:
        """Count by label over weighted rows, in `columns` only; arrays of shape (n_labels,)."""
        return self._count(lambda sets: self._label_totals(sets, weight))

    def in_all(self, weight: FloatArray | None = None) -> Counts:
        """Count over all pairs of weighted rows and labels; arrays of shape (1,)."""
        if weight is None:
            weight = np.ones(self.n_rows)
        return Counts(*(np.atleast_1d(weight @ part) for part in self.by_row()))

    def _label_totals(self, sets: csr_array, weight: FloatArray | None) -> FloatArray:
        of_entry = None if weight is None else np.repeat(weight, np.diff(sets.indptr))
        totals = np.bincount(sets.indices, of_entry, minlength=sets.shape[1]).astype(np.float64)
        return totals if self.columns is None else totals[self.columns]

    def _count(self, totals: Any) -> Counts:
        return Counts(totals(self.truth), totals(self.predicted), totals(self.common))


def compare(Y_true: Any, Y_pred: Any, labels: npt.ArrayLike | None = None) -> Overlap:
    """Check the input and intersect the label sets row by row, on the given columns only."""
    truth = as_indicator(Y_true, "Y_true")
    predicted = as_sets(Y_pred, truth.shape)
    columns = label_ids(labels, truth.shape[1])
    truth, predicted = restrict(truth, columns), restrict(predicted, columns)
    return Overlap(truth, predicted, csr_array(truth.multiply(predicted)), columns)


def precision(
    Y_true: Any,
    Y_pred: Any,
    *,
    average: str = "macro",
    labels: npt.ArrayLike | None = None,
    zero_division: float = 0.0,
    interval: Interval = None,
) -> Score:
    """Share of the predicted labels that are right: TP / (TP + FP).

    Parameters
    ----------
    Y_true : sparse matrix (n_rows, n_labels)
        True labels, 0/1.
    Y_pred : sparse matrix (n_rows, n_labels) or integer array (n_rows, k)
        Predicted labels, 0/1; or label ids, -1 in missing places, read as sets.
    average : {"macro", "micro", "instance"}, default="macro"
        Mean over labels; one ratio over all (row, label) pairs; mean over rows.
    labels : array of column ids, optional
        Measure on these columns only; the macro average is over them alone.
    zero_division : {0, 1, nan}, default=0
        Value of 0/0, for a label or row without predictions. nan excludes it from the mean.
    interval : float or Bootstrap, optional
        Level of a bootstrap interval over rows, kept in the result's ``interval``.

    Returns
    -------
    Score
        A float in [0, 1].

    Raises
    ------
    DataError
        When `Y_true` or `Y_pred` cannot be used; the message names the row.
    ParameterError
        When another parameter lies outside its domain.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> Y_true, Y_pred = csr_array([[1, 0], [1, 1]]), csr_array([[1, 1], [1, 0]])
    >>> precision(Y_true, Y_pred, average="micro"), precision(Y_true, Y_pred)
    (0.6666666666666666, 0.5)
    """
    overlap = compare(Y_true, Y_pred, labels)
    finish = averaged_finish(overlap, average, "precision", zero_division)
    return estimate(finish, overlap.n_rows, interval)


def recall(
    Y_true: Any,
    Y_pred: Any,
    *,
    average: str = "macro",
    labels: npt.ArrayLike | None = None,
    zero_division: float = 0.0,
    interval: Interval = None,
) -> Score:
    """Share of the true labels that are predicted: TP / (TP + FN).

    Parameters
    ----------
    Y_true, Y_pred, average, labels, interval
        As for `precision`.
    zero_division : {0, 1, nan}, default=0
        Value of 0/0, for a label or row without true labels. nan excludes it from the mean.

    Returns
    -------
    Score
        A float in [0, 1].

    Raises
    ------
    DataError, ParameterError
        As for `precision`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> recall(csr_array([[1, 0], [1, 1]]), csr_array([[1, 1], [1, 0]]), average="instance")
    0.75
    """
    overlap = compare(Y_true, Y_pred, labels)
    finish = averaged_finish(overlap, average, "recall", zero_division)
    return estimate(finish, overlap.n_rows, interval)


def f_measure(
    Y_true: Any,
    Y_pred: Any,
    *,
    average: str = "macro",
    beta: float = 1.0,
    labels: npt.ArrayLike | None = None,
    zero_division: float = 0.0,
    interval: Interval = None,
) -> Score:
    """F-measure: (1 + beta²) TP / ((1 + beta²) TP + beta² FN + FP).

    The macro average is the mean of the labels' own F-measures (Equation 1 of Jasinska et al.
    2016), not the F-measure of averaged precision and recall. That paper's tables use
    ``zero_division=1``: a label that is never true and never predicted scores 1.

    Parameters
    ----------
    Y_true, Y_pred, average, labels, interval
        As for `precision`.
    beta : float, default=1.0
        Weight of recall relative to precision.
    zero_division : {0, 1, nan}, default=0
        Value of 0/0, for a label or row with neither true nor predicted labels. nan excludes it
        from the mean.

    Returns
    -------
    Score
        A float in [0, 1].

    Raises
    ------
    DataError, ParameterError
        As for `precision`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> Y_true, Y_pred = csr_array([[1, 0, 0], [1, 1, 0]]), csr_array([[1, 1, 0], [1, 0, 0]])
    >>> f_measure(Y_true, Y_pred, zero_division=1), f_measure(Y_true, Y_pred, zero_division=0)
    (0.6666666666666666, 0.3333333333333333)
    """
    overlap = compare(Y_true, Y_pred, labels)
    finish = averaged_finish(overlap, average, "f", zero_division, beta)
    return estimate(finish, overlap.n_rows, interval)


def macro_f_at_k(
    Y_true: Any,
    prediction: Any,
    k: int = 5,
    *,
    beta: float = 1.0,
    labels: npt.ArrayLike | None = None,
    zero_division: float = 0.0,
    interval: Interval = None,
) -> Score:
    """Macro F-measure when the first `k` labels of every ranking are predicted (macro-F@k).

    Parameters
    ----------
    Y_true : sparse matrix (n_rows, n_labels)
        True labels, 0/1.
    prediction : integer array (n_rows, at least k) or sparse matrix (n_rows, n_labels)
        Ranked label ids, best first, -1 in missing places; or scores: ties go to the smaller
        column, and a zero is not a prediction.
    k : int, default=5
        Number of places.
    beta, labels, zero_division, interval
        As for `f_measure`.

    Returns
    -------
    Score
        A float in [0, 1].

    Raises
    ------
    DataError, ParameterError
        As for `precision`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> macro_f_at_k(csr_array([[1, 0], [1, 1]]), csr_array([[0.9, 0.2], [0.3, 0.6]]), k=1)
    0.8333333333333333
    """
    truth = as_indicator(Y_true, "Y_true")
    ids = as_ranking(prediction, truth.shape, integer("k", k, 1))
    predicted = ranking_indicator(ids, truth.shape[1])
    return f_measure(
        truth, predicted, beta=beta, labels=labels, zero_division=zero_division, interval=interval
    )


def hamming_loss(
    Y_true: Any,
    Y_pred: Any,
    *,
    labels: npt.ArrayLike | None = None,
    interval: Interval = None,
) -> Score:
    """Share of all (row, label) pairs that are wrong: (FP + FN) / (n_rows · n_labels).

    Parameters
    ----------
    Y_true, Y_pred, labels, interval
        As for `precision`.

    Returns
    -------
    Score
        A float in [0, 1]; lower is better.

    Raises
    ------
    DataError, ParameterError
        As for `precision`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> hamming_loss(csr_array([[1, 0], [1, 1]]), csr_array([[1, 1], [1, 0]]))
    0.5
    """
    overlap = compare(Y_true, Y_pred, labels)
    return estimate(hamming_finish(overlap), overlap.n_rows, interval)


def averaged_finish(
    overlap: Overlap, average: str, kind: str, zero_division: float, beta: float = 1.0
) -> Finish:
    """Finish with the given average of "precision", "recall" or "f"."""
    if finite("beta", beta) <= 0:
        raise ParameterError(f"beta={brief(beta)}: expected a positive number")
    zero = check_zero_division(zero_division)
    if choice("average", average, AVERAGES) == "instance":
        return mean_of(_ratio(overlap.by_row(), kind, zero, beta))
    if average == "micro":
        return lambda weight: float(_ratio(overlap.in_all(weight), kind, zero, beta)[0])
    return lambda weight: mean_of(_ratio(overlap.by_label(weight), kind, zero, beta))(None)


def _ratio(counts: Counts, kind: str, zero_division: float, beta: float) -> FloatArray:
    if kind == "precision":
        return divide(counts.common, counts.predicted, zero_division)
    if kind == "recall":
        return divide(counts.common, counts.true, zero_division)
    both = beta * beta * counts.true + counts.predicted
    return divide((1.0 + beta * beta) * counts.common, both, zero_division)


def hamming_finish(overlap: Overlap) -> Finish:
    rows = overlap.by_row()
    wrong = rows.true + rows.predicted - 2.0 * rows.common
    return mean_of(wrong / max(overlap.n_labels, 1))
