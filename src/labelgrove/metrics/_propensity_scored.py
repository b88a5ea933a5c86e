"""Metrics that pay more for rare labels: propensity-scored precision and nDCG."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from labelgrove._errors import DataError
from labelgrove.metrics._hits import RankedHits, discounts, match
from labelgrove.metrics._inputs import MISSING, top_columns
from labelgrove.metrics._ranking import ideal_gain
from labelgrove.metrics._score import (
    Finish,
    FloatArray,
    Interval,
    Score,
    check_zero_division,
    divide,
    estimate,
    mean_of,
    ratio_of,
)


def psp_at_k(
    Y_true: Any,
    prediction: Any,
    inverse_propensities: npt.ArrayLike,
    k: int = 5,
    *,
    labels: npt.ArrayLike | None = None,
    zero_division: float = 0.0,
    interval: Interval = None,
) -> Score:
    """Propensity-scored precision of the first `k` places as a share of the best possible (PSP@k).

    The sum of q over all hits, divided by the sum that the best ranking of every row would have:
    the normalised figure of the XMLRepository's tables. `raw_psp_at_k` is not normalised.

    Parameters
    ----------
    Y_true, prediction, k, labels, interval
        As for `precision_at_k`.
    inverse_propensities : array (n_labels,)
        Weight q of every label, as `inverse_propensity` gives.
    zero_division : {0, 1, nan}, default=0
        Value when `Y_true` holds no relevant label at all.

    Returns
    -------
    Score
        A float in [0, 1].

    Raises
    ------
    DataError, ParameterError
        As for `precision_at_k`; also when a weight is missing or not a positive number.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> psp_at_k(csr_array([[1, 0, 0], [0, 0, 1]]), [[0], [1]], [1.0, 2.0, 3.0], k=1)
    0.25
    """
    hits = match(Y_true, prediction, k, labels)
    q = check_weights(inverse_propensities, hits)
    finish = psp_finish(hits, k, q, check_zero_division(zero_division))
    return estimate(finish, hits.n_rows, interval)


def raw_psp_at_k(
    Y_true: Any,
    prediction: Any,
    inverse_propensities: npt.ArrayLike,
    k: int = 5,
    *,
    labels: npt.ArrayLike | None = None,
    interval: Interval = None,
) -> Score:
    """Propensity-scored precision of the first `k` places, not normalised.

    Mean over rows of (1/k) times the sum of q over the hits, the formula of Appendix D of
    Jasinska-Kobus et al. (2021); it may exceed 1.

    Parameters
    ----------
    Y_true, prediction, inverse_propensities, k, labels, interval
        As for `psp_at_k`.

    Returns
    -------
    Score
        A float of 0 or more.

    Raises
    ------
    DataError, ParameterError
        As for `psp_at_k`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> raw_psp_at_k(csr_array([[1, 0, 0], [0, 0, 1]]), [[0], [2]], [1.0, 2.0, 3.0], k=1)
    2.0
    """
    hits = match(Y_true, prediction, k, labels)
    q = check_weights(inverse_propensities, hits)
    return estimate(raw_psp_finish(hits, k, q), hits.n_rows, interval)


def psndcg_at_k(
    Y_true: Any,
    prediction: Any,
    inverse_propensities: npt.ArrayLike,
    k: int = 5,
    *,
    labels: npt.ArrayLike | None = None,
    zero_division: float = 0.0,
    interval: Interval = None,
) -> Score:
    """Propensity-scored nDCG of the first `k` places as a share of the best possible (PSnDCG@k).

    `raw_psndcg_at_k` of the ranking divided by that of the best ranking, which has a row's
    labels by decreasing q: the normalised figure of the XMLRepository's tables. Rows without
    relevant labels add nothing to either.

    Parameters
    ----------
    Y_true, prediction, inverse_propensities, k, labels, zero_division, interval
        As for `psp_at_k`.

    Returns
    -------
    Score
        A float in [0, 1].

    Raises
    ------
    DataError, ParameterError
        As for `psp_at_k`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> psndcg_at_k(csr_array([[1, 0, 0], [0, 0, 1]]), [[0], [1]], [1.0, 2.0, 3.0], k=1)
    0.25
    """
    hits = match(Y_true, prediction, k, labels)
    q = check_weights(inverse_propensities, hits)
    finish = psndcg_finish(hits, k, q, check_zero_division(zero_division))
    return estimate(finish, hits.n_rows, interval)


def raw_psndcg_at_k(
    Y_true: Any,
    prediction: Any,
    inverse_propensities: npt.ArrayLike,
    k: int = 5,
    *,
    labels: npt.ArrayLike | None = None,
    zero_division: float = 0.0,
    interval: Interval = None,
) -> Score:
    """Propensity-scored nDCG of the first `k` places, not normalised by the best possible.

    Mean over rows of the sum of q/log2(r + 1) over the hits in places r, divided by the sum of
    1/log2(r + 1) over the first min(k, number of relevant labels) places; it may exceed 1.

    Parameters
    ----------
    Y_true, prediction, inverse_propensities, k, labels, interval
        As for `psp_at_k`.
    zero_division : {0, 1, nan}, default=0
        Value of a row without relevant labels; nan leaves such rows out of the mean.

    Returns
    -------
    Score
        A float of 0 or more.

    Raises
    ------
    DataError, ParameterError
        As for `psp_at_k`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> raw_psndcg_at_k(csr_array([[1, 0, 0], [0, 0, 1]]), [[0], [2]], [1.0, 2.0, 3.0], k=1)
    2.0
    """
    hits = match(Y_true, prediction, k, labels)
    q = check_weights(inverse_propensities, hits)
    finish = raw_psndcg_finish(hits, k, q, check_zero_division(zero_division))
    return estimate(finish, hits.n_rows, interval)


def check_weights(inverse_propensities: npt.ArrayLike, hits: RankedHits) -> FloatArray:
    """Return the labels' weights as float64 (n_labels,), all positive and finite."""
    q = np.asarray(inverse_propensities, dtype=np.float64)
    n_labels = hits.truth.shape[1]
    if q.shape != (n_labels,):
        raise DataError(f"inverse_propensities has shape {q.shape}: expected ({n_labels},)")
    good = np.isfinite(q) & (q > 0)
    if not good.all():
        label = int(np.argmin(good))
        raise DataError(
            f"inverse_propensities: {q[label]} found for label {label} where a positive number "
            "was expected"
        )
    return q


