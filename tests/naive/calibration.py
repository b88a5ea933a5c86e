"""The measured link of a batch model, in plain Python: isotonic, then logistic regression."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

Counts = Sequence[Sequence[int]]

BINS, RANGE = 256, 4.0
FEWEST_POSITIVES, POSITIVES_FOR_ONE, MOST_OF_EACH = 20, 200, 4
FEWEST_CHILDREN, LEAST_DOUBT = 8, 0.02
RARITIES, KNOTS, TOWARDS_ALL, LEAST_SLOPE = 5, (-2.0, 0.0), 20.0, 0.05


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


def rarity(positives: int, examples: int) -> int:
    """Of a child: the least r with a share of 4^-(r + 1) or more, at most 4."""
    return next((r for r in range(RARITIES) if positives * 4 ** (r + 1) >= examples), RARITIES - 1)


def curves(negatives: Counts, positives: Counts) -> list[list[float]]:
    """The probability at the centre of every bin, for children of each rarity."""
    wrong, right = (np.sum(counts, axis=0).tolist() for counts in (negatives, positives))
    if sum(right) < FEWEST_POSITIVES:
        return [[squared_hinge(centre(b)) for b in range(BINS)]] * RARITIES
    of_all = log_odds(wrong, right)
    found = [
        of_all if n == 0 or n == sum(wrong) + sum(right) else bent(of_all, *of_rarity)
        for n, *of_rarity in zip(
            np.sum(negatives, axis=1) + np.sum(positives, axis=1), negatives, positives, strict=True
        )
    ]
    return [[1 / (1 + math.exp(-z)) for z in one] for one in found]


def bent(
    of_all: Sequence[float], negatives: Sequence[int], positives: Sequence[int]
) -> list[float]:
    """The log-odds of some children: a piecewise linear function of those of all."""
    z = np.array(of_all)
    terms = np.stack([np.ones(BINS), z, *(np.maximum(z - knot, 0) for knot in KNOTS)], axis=1)
    start = np.array([0.0, 1.0, *(0.0 for _ in KNOTS)])

    def loss(w: npt.NDArray[np.float64]) -> float:
        odds = terms @ w
        of_children = positives @ np.logaddexp(0, -odds) + negatives @ np.logaddexp(0, odds)
        return float(of_children + TOWARDS_ALL / 2 * ((w - start) ** 2).sum())

    best = minimize(loss, start, method="BFGS", options={"gtol": 1e-6}).x
    at_knot = best[0] + best[1] * KNOTS[0]
    low, middle, high = (max(slope, LEAST_SLOPE) for slope in np.cumsum(best[1:]))
    below, between, above = np.minimum(z, KNOTS[0]), np.clip(z, *KNOTS), np.maximum(z, KNOTS[1])
    found = at_knot + low * (below - KNOTS[0]) + middle * (between - KNOTS[0])
    return [float(odds) for odds in found + high * (above - KNOTS[1])]


def log_odds(negatives: Sequence[int], positives: Sequence[int]) -> list[float]:
    """The log-odds at the centre of every bin, of all children."""
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
    return [_between(lines, centre(b)) for b in range(BINS)]


def probability(at_centre: Sequence[float], margin: float) -> float:
    """Between two centres on a straight line, beyond the last as there."""
    return _between([(centre(b), p) for b, p in enumerate(at_centre)], margin)


def _between(points: Sequence[tuple[float, float]], m: float) -> float:
    m = min(max(m, points[0][0]), points[-1][0])
    for (a, p), (b, q) in pairwise(points):
        if m <= b:
            return p + (q - p) * (m - a) / (b - a)
    raise AssertionError
