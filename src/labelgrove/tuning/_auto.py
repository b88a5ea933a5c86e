"""Thresholds that do no harm: rare labels borrow from others, by an amount set by cross-fitting.

The threshold that looks best for a label with three positives is mostly chance. `Curves` mixes
the counts of a label with those of its band. Cross-fitting within the given rows chooses how
strongly to mix and how to weigh a wrong prediction, among the settings that are no worse than the
best single threshold in either macro- or micro-averaged F. If there are none, the single threshold
is used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove._elementary import exp, geometric, log
from labelgrove._errors import DataError, ParameterError
from labelgrove._parameters import integer, real
from labelgrove.tuning._borrowing import INDEX, Bands, Counts, Curves, IndexArray, Setting
from labelgrove.tuning._bounds import UPPER, check_upper
from labelgrove.tuning._figures import SetFigures
from labelgrove.tuning._measure import Average, check_average, check_zero_division, reaching
from labelgrove.tuning._pairs import FloatArray, IntArray, best_of_rows, grouped, read_pairs
from labelgrove.tuning._thresholds import FOLDS, Thresholds, as_default

LEAST = 0.01
"""The default smallest threshold: kappa = 1/c of the paper, with c = 100."""

SMALLEST = 1e-4
"""A hard lower limit on thresholds: the paper's smallest candidate."""

_CANDIDATES = 40
_AROUND = geometric(0.25, 4.0, 17)
"""Multiples of the number of predictions that meets a constraint: up to a factor of four."""

_TOGETHER = 4096
"""Number of labels counted together: a few megabytes for all candidates, which may fit a cache."""

_STRENGTHS = (4.0, 16.0, 64.0, 256.0, math.inf)
_WEIGHTS = (0.0, 0.25, 1.0, 4.0, 16.0)
_PRICES = tuple(geometric(0.01, 0.9, 24).tolist())
_AS_MANY = 0.05
"""Numbers of labels whose logarithms differ by less than this count as equal."""


def tune_auto(
    Y: Any,
    scores: Any,
    *,
    average: str = "macro",
    labels_per_row: float | None = None,
    least_recall: float | None = None,
    least_labels: int | None = None,
    frequencies: npt.ArrayLike | None = None,
    lower: float = LEAST,
    upper: float | None = None,
    zero_division: float = 0.0,
) -> Thresholds:
    """Find thresholds that do no harm: rare labels borrow from labels of similar frequency.

    On cross-fitted rows, neither the macro- nor the micro-averaged F-measure is below that of the
    best single threshold. `labels_per_row` and `least_recall` take precedence over this.

    Parameters
    ----------
    Y : sparse or dense 0/1 matrix, shape (n, m)
        True labels.
    scores : sparse or dense matrix of probabilities, shape (n, m)
        Entries that are not stored are 0. Scores below `lower` have no effect, except those of the
        best `least_labels` of a row.
    average : {"macro", "micro", "instance"}
        The F-measure to maximise. For "macro" it is the geometric mean of macro and micro F,
        because macro F alone ignores predictions of labels that are never true.
    labels_per_row : float, optional
        Target number of predicted labels per row. Among thresholds that meet it, those with the
        best micro F are chosen.
    least_recall : float, optional
        Minimum recall. Among thresholds that reach it, the most precise are chosen.
    least_labels : int, optional
        How many of its best labels a row gets even if they miss their thresholds. None: 0, or 1 if
        this raises the instance-averaged F-measure and that is to be maximised.
    frequencies : array-like of shape (m,), optional
        Frequency of each label in all known data, such as the rows that a model has learnt from.
        None: the frequencies in `Y`.
    lower : float
        Lower bound on the thresholds.
    upper : float, optional
        Upper bound on the thresholds. None: 1 with `labels_per_row` or `least_recall`, else 1/2,
        which no optimal threshold for an F-measure exceeds if the probabilities are true.
    zero_division : {0, 1}
        F-measure of a label (or row) that is never true and never predicted.

    Returns
    -------
    Thresholds
        With ``single``, ``single_figures`` and ``cross_fitted``.

    Raises
    ------
    DataError
        If `Y` or `scores` cannot be used, or no threshold reaches `least_recall` or
        `labels_per_row`.
    ParameterError
        If another parameter lies outside its domain.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random((200, 3)) ** 3
    >>> Y = (rng.random(scores.shape) < scores).astype(int)
    >>> tuned = tune_auto(Y, scores)
    >>> tuned.cross_fitted.macro >= tuned.single_figures.macro
    True
    >>> tuned.values.shape
    (3,)
    """
    goal = Goal.of(average, labels_per_row, least_recall)
    if upper is None:
        upper = 1.0 if goal.bound else UPPER
    candidates = _candidates(lower, upper)
    if goal.bound:
        candidates = np.union1d(candidates, _around(goal, Y, scores, candidates))
    zero = check_zero_division(zero_division)
    found = [
        _tuned(goal, _Reached(Y, scores, candidates, zero, least), frequencies)
        for least in goal.fewest(least_labels)
    ]
    return max(found, key=lambda tuned: tuned.score)


