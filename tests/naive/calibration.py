"""The measured link of a batch model, in plain Python: isotonic regression, lines of log-odds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

BINS, RANGE = 256, 4.0
FEWEST_POSITIVES, POSITIVES_FOR_ONE, MOST_OF_EACH = 20, 200, 4
FEWEST_CHILDREN, LEAST_DOUBT = 8, 0.02


def centre(b: int) -> float:
    """The margin in the middle of a bin."""
    return 2 * RANGE * (b + 0.5) / BINS - RANGE


def squared_hinge(m: float) -> float:
    """Parabel's link."""
    return math.exp(-(max(0.0, 1 - m) ** 2))


def isotonic(positives: Sequence[float], sizes: Sequence[float]) -> list[float]:
    """The rising shares with the least squared error (Barlow et al. 1972): max-min of means."""
    n = len(sizes)
    return [
        max(
            min(sum(positives[i : j + 1]) / sum(sizes[i : j + 1]) for j in range(k, n))
            for i in range(k + 1)
        )
        for k in range(n)
    ]


def curve(negatives: Sequence[int], positives: Sequence[int]) -> list[float]:
    """The probability at the centre of every bin."""
    if sum(positives) < FEWEST_POSITIVES:
        return [squared_hinge(centre(b)) for b in range(BINS)]
    of_each = min(sum(positives) // POSITIVES_FOR_ONE, MOST_OF_EACH)
    groups: list[list[int]] = [[]]  # of neighbouring bins
    for b in range(BINS):
        groups[-1].append(b)
        kinds = [sum(of[i] for i in groups[-1]) for of in (negatives, positives)]
        if sum(kinds) >= FEWEST_CHILDREN and min(kinds) >= of_each:
            groups.append([])
    right = [float(sum(positives[b] for b in group)) for group in groups]
    all_of = [sum(float(negatives[b] + positives[b]) for b in group) for group in groups]
    there = [k for k, size in enumerate(all_of) if size > 0]
    means = [
        sum((negatives[b] + positives[b]) * centre(b) for b in groups[k]) / all_of[k] for k in there
    ]
    guesses = [min(max(squared_hinge(m), LEAST_DOUBT), 1 - LEAST_DOUBT) for m in means]
    known = of_each / MOST_OF_EACH
    one_more = [known / 2 + (1 - known) * guess for guess in guesses]
    smoothed = [right[k] + more for k, more in zip(there, one_more, strict=True)]
    shares = isotonic(smoothed, [all_of[k] + 1 for k in there])
    points: list[tuple[float, float]] = []
    for share in sorted(set(shares)):
        bins = [b for k, s in zip(there, shares, strict=True) if s == share for b in groups[k]]
        size = sum(negatives[b] + positives[b] for b in bins)
        mean = sum((negatives[b] + positives[b]) * centre(b) for b in bins) / size
        points.append((mean, share))
    points = [
        (-RANGE, points[0][1] / 4),
        *points,
        (RANGE, 1 - (1 - points[-1][1]) / 4),
    ]
    lines = [(m, math.log(p / (1 - p))) for m, p in points]
    return [1 / (1 + math.exp(-_between(lines, centre(b)))) for b in range(BINS)]


def probability(at_centre: Sequence[float], margin: float) -> float:
    """Between two centres on a straight line, beyond the last as there."""
    return _between([(centre(b), p) for b, p in enumerate(at_centre)], margin)


def _between(points: Sequence[tuple[float, float]], m: float) -> float:
    m = min(max(m, points[0][0]), points[-1][0])
    for (a, p), (b, q) in pairwise(points):
        if m <= b:
            return p + (q - p) * (m - a) / (b - a)
    raise AssertionError
