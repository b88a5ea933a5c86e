"""Many metrics at once, checking and matching the input only once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy.typing as npt

from labelgrove.metrics._inputs import check_ks
from labelgrove.metrics._propensity import (
    psndcg_finish,
    psp_finish,
    raw_psndcg_finish,
    raw_psp_finish,
    weigh,
)
from labelgrove.metrics._ranking import (
    abandonment_finish,
    coverage_finish,
    match,
    ndcg_finish,
    precision_finish,
    recall_finish,
)
from labelgrove.metrics._score import Finish, Interval, Score, check_zero_division, estimate
from labelgrove.metrics._sets import AVERAGES, averaged_finish, compare, hamming_finish


def ranking_metrics(
    Y_true: Any,
    prediction: Any,
    ks: Iterable[int] = (1, 3, 5),
    *,
    inverse_propensities: npt.ArrayLike | None = None,
    labels: npt.ArrayLike | None = None,
    zero_division: float = 0.0,
    interval: Interval = None,
) -> dict[str, Score]:
    """Compute every ranking metric at every `k`, with the names used by the command line.

    Parameters
    ----------
    Y_true, prediction, labels, interval
        As for `precision_at_k`.
    ks : iterable of int, default=(1, 3, 5)
        Numbers of places.
    inverse_propensities : array (n_labels,), optional
        Weights of the labels; they add the propensity-scored metrics.
    zero_division : {0, 1, nan}, default=0
        As for the individual metrics.

    Returns
    -------
    dict of str to Score
        "p@k", "r@k", "ndcg@k", "coverage@k" and "abandonment@k" for every k; with
        `inverse_propensities` also "psp@k", "psndcg@k", "raw_psp@k" and "raw_psndcg@k".

    Raises
    ------
    DataError, ParameterError
        As for the individual metrics.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> found = ranking_metrics(csr_array([[1, 0, 1], [0, 1, 0]]), [[0, 1], [1, -1]], ks=(1, 2))
    >>> found["p@1"], found["p@2"], found["r@2"]
    (1.0, 0.5, 0.75)
    """
    finishes, n_rows = ranking_finishes(
        Y_true, prediction, ks, inverse_propensities, labels, zero_division
    )
    return {name: estimate(finish, n_rows, interval) for name, finish in finishes.items()}


def ranking_finishes(
    Y_true: Any,
    prediction: Any,
    ks: Iterable[int],
    inverse_propensities: npt.ArrayLike | None,
    labels: npt.ArrayLike | None,
    zero_division: float,
) -> tuple[dict[str, Finish], int]:
    """Return the last step of every metric of `ranking_metrics`, and the number of rows."""
    ks = check_ks(ks)
    zero = check_zero_division(zero_division)
    hits = match(Y_true, prediction, ks[-1], labels)
    finishes: dict[str, Finish] = {}
    for k in ks:
        finishes[f"p@{k}"] = precision_finish(hits, k)
        finishes[f"r@{k}"] = recall_finish(hits, k, zero)
        finishes[f"ndcg@{k}"] = ndcg_finish(hits, k, zero)
        finishes[f"coverage@{k}"] = coverage_finish(hits, k, zero)
        finishes[f"abandonment@{k}"] = abandonment_finish(hits, k)
    if inverse_propensities is not None:
        gains = weigh(hits, inverse_propensities)
        for k in ks:
            finishes[f"psp@{k}"] = psp_finish(gains, k, zero)
            finishes[f"psndcg@{k}"] = psndcg_finish(gains, k, zero)
            finishes[f"raw_psp@{k}"] = raw_psp_finish(gains, k)
            finishes[f"raw_psndcg@{k}"] = raw_psndcg_finish(gains, k, zero)
    return finishes, hits.n_rows


def set_metrics(
    Y_true: Any,
    Y_pred: Any,
    *,
    labels: npt.ArrayLike | None = None,
    zero_division: float = 0.0,
    interval: Interval = None,
) -> dict[str, Score]:
    """Compute every metric of predicted label sets, with the names used by the command line.

    Parameters
    ----------
    Y_true, Y_pred, labels, zero_division, interval
        As for `f_measure`.

    Returns
    -------
    dict of str to Score
        "macro_precision", "macro_recall", "macro_f1", the same for "micro" and "instance", and
        "hamming_loss".

    Raises
    ------
    DataError, ParameterError
        As for `f_measure`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> found = set_metrics(csr_array([[1, 0], [1, 1]]), csr_array([[1, 1], [1, 0]]))
    >>> found["macro_f1"], found["hamming_loss"]
    (0.5, 0.5)
    """
    finishes, n_rows = set_finishes(Y_true, Y_pred, labels, zero_division)
    return {name: estimate(finish, n_rows, interval) for name, finish in finishes.items()}


def set_finishes(
    Y_true: Any, Y_pred: Any, labels: npt.ArrayLike | None, zero_division: float
) -> tuple[dict[str, Finish], int]:
    """Return the last step of every metric of `set_metrics`, and the number of rows."""
    overlap = compare(Y_true, Y_pred, labels)
    finishes = {
        f"{average}_{name}": averaged_finish(overlap, average, kind, zero_division)
        for average in AVERAGES
        for name, kind in (("precision", "precision"), ("recall", "recall"), ("f1", "f"))
    }
    finishes["hamming_loss"] = hamming_finish(overlap)
    return finishes, overlap.n_rows