def _tuned(goal: Goal, pairs: _Reached, frequencies: npt.ArrayLike | None) -> Thresholds:
    """Tune thresholds for one number of labels that every row gets."""
    candidates = pairs.candidates
    goal.require_reached(pairs.figures(0), candidates[0])
    single_at, single = pairs.best_single(goal)
    curves = pairs.curves(Bands.of(frequencies, pairs.positives))
    chosen, figures = None, single
    for setting, found in pairs.cross_fitted(goal, curves[1:]):
        harmless = found.macro >= single.macro and found.micro >= single.micro
        if (goal.bound or harmless) and goal.value(found) > goal.value(figures):
            chosen, figures = setting, found
    values, default = np.full(pairs.shape[1], candidates[single_at]), single_at
    if chosen is not None:
        (own,), (of_band,) = curves[0].thresholds([chosen])
        default = of_band[0]
        values = candidates[of_band[curves[0].band]]
        values[pairs.labels] = candidates[own]
    return Thresholds(
        values,
        as_default(candidates[default]),
        "auto",
        goal.average,
        float(getattr(figures, goal.average)),
        single=float(candidates[single_at]),
        single_figures=single,
        cross_fitted=figures,
        least_labels=pairs.least_labels,
    )


def best_single(
    Y: Any, scores: Any, average: str, lower: float, upper: float | None, zero_division: float
) -> tuple[float, SetFigures]:
    """Return the single threshold that `tune_auto` compares with, and its figures."""
    candidates = _candidates(lower, UPPER if upper is None else upper)
    pairs = _Reached(Y, scores, candidates, check_zero_division(zero_division))
    at, figures = pairs.best_single(Goal.of(average, None, None))
    return float(candidates[at]), figures


