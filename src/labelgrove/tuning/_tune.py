"""The three tuners as functions of true labels and scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove._parameters import numbers
from labelgrove.tuning._bounds import UPPER, prior_lower
from labelgrove.tuning._fta import FTA
from labelgrove.tuning._ofo import OFO, START_B
from labelgrove.tuning._pairs import read_indicator
from labelgrove.tuning._search import ThresholdSearch
from labelgrove.tuning._sto import STO
from labelgrove.tuning._thresholds import Thresholds


def tune_fta(
    Y: Any,
    scores: Any,
    *,
    thresholds: npt.ArrayLike | None = None,
    average: str = "macro",
    common: bool | None = None,
    lower: npt.ArrayLike | None = None,
    upper: float = UPPER,
    zero_division: float = 0.0,
) -> Thresholds:
    """Choose among a few thresholds (FTA; Jasinska et al. 2016, Section 4.2).

    Parameters
    ----------
    Y : sparse or dense 0/1 matrix, shape (n, m)
        True labels.
    scores : sparse or dense matrix of probabilities, shape (n, m)
        Entries that are not stored are 0.
    thresholds, average, common, upper, zero_division
        As for `FTA`.
    lower : float or array-like of shape (m,), optional
        Exclusive lower bound on the thresholds. None: nu_j (see `lower_bounds`), with the shares in
        `Y` as priors; 0 for the instance-averaged F-measure, for which no such bound is known.

    Returns
    -------
    Thresholds

    Raises
    ------
    DataError
        If `Y` or `scores` cannot be used; the message names row and column.
    ParameterError
        If another parameter lies outside its domain.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> Y, scores = csr_array([[1, 0], [0, 1], [0, 0]]), csr_array([[0.4, 0], [0.2, 0.3], [0, 0]])
    >>> tuned = tune_fta(Y, scores)
    >>> tuned.values.tolist(), tuned.score
    ([0.25..., 0.25...], 1.0)
    """
    options = {"average": average, "common": common, "upper": upper, "zero_division": zero_division}
    return _searched(FTA, Y, scores, lower, thresholds=thresholds, **options)


def tune_sto(
    Y: Any,
    scores: Any,
    *,
    average: str = "macro",
    common: bool | None = None,
    lower: npt.ArrayLike | None = None,
    upper: float = UPPER,
    zero_division: float = 0.0,
) -> Thresholds:
    """Find the best thresholds on these data (STO; Jasinska et al. 2016, Algorithm 1).

    Parameters
    ----------
    Y, scores, lower
        As for `tune_fta`.
    average, common, upper, zero_division
        As for `STO`.

    Returns
    -------
    Thresholds

    Raises
    ------
    DataError, ParameterError
        As for `tune_fta`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> Y, scores = csr_array([[1, 0], [0, 1], [0, 0]]), csr_array([[0.4, 0], [0.2, 0.3], [0, 0]])
    >>> tune_sto(Y, scores).values.tolist()
    [0.4, 0.3]
    """
    options = {"average": average, "common": common, "upper": upper, "zero_division": zero_division}
    return _searched(STO, Y, scores, lower, **options)


def tune_ofo(
    Y: Any,
    scores: Any,
    *,
    a: npt.ArrayLike | None = None,
    b: npt.ArrayLike = START_B,
    lower: npt.ArrayLike | None = None,
    upper: float = UPPER,
    zero_division: float = 0.0,
) -> Thresholds:
    """Tune thresholds by the online F-measure (OFO; Jasinska et al. 2016, Algorithm 2).

    Parameters
    ----------
    Y, scores, lower
        As for `tune_fta`; rows are processed in order.
    a : float or array-like of shape (m,), optional
        As for `OFO`. None: b times the best common threshold that `tune_fta` finds on these data,
        so that every label starts from the common optimum.
    b, upper, zero_division
        As for `OFO`.

    Returns
    -------
    Thresholds

    Raises
    ------
    DataError, ParameterError
        As for `tune_fta`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> Y, scores = csr_array([[1, 0], [0, 1], [0, 0]]), csr_array([[0.4, 0], [0.2, 0.3], [0, 0]])
    >>> tune_ofo(Y, scores, a=1, b=4, lower=0).values.tolist()
    [0.33..., 0.33...]
    """
    n_labels, bounds = _prepare(Y, "macro", lower)
    within: dict[str, Any] = {"lower": bounds, "upper": upper, "zero_division": zero_division}
    if a is None:
        best = FTA(n_labels, **within).update(Y, scores).finish().default
        a = best * numbers("b", b)
    return OFO(n_labels, a=a, b=b, **within).update(Y, scores).finish()


def _searched(
    method: type[ThresholdSearch], Y: Any, scores: Any, lower: npt.ArrayLike | None, **options: Any
) -> Thresholds:
    n_labels, bounds = _prepare(Y, options["average"], lower)
    return method(n_labels, lower=bounds, **options).update(Y, scores).finish()


def _prepare(Y: Any, average: str, lower: npt.ArrayLike | None) -> tuple[int, npt.ArrayLike]:
    """Return the number of labels, and the given bounds or those implied by the labels in Y."""
    ends, labels, n_labels = read_indicator(Y)
    if lower is not None:
        return n_labels, lower
    counts = np.bincount(labels, minlength=n_labels)
    return n_labels, prior_lower(counts, len(ends) - 1, average)
