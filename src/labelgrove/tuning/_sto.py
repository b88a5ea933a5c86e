"""Search-based threshold optimisation (Jasinska et al. 2016, Section 4.1 and Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove.tuning._bounds import clip
from labelgrove.tuning._measure import f_from_counts
from labelgrove.tuning._pairs import BoolArray, FloatArray, IntArray, Pairs, grouped
from labelgrove.tuning._search import ThresholdSearch
from labelgrove.tuning._thresholds import Thresholds, as_default


class STO(ThresholdSearch):
    """Find the best thresholds on the data by trying every score.

    Scores above the lower bound are kept and sorted at the end. For a rare label, the best
    threshold on these data may be far from the best on other data; `FTA` and `OFO` vary less.

    Parameters
    ----------
    n_labels : int
    average : {"macro", "micro", "instance"}
        The F-measure to maximise.
    common : bool, optional
        One threshold for all labels, or one for each, which is the default for "macro".
    lower : float or array-like of shape (n_labels,)
        Kappa of Algorithm 1, an exclusive lower bound on the thresholds; scores that do not exceed
        it are ignored. See `lower_bounds`.
    upper : float
        Upper bound on the thresholds, even of labels whose lower bound is higher; infinity allows
        predicting nothing.
    zero_division : {0, 1}
        F-measure of a label (or row) that is never true and never predicted.

    Raises
    ------
    ParameterError
        If a parameter lies outside its domain.

    Examples
    --------
    >>> sto = STO(1).update([[0], [1], [0], [1]], [[0.1], [0.2], [0.3], [0.4]])
    >>> sto.finish().values.tolist(), sto.finish().score
    ([0.2], 0.8)
    """

    common_by_default = False

    def _begin(self) -> None:
        # Pairs with a score: the label or row to whose F they contribute, the score, the truth.
        self._kept: list[tuple[IntArray, FloatArray, BoolArray]] = [
            (np.empty(0, np.int64), np.empty(0), np.empty(0, np.bool_))
        ]
        self._positives = [np.empty(0, np.int64)]

    def _take(self, pairs: Pairs) -> None:
        row = pairs.row + self._rows
        group = {"macro": pairs.label, "micro": np.zeros_like(row), "instance": row}[self._average]
        self._positives.append(group[pairs.truth])
        there = self._in_reach(pairs)
        # Scores above the upper bound are always predicted, like those equal to it.
        score = np.minimum(pairs.score[there].astype(np.float64), self._upper)
        self._kept.append((group[there], score, pairs.truth[there]))

    def finish(self) -> Thresholds:
        """Return the best thresholds; ties go to the highest."""
        n_groups = {"macro": self.n_labels, "micro": 1, "instance": self._rows}[self._average]
        positives = np.bincount(np.concatenate(self._positives), minlength=n_groups)
        group, score, truth = (np.concatenate(parts) for parts in zip(*self._kept, strict=True))
        nothing = f_from_counts(np.zeros(n_groups), positives, np.zeros(n_groups), self._zero)
        sweep = _sweep(group, score, truth, n_groups)
        f_of = f_from_counts(sweep.hits, positives[sweep.group], sweep.rank, self._zero)
        if self._common:
            return self._one_for_all(sweep, f_of, nothing)
        values, best = _best_of_each(sweep, f_of, nothing, self._upper)
        mean = float(best.mean()) if n_groups else 0.0
        return Thresholds(values, as_default(self._upper), "sto", self._average, mean)

    def _one_for_all(self, sweep: _Sweep, f_of: FloatArray, nothing: FloatArray) -> Thresholds:
        """Track the mean F over all groups as the threshold falls from score to score."""
        before = np.concatenate(([0.0], f_of[:-1]))
        firsts = sweep.rank == 1
        before[firsts] = nothing[sweep.group[firsts]]
        order = np.argsort(-sweep.score, kind="stable")
        falling = sweep.score[order]
        gained = np.cumsum((f_of - before)[order]) / max(len(nothing), 1)
        start = float(nothing.mean()) if len(nothing) else 0.0
        ends = _run_ends(falling)
        # Predicting nothing is impossible if a score reaches the upper bound.
        nothing_at_all = -1.0 if len(falling) and falling[0] >= self._upper else start
        reached = np.concatenate(([nothing_at_all], start + gained[ends]))
        best = int(np.argmax(reached))
        chosen = self._upper if best == 0 else float(falling[ends][best - 1])
        values = np.broadcast_to(clip(chosen, self._lower, self._upper), (self.n_labels,)).copy()
        return Thresholds(values, as_default(chosen), "sto", self._average, float(reached[best]))


@dataclass(frozen=True)
class _Sweep:
    """Scores, descending within each group, with running counts of pairs (`rank`) and hits."""

    group: IntArray
    score: FloatArray
    hits: IntArray
    rank: IntArray


def _sweep(group: IntArray, score: FloatArray, truth: BoolArray, n_groups: int) -> _Sweep:
    """Sort pairs by group, and by falling score within one."""
    by_score = np.argsort(-score, kind="stable")
    in_group, starts = grouped(group[by_score], n_groups)
    order = by_score[in_group]
    group, truth = group[order], truth[order]
    begin = starts[group]
    hits_before = np.concatenate(([0], np.cumsum(truth)))
    hits = hits_before[1:] - hits_before[begin]
    rank = np.arange(1, len(group) + 1) - begin
    return _Sweep(group, score[order], hits, rank)


def _best_of_each(
    sweep: _Sweep, f_of: FloatArray, nothing: FloatArray, upper: float
) -> tuple[FloatArray, FloatArray]:
    """Return the threshold of every group that gives the best F, and that F."""
    values, best = np.full(len(nothing), upper), nothing.copy()
    if not len(f_of):
        return values, best
    # A threshold includes all pairs of equal score, so only the end of such a run counts.
    ends = _run_ends(sweep.score, sweep.group)
    group, score, f_of = sweep.group[ends], sweep.score[ends], f_of[ends]
    begins = np.flatnonzero(np.diff(group, prepend=-1))
    present = group[begins]
    # Scores that reach the upper bound are always predicted.
    forced = score[begins] >= upper
    best[present[forced]] = -1.0
    greatest = np.maximum.reduceat(f_of, begins)
    better = greatest > best[present]
    winners = np.flatnonzero(f_of == np.repeat(greatest, np.diff(begins, append=len(group))))
    first = winners[np.searchsorted(winners, begins)]
    values[present[better]] = score[first[better]]
    best[present[better]] = greatest[better]
    return values, best


def _run_ends(*keys: npt.NDArray[Any]) -> IntArray:
    """Return the last index of every run of equal keys."""
    if not len(keys[0]):
        return np.empty(0, np.int64)
    last = np.ones(len(keys[0]), np.bool_)
    last[:-1] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    return np.flatnonzero(last)