@dataclass(frozen=True)
class Goal:
    """The F-measure to maximise, and the constraint that takes precedence, if any."""

    average: Average
    labels_per_row: float | None
    least_recall: float | None

    @classmethod
    def of(cls, average: str, labels_per_row: Any, least_recall: Any) -> Goal:
        """Check the parameters of `tune_auto` of these names."""
        if labels_per_row is not None:
            labels_per_row = real("labels_per_row", labels_per_row, 1e-6, 1e9)
        if least_recall is not None:
            least_recall = real("least_recall", least_recall, 0.0, 1.0)
        if labels_per_row is None and least_recall is None:
            return cls(check_average(average), None, None)
        if labels_per_row is not None and least_recall is not None:
            raise ParameterError("labels_per_row and least_recall exclude each other")
        return cls("micro", labels_per_row, least_recall)

    @property
    def bound(self) -> bool:
        """Whether a constraint takes precedence over the F-measure."""
        return self.labels_per_row is not None or self.least_recall is not None

    def fewest(self, least_labels: Any) -> tuple[int, ...]:
        """Return the values of `least_labels` to try: the one given, if any."""
        if least_labels is not None:
            return (integer("least_labels", least_labels, 0),)
        return (0, 1) if self.average == "instance" else (0,)

    def require_reached(self, found: SetFigures, threshold: float) -> None:
        """Refuse a constraint that even the smallest threshold, with these figures, misses."""
        even = f"even at the smallest threshold, {threshold:g}"
        if self.least_recall is not None and found.recall < self.least_recall:
            raise DataError(
                f"least_recall={self.least_recall:g}: the recall is only {found.recall:.3g} {even}"
            )
        fewest = 0.0 if self.labels_per_row is None else self.labels_per_row * float(exp(-_AS_MANY))
        if found.labels < fewest:
            raise DataError(
                f"labels_per_row={self.labels_per_row:g}: there are only {found.labels:.3g} labels "
                f"per row {even}"
            )

    def settings(self, strength: float) -> list[Setting]:
        """Return the settings of this strength to try."""
        if self.average == "macro":
            return [Setting(strength, weight, None) for weight in _WEIGHTS]
        return [Setting(strength, None, price) for price in _PRICES]

    def value(self, found: SetFigures) -> tuple[float, ...]:
        """Return the values to maximise, in lexicographic order."""
        if self.labels_per_row is not None:
            off = abs(float(log(max(found.labels, 1e-9) / self.labels_per_row)))
            return -(off // _AS_MANY), found.micro
        if self.least_recall is not None:
            reached = found.recall >= self.least_recall
            return (1.0, found.precision) if reached else (0.0, found.recall)
        if self.average == "macro":
            return (found.macro * found.micro,)
        return (getattr(found, self.average),)


class _Reached:
    """The relevant (row, label) pairs, each with the number of candidate thresholds it reaches.

    The best ``least_labels`` of a row reach all. Pairs are sorted by label and stored in small
    integer types, since there may be many.
    """

    def __init__(
        self, Y: Any, scores: Any, candidates: FloatArray, zero: float, least_labels: int = 0
    ) -> None:
        runs, n_rows, n_labels = read_pairs(Y, scores)
        self.shape = n_rows, n_labels
        self.candidates, self.least_labels = candidates, least_labels
        self._zero = zero
        dtypes = np.int32, np.int32, INDEX, np.bool_
        parts: list[tuple[npt.NDArray[Any], ...]] = [tuple(np.empty(0, t) for t in dtypes)]
        for pairs in runs:
            reached = np.searchsorted(candidates, pairs.score.astype(np.float64), "right")
            reached[best_of_rows(pairs.row, pairs.score, least_labels)] = len(candidates)
            kept = np.flatnonzero(pairs.truth | (reached > 0))
            columns = pairs.row, pairs.label, reached, pairs.truth
            parts.append(tuple(c[kept].astype(t) for c, t in zip(columns, dtypes, strict=True)))
        row, label, reached, truth = (np.concatenate(part) for part in zip(*parts, strict=True))
        order, ends = grouped(label, n_labels)
        self._row, self._label = row[order], label[order]
        self._reached, self._truth = reached[order], truth[order]
        true = np.flatnonzero(self._truth)
        self._true = self._row[true], self._label[true]
        self.positives = np.bincount(self._true[1], minlength=n_labels)
        counts = np.diff(ends)
        self.labels = np.flatnonzero(counts)
        self._known = np.repeat(np.arange(len(self.labels), dtype=np.int32), counts[self.labels])
        self._ends = np.append(ends[self.labels], len(row))
        self._fold = (self._row % FOLDS).astype(INDEX)

    def figures(self, least: int | IndexArray) -> SetFigures:
        """Measure the predictions if a pair must reach more than `least` candidates."""
        # A mask would select several times as slowly as positions do.
        predicted = np.flatnonzero(self._reached > least)
        right = predicted[np.flatnonzero(self._truth[predicted])]
        found = self._row[predicted], self._label[predicted]
        hits = self._row[right], self._label[right]
        return SetFigures.of_pairs(self._true, found, hits, self.shape, self._zero)

    def best_single(self, goal: Goal) -> tuple[int, SetFigures]:
        """Return the best candidate for all labels, and its figures.

        Of neighbours that are equally good, as on few rows, it is the middle one, since other rows
        score a little lower or higher; with a constraint, or if nothing is right, the highest.
        """
        found = [self.figures(at) for at in range(len(self.candidates))]
        values = [goal.value(one) for one in found]
        first = last = max(range(len(found)), key=lambda at: (values[at], at))
        if found[last].recall > 0 and not goal.bound:
            while first > 0 and values[first - 1] == values[last]:
                first -= 1
        middle = (first + last) // 2
        return middle, found[middle]

    def curves(self, bands: Bands) -> list[Curves]:
        """Count all rows first, then the rows outside each fold."""
        return [
            Curves(
                self.labels, partial(self._counts, fold), len(self.candidates), bands, self._zero
            )
            for fold in (None, *range(FOLDS))
        ]

    def _counts(self, fold: int | None) -> Iterator[Counts]:
        """Count the rows outside a fold (None: all rows), some labels at a time."""
        for first in range(0, len(self.labels), _TOGETHER):
            last = min(first + _TOGETHER, len(self.labels))
            pairs = slice(self._ends[first], self._ends[last])
            every = self._known[pairs] - first, self._reached[pairs], self._truth[pairs]
            if fold is not None:
                kept = np.flatnonzero(self._fold[pairs] != fold)
                every = every[0][kept], every[1][kept], every[2][kept]
            label, reached, truth = every
            shape = last - first, len(self.candidates) + 1
            cell, true = label * shape[1] + reached, np.flatnonzero(truth)
            positives = np.bincount(label[true], minlength=shape[0]).astype(np.float64)
            labels = slice(first, last)
            yield Counts(labels, _reaching(cell[true], shape), _reaching(cell, shape), positives)

    def cross_fitted(
        self, goal: Goal, others: list[Curves]
    ) -> Iterator[tuple[Setting, SetFigures]]:
        """Yield every setting's figures; each fold is predicted by thresholds from the others."""
        for strength in _STRENGTHS:
            settings = goal.settings(strength)
            best = np.stack([curves.thresholds(settings)[0] for curves in others])
            for at, setting in enumerate(settings):
                yield setting, self.figures(best[self._fold, at, self._known])


def _reaching(cells: IntArray, shape: tuple[int, int]) -> FloatArray:
    """Return how many pairs of each label reach each candidate, from cells (label, reached)."""
    counts = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
    return reaching(counts).astype(np.float64)


def _candidates(lower: float, upper: float) -> FloatArray:
    """Return candidates in geometric progression; an upper bound above 1 is added as the last."""
    greatest = min(check_upper(upper), 1.0)
    least = real("lower", lower, 0.0, math.inf)
    least = min(max(least, SMALLEST), greatest)
    found = np.unique(geometric(least, greatest, _CANDIDATES))
    return np.append(found, as_default(upper)) if upper > 1 else found


def _around(goal: Goal, Y: Any, scores: Any, candidates: FloatArray) -> FloatArray:
    """Return scores that, as single thresholds, meet a constraint closely or miss it a little."""
    runs, n_rows, _ = read_pairs(Y, scores)
    parts = [(np.empty(0), np.empty(0, np.bool_))]
    parts += [(pairs.score, pairs.truth) for pairs in runs]
    score, truth = (np.concatenate(part) for part in zip(*parts, strict=True))
    if goal.labels_per_row is not None:
        wanted = goal.labels_per_row * n_rows
    else:
        assert goal.least_recall is not None
        of_true = np.sort(score[truth])[::-1]
        recalls = np.arange(1, len(of_true) + 1) / max(len(of_true), 1)
        last = int(np.searchsorted(recalls, goal.least_recall))
        wanted = float(np.count_nonzero(score >= of_true[last : last + 1].min(initial=1.0)))
    values, counts = np.unique(score[score >= candidates[0]], return_counts=True)
    if not len(values):
        return values
    reaching = np.cumsum(counts[::-1])
    at = np.searchsorted(reaching, wanted * _AROUND)
    sides = np.concatenate((at - 1, at)).clip(0, len(values) - 1)  # many scores may be equal
    found: FloatArray = np.minimum(values[::-1][sides], candidates[-1])
    return found
