"""Fixed thresholds approach (Jasinska et al. 2016, Section 4.2)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from labelgrove._errors import ParameterError
from labelgrove._parameters import numbers
from labelgrove.tuning._bounds import UPPER, clip
from labelgrove.tuning._measure import f_from_counts, last_best, reaching
from labelgrove.tuning._pairs import BoolArray, FloatArray, IntArray, Pairs
from labelgrove.tuning._search import ThresholdSearch
from labelgrove.tuning._thresholds import Thresholds

CANDIDATES = (10000, 1000, 200, 100, 50, 20, 10, 7, 5, 4, 3, 2)
"""The paper's set C: it tries thresholds 1/c, and the values themselves for OFO's b."""


class FTA(ThresholdSearch):
    """Try a few candidate thresholds in one pass over the data, keeping no scores.

    Candidate t stands for the threshold max(t, lower_j) of label j. Memory is proportional to the
    number of labels times the number of candidates; for micro- and instance-averaged F, to the
    number of candidates alone.

    Parameters
    ----------
    n_labels : int
    thresholds : array-like of shape (k,), optional
        Candidates, in (0, upper]; by default 1/c for the paper's twelve values of c.
    average : {"macro", "micro", "instance"}
        The F-measure to maximise.
    common : bool, optional
        One candidate for all labels (the default, which varies less between samples), or the best
        for each label, for "macro" only.
    lower : float or array-like of shape (n_labels,)
        Exclusive lower bound on the thresholds; see `lower_bounds`.
    upper : float
        Upper bound on the thresholds, even of labels whose lower bound is higher.
    zero_division : {0, 1}
        F-measure of a label (or row) that is never true and never predicted.

    Raises
    ------
    ParameterError
        If a parameter lies outside its domain.

    Examples
    --------
    >>> fta = FTA(2, thresholds=[0.1, 0.2, 0.5])
    >>> fta.update([[1, 0], [0, 1]], [[0.4, 0.15], [0.15, 0.3]]).finish().values.tolist()
    [0.2, 0.2]
    """

    common_by_default = True

    def __init__(
        self,
        n_labels: int,
        *,
        thresholds: npt.ArrayLike | None = None,
        average: str = "macro",
        common: bool | None = None,
        lower: npt.ArrayLike = 0.0,
        upper: float = UPPER,
        zero_division: float = 0.0,
    ) -> None:
        self._given = thresholds
        super().__init__(
            n_labels,
            average=average,
            common=common,
            lower=lower,
            upper=upper,
            zero_division=zero_division,
        )

    def _begin(self) -> None:
        self._candidates = _check_candidates(self._given, self._upper)
        self._least = float(self._candidates[0])
        # Column k counts pairs that reach exactly k candidates. "instance" keeps only the sum of
        # the rows' F-measures.
        groups = {"macro": self.n_labels, "micro": 1, "instance": 0}[self._average]
        self._hits = np.zeros((groups, len(self._candidates) + 1), np.int64)
        self._predicted = np.zeros_like(self._hits)
        self._positives = np.zeros(groups, np.int64)
        self._row_sums = np.zeros(len(self._candidates))

    def _take(self, pairs: Pairs) -> None:
        reached = np.searchsorted(self._candidates, pairs.score, "right")
        reached[~self._in_reach(pairs)] = 0
        if self._average == "instance":
            group, n_groups = pairs.row - pairs.first_row, pairs.n_rows
            hits, predicted, positives = self._tally(group, n_groups, reached, pairs.truth)
            self._row_sums += self._f(hits, predicted, positives).sum(axis=0)
            return
        group = pairs.label if self._average == "macro" else np.zeros_like(pairs.label)
        counts = self._tally(group, len(self._positives), reached, pairs.truth)
        self._hits += counts[0]
        self._predicted += counts[1]
        self._positives += counts[2]

    def _tally(
        self, group: IntArray, n_groups: int, reached: IntArray, truth: BoolArray
    ) -> tuple[IntArray, IntArray, IntArray]:
        width = len(self._candidates) + 1
        cell = group * width + reached
        predicted = np.bincount(cell, minlength=n_groups * width)
        hits = np.bincount(cell[truth], minlength=n_groups * width)
        positives = np.bincount(group[truth], minlength=n_groups)
        return hits.reshape(-1, width), predicted.reshape(-1, width), positives

    def _f(self, hits: IntArray, predicted: IntArray, positives: IntArray) -> FloatArray:
        """F-measure of every group (rows) at every candidate (columns)."""
        return f_from_counts(
            reaching(hits), positives[:, np.newaxis], reaching(predicted), self._zero
        )

    def finish(self) -> Thresholds:
        """Return the best candidate, or the best for each label; ties go to the highest."""
        if self._average == "instance":
            curve = self._row_sums / max(self._rows, 1)
        else:
            by_group = self._f(self._hits, self._predicted, self._positives)
            if not self._common:
                return self._each_label(by_group)
            curve = by_group.mean(axis=0) if len(by_group) else np.zeros(len(self._candidates))
        best = last_best(curve)
        chosen = float(self._candidates[best])
        values = clip(chosen, self._lower, self._upper)
        return Thresholds(
            np.broadcast_to(values, (self.n_labels,)).copy(),
            chosen,
            "fta",
            self._average,
            float(curve[best]),
            self._candidates.copy(),
            curve,
        )

    def _each_label(self, by_label: FloatArray) -> Thresholds:
        best = last_best(by_label)
        values = clip(self._candidates[best], self._lower, self._upper)
        score = by_label.max(axis=1).mean() if len(by_label) else 0.0
        return Thresholds(values, float(self._candidates[-1]), "fta", self._average, float(score))


def _check_candidates(thresholds: npt.ArrayLike | None, upper: float) -> FloatArray:
    if thresholds is None:
        candidates = 1.0 / np.array(CANDIDATES, np.float64)
        return np.unique(np.minimum(candidates, upper))
    candidates = np.unique(numbers("thresholds", thresholds))
    if np.ndim(thresholds) != 1 or not candidates.size:
        raise ParameterError("thresholds: expected at least one number, in a list or 1-D array")
    if not ((candidates > 0) & (candidates <= upper)).all():
        raise ParameterError(f"thresholds: expected numbers above 0 and up to upper={upper:g}")
    return candidates
