"""Calibration: whether scores can be read as probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from labelgrove._errors import DataError
from labelgrove._parameters import choice, integer
from labelgrove.metrics._inputs import as_indicator, canonical_csr, row_of, rows_of
from labelgrove.metrics._ranking import contains
from labelgrove.metrics._score import FloatArray, Interval, Score, estimate

_ROUNDING = 1e-6  # float32 arithmetic may exceed 1 by this much


@dataclass(frozen=True)
class ReliabilityCurve:
    """Observed frequency of relevant labels against their predicted probability.

    Attributes
    ----------
    edges : float64 array (n_bins + 1,)
        Bin b holds the probabilities in (edges[b], edges[b + 1]]; the first bin also holds 0.
    count : float64 array (n_bins,)
        Number of (row, label) pairs in each bin.
    mean_probability : float64 array (n_bins,)
        Mean predicted probability in each bin; nan if the bin is empty.
    frequency : float64 array (n_bins,)
        Share of pairs in each bin whose label is relevant; nan if the bin is empty.
    """

    edges: FloatArray
    count: FloatArray
    mean_probability: FloatArray
    frequency: FloatArray


def reliability_curve(
    Y_true: Any, probabilities: Any, *, n_bins: int = 15, pairs: str = "stored"
) -> ReliabilityCurve:
    """Compare predicted probabilities with observed frequencies, in bins of equal width.

    Parameters
    ----------
    Y_true : sparse matrix (n_rows, n_labels)
        True labels, 0/1.
    probabilities : sparse matrix (n_rows, n_labels)
        Sparse probability estimates in [0, 1].
    n_bins : int, default=15
        Number of bins.
    pairs : {"stored", "all"}, default="stored"
        Which (row, label) pairs count: those with a non-zero estimate, or all of them, taking the
        missing estimates as 0.

    Returns
    -------
    ReliabilityCurve

    Raises
    ------
    DataError
        When the input cannot be used; the message names row and column.
    ParameterError
        When `n_bins` is not positive or `pairs` is unknown.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> curve = reliability_curve(csr_array([[1, 0]]), csr_array([[0.75, 0.25]]), n_bins=2)
    >>> curve.mean_probability.tolist(), curve.frequency.tolist()
    ([0.25, 0.75], [0.0, 1.0])
    """
    return _Binned(Y_true, probabilities, n_bins, pairs).curve()


def expected_calibration_error(
    Y_true: Any,
    probabilities: Any,
    *,
    n_bins: int = 15,
    pairs: str = "stored",
    interval: Interval = None,
) -> Score:
    """Mean distance between predicted probability and observed frequency (ECE).

    It is the mean of abs(frequency - mean probability) over bins of equal width, weighted by the
    number of pairs in each bin. For top-label calibration of a multi-class model, store one
    estimate per row. The error is biased upwards on few pairs, and so is a bootstrap interval.

    Parameters
    ----------
    Y_true, probabilities, n_bins, pairs
        As for `reliability_curve`.
    interval : float or Bootstrap, optional
        Level of a bootstrap interval over rows, kept in the result's ``interval``.

    Returns
    -------
    Score
        A float in [0, 1]; nan when no pair counts.

    Raises
    ------
    DataError, ParameterError
        As for `reliability_curve`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> expected_calibration_error(csr_array([[1, 0]]), csr_array([[0.75, 0.25]]), n_bins=2)
    0.25
    """
    binned = _Binned(Y_true, probabilities, n_bins, pairs)
    return estimate(binned.error, binned.n_rows, interval)


class _Binned:
    """Every stored estimate with its bin, and counts of the pairs without one."""

    def __init__(self, Y_true: Any, probabilities: Any, n_bins: int, pairs: str) -> None:
        integer("n_bins", n_bins, 1)
        choice("pairs", pairs, ("stored", "all"))
        truth = as_indicator(Y_true, "Y_true")
        estimates = canonical_csr(probabilities, "probabilities")
        if estimates.shape != truth.shape:
            raise DataError(
                f"probabilities has shape {estimates.shape}: expected {truth.shape}, as Y_true has"
            )
        outside = (estimates.data < 0) | (estimates.data > 1 + _ROUNDING)
        if outside.any():
            entry = int(np.argmax(outside))
            raise DataError(
                f"probabilities, row {row_of(estimates, entry)}, column "
                f"{estimates.indices[entry]}: {estimates.data[entry]} found where a number "
                "between 0 and 1 was expected"
            )
        self.n_rows = int(truth.shape[0])
        self._n_bins = n_bins
        self._rows = rows_of(estimates)
        self._probability = np.minimum(estimates.data.astype(np.float64), 1.0)
        self._edges = np.linspace(0.0, 1.0, n_bins + 1)
        self._bin = np.searchsorted(self._edges, self._probability) - 1  # no estimate is 0
        self._relevant = contains(truth, self._rows, estimates.indices).astype(np.float64)
        self._absent = np.zeros((2, self.n_rows))  # per row: pairs without estimate; relevant ones
        if pairs == "all":
            found = np.bincount(self._rows, self._relevant, minlength=self.n_rows)
            self._absent[0] = truth.shape[1] - np.diff(estimates.indptr)
            self._absent[1] = np.diff(truth.indptr) - found

    def sums(self, weight: FloatArray | None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Weighted pairs, probabilities and relevant pairs, summed by bin."""
        of_row = np.ones(self.n_rows) if weight is None else weight
        of_pair = of_row[self._rows]
        count, probability, relevant = (
            np.bincount(self._bin, of_pair * part, minlength=self._n_bins).astype(np.float64)
            for part in (1.0, self._probability, self._relevant)
        )
        count[0] += of_row @ self._absent[0]
        relevant[0] += of_row @ self._absent[1]
        return count, probability, relevant

    def error(self, weight: FloatArray | None) -> float:
        count, probability, relevant = self.sums(weight)
        total = count.sum()
        return float(np.abs(relevant - probability).sum() / total) if total > 0 else float("nan")

    def curve(self) -> ReliabilityCurve:
        count, probability, relevant = self.sums(None)
        size = np.where(count > 0, count, np.nan)
        return ReliabilityCurve(self._edges, count, probability / size, relevant / size)
