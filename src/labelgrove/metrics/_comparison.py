"""Comparison of two models on the same examples, with significance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr

from labelgrove._errors import DataError
from labelgrove.metrics._inputs import IntArray
from labelgrove.metrics._score import Finish, FloatArray, Interval, Score, estimate
from labelgrove.metrics._sets import compare
from labelgrove.metrics._summary import ranking_finishes, set_finishes


def compare_rankings(
    Y_true: Any,
    before: Any,
    after: Any,
    ks: Iterable[int] = (1, 3, 5),
    *,
    inverse_propensities: npt.ArrayLike | None = None,
    zero_division: float = 0.0,
    interval: Interval = 0.95,
) -> dict[str, Score]:
    """How much better the second of two rankings of the same rows is, metric by metric.

    The interval is a paired bootstrap's: rows are drawn with replacement, and both models are
    measured on the same draw. If it does not contain 0, the difference is more than chance.

    Parameters
    ----------
    Y_true, ks, inverse_propensities, zero_division, interval
        As for `ranking_metrics`.
    before, after : rankings or scores
        As ``prediction`` there.

    Returns
    -------
    dict of str to Score
        The names of `ranking_metrics`; each value is the metric of `after` less that of `before`.

    Raises
    ------
    DataError, ParameterError
        As for `ranking_metrics`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> truth = csr_array([[1, 0], [0, 1], [0, 1], [0, 1]])
    >>> found = compare_rankings(truth, [[0]] * 4, [[1]] * 4, ks=[1])
    >>> found["p@1"], found["p@1"].interval
    (0.5, (-0.5, 1.0))
    """
    both = [
        ranking_finishes(Y_true, one, ks, inverse_propensities, None, zero_division)
        for one in (before, after)
    ]
    return _differences(both[0], both[1], interval)


def compare_sets(
    Y_true: Any,
    before: Any,
    after: Any,
    *,
    labels: npt.ArrayLike | None = None,
    zero_division: float = 0.0,
    interval: Interval = 0.95,
) -> dict[str, Score]:
    """How much better the second of two label sets for the same rows is, metric by metric.

    Parameters
    ----------
    Y_true, labels, zero_division, interval
        As for `set_metrics`; the interval is a paired bootstrap's, as in `compare_rankings`.
    before, after : label sets
        As ``Y_pred`` there.

    Returns
    -------
    dict of str to Score
        The names of `set_metrics`; each value is the metric of `after` less that of `before`.

    Raises
    ------
    DataError, ParameterError
        As for `set_metrics`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> truth = csr_array([[1, 0], [0, 1]])
    >>> compare_sets(truth, [[0], [0]], truth, interval=None)["micro_f1"]
    0.5
    """
    both = [set_finishes(Y_true, one, labels, zero_division) for one in (before, after)]
    return _differences(both[0], both[1], interval)


_Finishes = tuple[dict[str, Finish], int]


def _differences(before: _Finishes, after: _Finishes, interval: Interval) -> dict[str, Score]:
    def difference(name: str) -> Finish:
        return lambda weight: after[0][name](weight) - before[0][name](weight)

    return {name: estimate(difference(name), after[1], interval) for name in after[0]}


@dataclass(frozen=True, eq=False)
class Discordance:
    """Where only one of two models was right, and how likely that is if they are equally good.

    Attributes
    ----------
    only_before, only_after : int64 arrays (n,)
        Decisions that only the first, or only the second, got right.
    p_value : float64 array (n,)
        McNemar's exact test, two-sided: the probability of numbers at least as unequal if each
        of these decisions were as likely to be either's.
    adjusted : float64 array (n,)
        After Benjamini and Hochberg: among all with ``adjusted <= q``, a share of at most q is
        expected to be chance.
    """

    only_before: IntArray
    only_after: IntArray
    p_value: FloatArray
    adjusted: FloatArray


def mcnemar(only_before: npt.ArrayLike, only_after: npt.ArrayLike) -> Discordance:
    """McNemar's exact test, for one pair of numbers or for many at once.

    Parameters
    ----------
    only_before, only_after : int or int array (n,)
        How many decisions only the first, or only the second, got right.

    Returns
    -------
    Discordance
        Arrays of shape (n,).

    Raises
    ------
    DataError
        When the numbers are no counts, or not as many of each.

    Examples
    --------
    >>> mcnemar([1, 10], [9, 10]).p_value.round(4).tolist()
    [0.0215, 1.0]
    """
    b, c = (np.atleast_1d(np.asarray(given)) for given in (only_before, only_after))
    if b.shape != c.shape or b.ndim != 1 or {b.dtype.kind, c.dtype.kind} - {"i", "u"}:
        raise DataError("only_before and only_after: expected as many counts of each")
    if (b < 0).any() or (c < 0).any():
        raise DataError("only_before and only_after: a negative count found")
    p = np.minimum(1.0, 2.0 * bdtr(np.minimum(b, c).astype(np.float64), b + c, 0.5))
    return Discordance(b.astype(np.int64), c.astype(np.int64), p, _adjusted(p))


def label_changes(Y_true: Any, before: Any, after: Any) -> Discordance:
    """For every label, the rows on which only one of two models decided rightly about it.

    Parameters
    ----------
    Y_true : sparse matrix (n_rows, n_labels)
        True labels, 0/1.
    before, after : label sets
        Predicted by the two models, as ``Y_pred`` of `set_metrics`.

    Returns
    -------
    Discordance
        One entry a label. Only labels on which the models ever differ count as tested: the
        others have 1 in ``p_value`` and in ``adjusted``.

    Raises
    ------
    DataError
        As for `set_metrics`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> truth = csr_array([[1, 0], [1, 1]])
    >>> changes = label_changes(truth, [[1], [1]], [[0], [0]])
    >>> changes.only_before.tolist(), changes.only_after.tolist()
    ([0, 1], [2, 1])
    """
    first, second = compare(Y_true, before), compare(Y_true, after)
    # Exactly one is right where exactly one predicts the label.
    only_first = first.predicted - first.predicted.multiply(second.predicted)
    only_second = second.predicted - second.predicted.multiply(first.predicted)
    hits_first, hits_second = _totals(only_first, first), _totals(only_second, second)
    right_before = hits_first[0] + hits_second[1]
    right_after = hits_second[0] + hits_first[1]
    tested = (right_before + right_after) > 0
    result = mcnemar(right_before, right_after)
    adjusted = np.ones(tested.size)
    adjusted[tested] = _adjusted(result.p_value[tested])
    return Discordance(result.only_before, result.only_after, result.p_value, adjusted)


def _totals(only: Any, overlap: Any) -> tuple[IntArray, IntArray]:
    """By label, how many of one model's own predictions are right, and how many are not."""
    all_of_it = np.asarray(only.sum(axis=0)).ravel().astype(np.int64)
    right = np.asarray(only.multiply(overlap.truth).sum(axis=0)).ravel().astype(np.int64)
    return right, all_of_it - right


def _adjusted(p: FloatArray) -> FloatArray:
    order = np.argsort(-p, kind="stable")
    ranks = np.arange(p.size, 0, -1)
    result = np.empty(p.size)
    result[order] = np.minimum.accumulate(np.minimum(1.0, p[order] * p.size / ranks))
    return result
