"""Metrics by definition: sets, lists and loops over rows.

A truth is a list of sets of label ids, a prediction a list of lists of label ids, best first.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, log, log2, nan

Truth = Sequence[set[int]]
Rankings = Sequence[Sequence[int]]


def mean(values: Sequence[float]) -> float:
    """Average, ignoring NaN."""
    counted = [value for value in values if not isnan(value)]
    return sum(counted) / len(counted) if counted else nan


def ranked(scores: dict[int, float]) -> list[int]:
    """Order labels by decreasing score; ties go to the smaller id, zeros are no prediction."""
    return sorted((j for j in scores if scores[j] != 0), key=lambda j: (-scores[j], j))


def precision_at(truth: Truth, rankings: Rankings, k: int) -> float:
    return mean([sum(j in y for j in r[:k]) / k for y, r in zip(truth, rankings, strict=True)])


def recall_at(truth: Truth, rankings: Rankings, k: int, zero: float) -> float:
    return mean(
        [
            sum(j in y for j in r[:k]) / len(y) if y else zero
            for y, r in zip(truth, rankings, strict=True)
        ]
    )


def gain(y: set[int], r: Sequence[int], k: int, q: Sequence[float] | None = None) -> float:
    """Discounted gain of one row; a hit is worth 1, or its weight in `q`."""
    return sum(
        (1.0 if q is None else q[j]) / log2(place + 2) for place, j in enumerate(r[:k]) if j in y
    )


def ideal(y: set[int], k: int) -> float:
    return sum(1.0 / log2(place + 2) for place in range(min(k, len(y))))


def ndcg_at(
    truth: Truth, rankings: Rankings, k: int, zero: float, q: Sequence[float] | None = None
) -> float:
    return mean(
        [
            gain(y, r, k, q) / ideal(y, k) if y else zero
            for y, r in zip(truth, rankings, strict=True)
        ]
    )


def best_rankings(truth: Truth, q: Sequence[float]) -> list[list[int]]:
    return [ranked({j: q[j] for j in y}) for y in truth]


def raw_psp_at(truth: Truth, rankings: Rankings, k: int, q: Sequence[float]) -> float:
    return mean(
        [sum(q[j] for j in r[:k] if j in y) / k for y, r in zip(truth, rankings, strict=True)]
    )


def psp_at(truth: Truth, rankings: Rankings, k: int, q: Sequence[float], zero: float) -> float:
    best = raw_psp_at(truth, best_rankings(truth, q), k, q)
    return raw_psp_at(truth, rankings, k, q) / best if best else zero


def psndcg_at(truth: Truth, rankings: Rankings, k: int, q: Sequence[float], zero: float) -> float:
    best = ndcg_at(truth, best_rankings(truth, q), k, 0.0, q)
    return ndcg_at(truth, rankings, k, 0.0, q) / best if best else zero


def coverage_at(truth: Truth, rankings: Rankings, k: int, zero: float) -> float:
    present = set().union(*truth)
    found = {j for y, r in zip(truth, rankings, strict=True) for j in r[:k] if j in y}
    return len(found) / len(present) if present else zero


def abandonment_at(truth: Truth, rankings: Rankings, k: int) -> float:
    return mean([float(not y & set(r[:k])) for y, r in zip(truth, rankings, strict=True)])


def inverse_propensity(count: int, n: int, a: float, b: float) -> float:
    return 1 + (log(n) - 1) * (b + 1) ** a * (count + b) ** -a


def calibration_error(
    truth: Truth, estimates: Sequence[dict[int, float]], n_bins: int, n_labels: int | None
) -> float:
    """ECE over the given estimates, or, with `n_labels`, over all pairs (missing ones being 0)."""
    bins: list[list[tuple[float, int]]] = [[] for _ in range(n_bins)]
    for y, row in zip(truth, estimates, strict=True):
        for j in row if n_labels is None else range(n_labels):
            p = row.get(j, 0.0)
            number = next(b for b in range(n_bins) if p * n_bins <= b + 1)
            bins[number].append((p, j in y))
    total = sum(len(pairs) for pairs in bins)
    gaps = [abs(sum(hit - p for p, hit in pairs)) for pairs in bins]
    return sum(gaps) / total if total else nan
