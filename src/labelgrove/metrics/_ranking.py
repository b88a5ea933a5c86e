"""Metrics of ranked predictions, computed from the places of the hits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from labelgrove._parameters import integer
from labelgrove._sparse import find_sorted
from labelgrove.metrics._inputs import (
    MISSING,
    IntArray,
    as_indicator,
    as_ranking,
    label_ids,
    restrict,
    rows_of,
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


@dataclass(frozen=True)
class RankedHits:
    """Rankings and the true labels."""

    truth: csr_array  # (n, L): ones, sorted columns
    ids: IntArray  # (n, k): ranked label ids, -1 where missing
    hit: npt.NDArray[np.bool_]  # (n, k): whether the label in that place is relevant

    @property
    def n_rows(self) -> int:
        return int(self.ids.shape[0])

    @property
    def n_relevant(self) -> IntArray:
        """Number of relevant labels of every row, shape (n,)."""
        return np.asarray(np.diff(self.truth.indptr), dtype=np.int64)


def match(Y_true: Any, prediction: Any, k: int, labels: npt.ArrayLike | None = None) -> RankedHits:
    """Check the input and mark which of the best `k` predictions are relevant.

    With `labels`, only those columns of `Y_true` count as relevant; rankings stay as they are.
    """
    k = integer("k", k, 1)
    truth = as_indicator(Y_true, "Y_true")
    ids = as_ranking(prediction, truth.shape, k)
    truth = restrict(truth, label_ids(labels, truth.shape[1]))
    rows = np.arange(ids.shape[0], dtype=np.int64)[:, np.newaxis]
    # Without the mask, a missing place (-1) would match the last column of the previous row.
    hit = contains(truth, rows, ids) & (ids != MISSING)
    return RankedHits(truth, ids, hit)


def contains(truth: csr_array, rows: IntArray, columns: IntArray) -> npt.NDArray[np.bool_]:
    """Return for every (row, column) pair (broadcast) whether a canonical CSR stores it."""
    # Encode each pair as one integer: the order is that of the entries of a canonical CSR.
    stored = rows_of(truth) * truth.shape[1] + truth.indices
    wanted = rows * truth.shape[1] + columns
    return find_sorted(stored, wanted)[1]


def discounts(k: int) -> FloatArray:
    """Return 1/log2(place + 1) for the places 1 to `k`."""
    return np.asarray(1.0 / np.log2(np.arange(2, k + 2)), dtype=np.float64)


def precision_at_k(
    Y_true: Any,
    prediction: Any,
    k: int = 5,
    *,
    labels: npt.ArrayLike | None = None,
    interval: Interval = None,
) -> Score:
    """Mean share of the first `k` places that hold a relevant label (P@k).

    A missing place counts as a miss, and so does every place of a row without labels, as in the
    XMLRepository's tables.

    Parameters
    ----------
    Y_true : sparse matrix (n_rows, n_labels)
        True labels, 0/1.
    prediction : integer array (n_rows, at least k) or sparse matrix (n_rows, n_labels)
        Ranked label ids, best first, -1 in missing places; or scores: ties go to the smaller
        column, and a zero is not a prediction.
    k : int, default=5
        Number of places.
    labels : array of column ids, optional
        Count only these labels as relevant. If the labels are partitioned (head, torso, tail),
        the precisions of the parts add up to the whole.
    interval : float or Bootstrap, optional
        Level of a bootstrap interval over rows, kept in the result's ``interval``.

    Returns
    -------
    Score
        A float in [0, 1].

    Raises
    ------
    DataError
        When `Y_true` or `prediction` cannot be used; the message names the row.
    ParameterError
        When `k`, `labels` or `interval` lies outside its domain.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> Y_true = csr_array([[1, 0, 1], [0, 1, 0]])
    >>> precision_at_k(Y_true, [[0, 1], [1, -1]], k=2)
    0.5
    """
    hits = match(Y_true, prediction, k, labels)
    return estimate(precision_finish(hits, k), hits.n_rows, interval)


def recall_at_k(
    Y_true: Any,
    prediction: Any,
    k: int = 5,
    *,
    labels: npt.ArrayLike | None = None,
    zero_division: float = 0.0,
    interval: Interval = None,
) -> Score:
    """Mean share of a row's relevant labels that are among the first `k` places (R@k).

    Parameters
    ----------
    Y_true, prediction, k, labels, interval
        As for `precision_at_k`.
    zero_division : {0, 1, nan}, default=0
        Value for a row without relevant labels; nan excludes such rows from the mean.

    Returns
    -------
    Score
        A float in [0, 1].

    Raises
    ------
    DataError, ParameterError
        As for `precision_at_k`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> recall_at_k(csr_array([[1, 0, 1], [0, 1, 0]]), [[0, 1], [1, -1]], k=2)
    0.75
    """
    hits = match(Y_true, prediction, k, labels)
    finish = recall_finish(hits, k, check_zero_division(zero_division))
    return estimate(finish, hits.n_rows, interval)


def ndcg_at_k(
    Y_true: Any,
    prediction: Any,
    k: int = 5,
    *,
    labels: npt.ArrayLike | None = None,
    zero_division: float = 0.0,
    interval: Interval = None,
) -> Score:
    """Mean normalised discounted cumulative gain of the first `k` places (nDCG@k).

    A hit at place r gains 1/log2(r + 1). A row's sum is divided by the sum for the best ranking,
    which has min(k, number of relevant labels) hits.

    Parameters
    ----------
    Y_true, prediction, k, labels, interval
        As for `precision_at_k`.
    zero_division : {0, 1, nan}, default=0
        Value for a row without relevant labels; nan excludes such rows from the mean.

    Returns
    -------
    Score
        A float in [0, 1].

    Raises
    ------
    DataError, ParameterError
        As for `precision_at_k`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> round(ndcg_at_k(csr_array([[1, 0, 1], [0, 1, 0]]), [[1, 0], [1, -1]], k=2), 4)
    0.6934
    """
    hits = match(Y_true, prediction, k, labels)
    finish = ndcg_finish(hits, k, check_zero_division(zero_division))
    return estimate(finish, hits.n_rows, interval)


def coverage_at_k(
    Y_true: Any,
    prediction: Any,
    k: int = 5,
    *,
    labels: npt.ArrayLike | None = None,
    zero_division: float = 0.0,
    interval: Interval = None,
) -> Score:
    """Share of the labels present in `Y_true` that are found at least once in the first `k` places.

    A label is found if it is among the first `k` places of a row to which it belongs.

    Parameters
    ----------
    Y_true, prediction, k, labels, interval
        As for `precision_at_k`.
    zero_division : {0, 1, nan}, default=0
        Value if `Y_true` holds no relevant label.

    Returns
    -------
    Score
        A float in [0, 1].

    Raises
    ------
    DataError, ParameterError
        As for `precision_at_k`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> coverage_at_k(csr_array([[1, 0, 1], [1, 0, 0]]), [[0, 1], [0, -1]], k=2)
    0.5
    """
    hits = match(Y_true, prediction, k, labels)
    finish = coverage_finish(hits, k, check_zero_division(zero_division))
    return estimate(finish, hits.n_rows, interval)


def abandonment_at_k(
    Y_true: Any,
    prediction: Any,
    k: int = 5,
    *,
    labels: npt.ArrayLike | None = None,
    interval: Interval = None,
) -> Score:
    """Share of rows with no relevant label in the first `k` places; lower is better.

    It is the share of users who look at `k` suggestions and find none of them useful. Rows without
    relevant labels count as abandoned. (Some programs print one minus this under the same name.)

    Parameters
    ----------
    Y_true, prediction, k, labels, interval
        As for `precision_at_k`.

    Returns
    -------
    Score
        A float in [0, 1].

    Raises
    ------
    DataError, ParameterError
        As for `precision_at_k`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> abandonment_at_k(csr_array([[1, 0, 1], [0, 1, 0]]), [[0, 1], [2, -1]], k=2)
    0.5
    """
    hits = match(Y_true, prediction, k, labels)
    return estimate(abandonment_finish(hits, k), hits.n_rows, interval)


def precision_finish(hits: RankedHits, k: int) -> Finish:
    return mean_of(hits.hit[:, :k].sum(axis=1) / k)


def recall_finish(hits: RankedHits, k: int, zero_division: float) -> Finish:
    found = hits.hit[:, :k].sum(axis=1).astype(np.float64)
    return mean_of(divide(found, hits.n_relevant.astype(np.float64), zero_division))


def ideal_gain(hits: RankedHits, k: int) -> FloatArray:
    """Return the best possible discounted gain of every row in `k` places, shape (n,)."""
    best = np.concatenate(([0.0], np.cumsum(discounts(k))))
    return np.asarray(best[np.minimum(k, hits.n_relevant)], dtype=np.float64)


def ndcg_of_rows(hits: RankedHits, k: int, zero_division: float) -> FloatArray:
    """Return the nDCG of every row, shape (n,)."""
    return divide(hits.hit[:, :k] @ discounts(k), ideal_gain(hits, k), zero_division)


def ndcg_finish(hits: RankedHits, k: int, zero_division: float) -> Finish:
    return mean_of(ndcg_of_rows(hits, k, zero_division))


def coverage_finish(hits: RankedHits, k: int, zero_division: float) -> Finish:
    truth = hits.truth
    rows, places = np.nonzero(hits.hit[:, :k])
    found_ids = hits.ids[rows, places]

    def finish(weight: FloatArray | None) -> float:
        drawn = np.ones(truth.shape[0], np.bool_) if weight is None else weight > 0
        present, found = np.zeros((2, truth.shape[1]), np.bool_)
        present[truth.indices[np.repeat(drawn, np.diff(truth.indptr))]] = True
        found[found_ids[drawn[rows]]] = True
        n_present = np.count_nonzero(present)
        return np.count_nonzero(found) / n_present if n_present else zero_division

    return finish


def abandonment_finish(hits: RankedHits, k: int) -> Finish:
    return mean_of(np.asarray(~hits.hit[:, :k].any(axis=1), dtype=np.float64))
