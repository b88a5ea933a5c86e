"""The steps of OFO, for many labels at once (Jasinska et al. 2016, Algorithm 2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from labelgrove.tuning._bounds import clip
from labelgrove.tuning._pairs import BoolArray, FloatArray, IntArray, Pairs, grouped

_FEW_LABELS = 32
"""With fewer labels than this, stepping through them one by one is faster than in rounds."""

Counts = IntArray
"""OFO's state, shape (3, m): hits, positives and predicted rows of every label.

a_j = a + hits and b_j = b + positives + predicted. The counts are integers, so the result does not
depend on the order of addition.
"""


@dataclass(frozen=True)
class Rule:
    """Rule that computes a threshold from counts; arrays have shape (1,) or (m,)."""

    a: FloatArray  # the paper's a_j at the start
    b: FloatArray  # and its b_j
    lower: FloatArray | None  # exclusive; None for nu_j of the rows so far
    upper: float

    def of(self, labels: Any) -> Rule:
        """Return the rule for some labels, given by ids or a slice."""

        def part(values: FloatArray) -> FloatArray:
            return values if len(values) == 1 else values[labels]

        lower = None if self.lower is None else part(self.lower)
        return Rule(part(self.a), part(self.b), lower, self.upper)

    def thresholds(self, counts: Counts, rows: Any, ahead: int = 0) -> FloatArray:
        """Return tau_j = a_j / b_j (Equation 8), within the bounds, after so many rows.

        With ``ahead``, return the smallest possible threshold after that many more rows.
        """
        hits, positives, predicted = counts
        tau = (self.a + hits) / (self.b + (positives + predicted + ahead))
        if self.lower is not None:
            return clip(tau, self.lower, self.upper)
        # nu = pi / (pi + 1) with pi = positives / rows.
        nu = positives / np.maximum(positives + rows + ahead, 1)
        return clip(tau, nu, self.upper)


def step_through(pairs: Pairs, counts: Counts, rule: Rule, rows_before: int) -> None:
    """Process every label's pairs in row order; `counts` is changed in place.

    Labels are independent, so the r-th pairs of all labels are processed together, round by round.
    The few labels with many pairs are finished one by one.
    """
    order, starts = grouped(pairs.label, counts.shape[1])
    events = _Events(
        pairs.score[order].astype(np.float64), pairs.truth[order], pairs.row[order] + rows_before
    )
    length = np.diff(starts)
    busiest = np.argsort(-length)
    labels = busiest[: np.count_nonzero(length)]
    longest_first, begin = length[labels], starts[labels]
    mine, ours = counts[:, labels], rule.of(labels)
    rounds = int(longest_first[_FEW_LABELS]) if len(labels) > _FEW_LABELS else 0
    # Number of labels with more than r pairs.
    more_than = np.searchsorted(-longest_first, -np.arange(rounds))
    for r, many in enumerate(more_than.tolist()):
        _round(events, begin[:many] + r, mine[:, :many], ours.of(slice(0, many)))
    left = np.flatnonzero(longest_first > rounds)
    for i in left.tolist():
        part = slice(int(begin[i]) + rounds, int(begin[i] + longest_first[i]))
        _one_label(events, part, mine[:, i : i + 1], ours.of(slice(i, i + 1)))
    counts[:, labels] = mine


@dataclass(frozen=True)
class _Events:
    """Pairs in order of label and row; `seen` is the number of earlier rows."""

    score: FloatArray
    truth: BoolArray
    seen: IntArray


def _round(events: _Events, at: IntArray, counts: Counts, rule: Rule) -> None:
    """Process one pair of each of many labels; `counts` is a view."""
    hits, positives, predicted = counts
    truth = events.truth[at]
    reached = events.score[at] >= rule.thresholds(counts, events.seen[at])
    predicted += reached
    positives += truth
    reached &= truth
    hits += reached


def _one_label(events: _Events, part: slice, counts: Counts, rule: Rule) -> None:
    """Process all pairs of one label; `counts` is a view of one column."""
    a, b, upper = float(rule.a[0]), float(rule.b[0]), rule.upper
    fixed = None if rule.lower is None else math.nextafter(float(rule.lower[0]), math.inf)
    hits, positives, predicted = counts[:, 0].tolist()
    scores, truths = events.score[part].tolist(), events.truth[part].tolist()
    for score, truth, seen in zip(scores, truths, events.seen[part].tolist(), strict=True):
        tau = (a + hits) / (b + (positives + predicted))
        low = fixed
        if low is None:
            low = math.nextafter(positives / max(positives + seen, 1), math.inf)
        if score >= min(max(tau, low), upper):
            predicted += 1
            hits += truth
        positives += truth
    counts[:, 0] = hits, positives, predicted