def _gains(hits: RankedHits, k: int, q: FloatArray) -> FloatArray:
    """Weigh every hit in its place, 0 elsewhere; shape (n, k)."""
    return np.where(hits.hit[:, :k], q[hits.ids[:, :k]], 0.0)


def _best_gains(hits: RankedHits, k: int, q: FloatArray) -> FloatArray:
    """Weigh likewise the best possible ranking of every row; shape (n, k)."""
    truth = hits.truth
    weighted = csr_array((q[truth.indices], truth.indices, truth.indptr), shape=truth.shape)
    ids = top_columns(weighted, k)
    return np.where(ids != MISSING, q[ids], 0.0)


def psp_finish(hits: RankedHits, k: int, q: FloatArray, zero_division: float) -> Finish:
    gained = _gains(hits, k, q).sum(axis=1)
    return ratio_of(gained, _best_gains(hits, k, q).sum(axis=1), zero_division)


def raw_psp_finish(hits: RankedHits, k: int, q: FloatArray) -> Finish:
    return mean_of(_gains(hits, k, q).sum(axis=1) / k)


def psndcg_finish(hits: RankedHits, k: int, q: FloatArray, zero_division: float) -> Finish:
    ideal = ideal_gain(hits, k)
    gained = divide(_gains(hits, k, q) @ discounts(k), ideal, 0.0)
    best = divide(_best_gains(hits, k, q) @ discounts(k), ideal, 0.0)
    return ratio_of(gained, best, zero_division)


def raw_psndcg_finish(hits: RankedHits, k: int, q: FloatArray, zero_division: float) -> Finish:
    gained = _gains(hits, k, q) @ discounts(k)
    return mean_of(divide(gained, ideal_gain(hits, k), zero_division))
