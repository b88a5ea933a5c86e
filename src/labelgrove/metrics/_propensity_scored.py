"""Metrics that pay more for rare labels: propensity-scored precision and nDCG."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from labelgrove.metrics._gains import (
    psndcg_finish,
    psp_finish,
    raw_psndcg_finish,
    raw_psp_finish,
    weigh,
)
from labelgrove.metrics._hits import match
from labelgrove.metrics._score import Interval, Score, check_zero_division, estimate


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
    gains = weigh(hits, inverse_propensities)
    finish = psp_finish(gains, k, check_zero_division(zero_division))
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
    gains = weigh(hits, inverse_propensities)
    return estimate(raw_psp_finish(gains, k), hits.n_rows, interval)


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
    gains = weigh(hits, inverse_propensities)
    finish = psndcg_finish(gains, k, check_zero_division(zero_division))
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
    gains = weigh(hits, inverse_propensities)
    finish = raw_psndcg_finish(gains, k, check_zero_division(zero_division))
    return estimate(finish, hits.n_rows, interval)
