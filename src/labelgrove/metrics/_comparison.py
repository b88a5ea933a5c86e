"""Comparison of two models on the same examples, with tests of significance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr

from labelgrove._errors import DataError
from labelgrove._parameters import vector
from labelgrove._sparse import without
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
    """Measure how much better the second of two rankings of the same rows is, metric by metric.

    The interval comes from a paired bootstrap: rows are drawn with replacement, and both models
    are measured on the same draw. If it does not contain 0, the difference is significant.

    Parameters
    ----------
    Y_true, ks, inverse_propensities, zero_division, interval
        As for `ranking_metrics`.
    before, after : rankings or scores
        As for ``prediction`` of `ranking_metrics`.

    Returns
    -------
    dict of str to Score
        The names of `ranking_metrics`; each value is the metric of `after` minus that of `before`.

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
    return estimated_changes(both[0], both[1], interval)


def compare_sets(
    Y_true: Any,
    before: Any,
    after: Any,
    *,
    labels: npt.ArrayLike | None = None,
    zero_division: float = 0.0,
    interval: Interval = 0.95,
) -> dict[str, Score]:
    """Measure how much better the second of two predictions of label sets is, metric by metric.

    Parameters
    ----------
    Y_true, labels, zero_division, interval
        As for `set_metrics`; the interval comes from a paired bootstrap, as in `compare_rankings`.
    before, after : label sets
        As for ``Y_pred`` of `set_metrics`.

    Returns
    -------
    dict of str to Score
        The names of `set_metrics`; each value is the metric of `after` minus that of `before`.

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
    return estimated_changes(both[0], both[1], interval)


_Finishes = tuple[dict[str, Finish], int]


def estimated_changes(before: _Finishes, after: _Finishes, interval: Interval) -> dict[str, Score]:
    """Estimate how much every metric changes; each side has its metrics and the number of rows."""

    def difference(name: str) -> Finish:
        return lambda weight: after[0][name](weight) - before[0][name](weight)

    return {name: estimate(difference(name), after[1], interval) for name in after[0]}


@dataclass(frozen=True, eq=False)
class Discordance:
    """Decisions that only one of two models got right, and McNemar's test of their numbers.

    Attributes
    ----------
    only_before, only_after : int64 arrays (n,)
        Decisions that only the first model, or only the second, got right.
    p_value : float64 array (n,)
        McNemar's exact test, two-sided: the probability of counts at least as unequal if either
        model were equally likely to be the right one in each of these decisions.
    adjusted : float64 array (n,)
        p-values adjusted after Benjamini and Hochberg: among all with ``adjusted <= q``, at most
        a share q is expected to be due to chance.
    """

    only_before: IntArray
    only_after: IntArray
    p_value: FloatArray
    adjusted: FloatArray


def mcnemar(only_before: npt.ArrayLike, only_after: npt.ArrayLike) -> Discordance:
    """Apply McNemar's exact test to one pair of counts, or to many at once.

    Parameters
    ----------
    only_before, only_after : int or int array (n,)
        Number of decisions that only the first model, or only the second, got right.

    Returns
    -------
    Discordance
        Arrays of shape (n,).

    Raises
    ------
    DataError
        When the numbers are not counts, or the two lengths differ.

    Examples
    --------
    >>> mcnemar([1, 10], [9, 10]).p_value.round(4).tolist()
    [0.0215, 1.0]
    """
    error = DataError("only_before and only_after: expected the same number of counts in each")
    flat = ([n] if _is_single(n) else n for n in (only_before, only_after))
    b, c = (vector(counts, "iu", error) for counts in flat)
    if b.shape != c.shape:
        raise error
    if (b < 0).any() or (c < 0).any():
        raise DataError("only_before and only_after: found a negative count")
    b, c = b.astype(np.int64), c.astype(np.int64)  # small types would not hold the sum
    p = np.minimum(1.0, 2.0 * bdtr(np.minimum(b, c).astype(np.float64), b + c, 0.5))
    return Discordance(b, c, p, _adjusted(p))


def _is_single(counts: Any) -> bool:
    return np.isscalar(counts) or getattr(counts, "ndim", 1) == 0  # np.ndim refuses ragged lists


def label_changes(Y_true: Any, before: Any, after: Any) -> Discordance:
    """Count for every label the rows on which only one of two models was right.

    Parameters
    ----------
    Y_true : sparse matrix (n_rows, n_labels)
        True labels, 0/1.
    before, after : label sets
        Predictions of the two models, as for ``Y_pred`` of `set_metrics`.

    Returns
    -------
    Discordance
        One entry per label. Labels on which the models never differ are not tested: their
        ``p_value`` and ``adjusted`` are 1.

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
    # Exactly one model is right where exactly one predicts the label.
    only_first = without(first.predicted, second.predicted)
    only_second = without(second.predicted, first.predicted)
    hits_first, hits_second = _totals(only_first, first), _totals(only_second, second)
    right_before = hits_first[0] + hits_second[1]
    right_after = hits_second[0] + hits_first[1]
    tested = (right_before + right_after) > 0
    result = mcnemar(right_before, right_after)
    adjusted = np.ones(tested.size)
    adjusted[tested] = _adjusted(result.p_value[tested])
    return replace(result, adjusted=adjusted)


def _totals(only: Any, overlap: Any) -> tuple[IntArray, IntArray]:
    """Count by label the right and the wrong ones of one model's own predictions."""
    all_of_it = only.sum(axis=0).astype(np.int64)
    right = only.multiply(overlap.truth).sum(axis=0).astype(np.int64)
    return right, all_of_it - right


def _adjusted(p: FloatArray) -> FloatArray:
    order = np.argsort(-p)
    ranks = np.arange(p.size, 0, -1)
    result = np.empty(p.size)
    result[order] = np.minimum.accumulate(p[order] * p.size / ranks)
    return result
