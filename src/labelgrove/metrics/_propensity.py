"""Label propensities, and ranking metrics that weight labels by them (Jain et al. 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse

from labelgrove._elementary import log, power
from labelgrove._errors import DataError, ParameterError
from labelgrove._parameters import finite, integer, numbers
from labelgrove.metrics._inputs import MISSING, label_counts, top_columns
from labelgrove.metrics._ranking import RankedHits, discounts, ideal_gain, match
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

FEWEST_EXAMPLES = 3  # with fewer than e examples the model's C is negative, and q may be too


def inverse_propensity(
    labels: Any, *, n_examples: int | None = None, A: float = 0.55, B: float = 1.5
) -> FloatArray:
    """Inverse propensity of every label, from its frequency in the training data.

    q_j = 1 + C (N_j + B)^(-A) with C = (ln N - 1)(B + 1)^A (Jain et al. 2016, as given in
    Appendix D of Jasinska-Kobus et al. 2021), where N_j of N training examples have label j.

    Parameters
    ----------
    labels : sparse matrix (n_rows, n_labels) or array (n_labels,)
        The 0/1 labels of the training set, or the number of examples with each label.
    n_examples : int, optional
        Number of training examples N. Required with counts; a matrix provides it.
    A, B : float, default=0.55 and 1.5
        Parameters of the propensity model. The recommended values are 0.5 and 0.4 for the
        Wikipedia sets, 0.6 and 2.6 for the Amazon sets, and the defaults for all others.

    Returns
    -------
    float64 array (n_labels,)

    Raises
    ------
    DataError
        When counts are negative or not whole numbers, or exceed `n_examples`.
    ParameterError
        When `n_examples` is missing, not a whole number or below 3, or `A` or `B` is not positive
        or too large to compute with.

    Examples
    --------
    >>> inverse_propensity([100, 1], n_examples=1000).round(2).tolist()
    [1.77, 6.91]
    """
    if finite("A", A) <= 0 or finite("B", B) <= 0:
        raise ParameterError(f"A={A!r}, B={B!r}: expected two positive numbers")
    counts, n = label_counts(labels), n_examples
    if n is None:
        if not issparse(labels):
            raise ParameterError("n_examples is missing: it is needed when counts are given")
        n = labels.shape[0]
    n = integer("n_examples", n, FEWEST_EXAMPLES, None)
    if counts.size and counts.max() > n:
        raise DataError(
            f"labels: label {counts.argmax()} occurs {counts.max()} times in {n} examples"
        )
    C = (log(n) - 1.0) * power(B + 1.0, A)
    if not np.isfinite(C):
        raise ParameterError(f"A={A!r}, B={B!r}: expected smaller numbers")
    return np.asarray(1.0 + C * power(counts + B, -A), dtype=np.float64)


@dataclass(frozen=True)
class Gains:
    """Weights of the hits, place by place."""

    hits: RankedHits
    found: FloatArray  # (n, k): weight of the label in each place if it is relevant, else 0
    best: FloatArray  # the same for a row's relevant labels by decreasing weight


def weigh(hits: RankedHits, inverse_propensities: npt.ArrayLike) -> Gains:
    """Check the labels' weights and look them up for the given and the best possible rankings."""
    truth = hits.truth
    q = _check_weights(inverse_propensities, int(truth.shape[1]))
    weighted = csr_array((q[truth.indices], truth.indices, truth.indptr), shape=truth.shape)
    best = top_columns(weighted, hits.ids.shape[1])
    return Gains(
        hits, np.where(hits.hit, q[hits.ids], 0.0), np.where(best != MISSING, q[best], 0.0)
    )


def _check_weights(inverse_propensities: npt.ArrayLike, n_labels: int) -> FloatArray:
    q = numbers("inverse_propensities", inverse_propensities)
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


def psp_finish(gains: Gains, k: int, zero_division: float) -> Finish:
    return ratio_of(gains.found[:, :k].sum(axis=1), gains.best[:, :k].sum(axis=1), zero_division)


def raw_psp_finish(gains: Gains, k: int) -> Finish:
    return mean_of(gains.found[:, :k].sum(axis=1) / k)


def psndcg_finish(gains: Gains, k: int, zero_division: float) -> Finish:
    ideal = ideal_gain(gains.hits, k)
    found = divide(gains.found[:, :k] @ discounts(k), ideal, 0.0)
    best = divide(gains.best[:, :k] @ discounts(k), ideal, 0.0)
    return ratio_of(found, best, zero_division)


def raw_psndcg_finish(gains: Gains, k: int, zero_division: float) -> Finish:
    found = gains.found[:, :k] @ discounts(k)
    return mean_of(divide(found, ideal_gain(gains.hits, k), zero_division))


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

    The sum of q over all hits, divided by the same sum for the best ranking of every row: the
    normalised figure in the XMLRepository's tables. `raw_psp_at_k` is not normalised.

    Parameters
    ----------
    Y_true, prediction, k, labels, interval
        As for `precision_at_k`.
    inverse_propensities : array (n_labels,)
        Weight q of every label, as returned by `inverse_propensity`.
    zero_division : {0, 1, nan}, default=0
        Value if `Y_true` holds no relevant label.

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

    `raw_psndcg_at_k` of the ranking divided by the value for the best ranking, which lists a row's
    labels by decreasing q: the normalised figure in the XMLRepository's tables. Rows without
    relevant labels contribute to neither.

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

    Mean over rows of the sum of q/log2(r + 1) over the hits at places r, divided by the sum of
    1/log2(r + 1) over the first min(k, number of relevant labels) places; it may exceed 1.

    Parameters
    ----------
    Y_true, prediction, inverse_propensities, k, labels, interval
        As for `psp_at_k`.
    zero_division : {0, 1, nan}, default=0
        Value for a row without relevant labels; nan excludes such rows from the mean.

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
