"""The tuners as in the paper: loops over rows, labels and thresholds, on dense lists.

Jasinska et al. 2016, Sections 3 and 4, and `borrowed`, which is ours. A score of 0 is never a
prediction; thresholds lie in (lower, upper].
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nextafter

Matrix = Sequence[Sequence[float]]
Truth = Sequence[Sequence[int]]


def f(hits: int, positives: int, predicted: int, zero: float) -> float:
    """Equation 1, for one label or row."""
    return 2 * hits / (positives + predicted) if positives + predicted else zero


def predict(scores: Matrix, taus: Sequence[float]) -> list[list[int]]:
    return [[int(s > 0 and s >= tau) for s, tau in zip(row, taus, strict=True)] for row in scores]


def with_best(predicted: Truth, scores: Matrix, k: int) -> list[list[int]]:
    """The best k labels of each row are predicted, too; of equal scores the first."""
    found = []
    for said, row in zip(predicted, scores, strict=True):
        ranked = sorted(range(len(row)), key=lambda j, row=row: -row[j])
        best = {j for j in ranked[:k] if row[j] > 0}
        found.append([int(one or j in best) for j, one in enumerate(said)])
    return found


def averaged_f(Y: Truth, P: Truth, average: str, zero: float) -> float:
    if average == "macro":
        groups = list(zip(zip(*Y, strict=True), zip(*P, strict=True), strict=True))
    elif average == "instance":
        groups = list(zip(Y, P, strict=True))
    else:
        groups = [([y for row in Y for y in row], [p for row in P for p in row])]
    values = [
        f(sum(a and b for a, b in zip(y, p, strict=True)), sum(y), sum(p), zero) for y, p in groups
    ]
    return sum(values) / len(values)


def within(tau: float, lower: float, upper: float) -> float:
    return min(max(tau, nextafter(lower, inf)), upper)


def common_f(
    Y: Truth, scores: Matrix, t: float, lower: Sequence[float], upper: float, how: tuple[str, float]
) -> float:
    return averaged_f(Y, predict(scores, [within(t, low, upper) for low in lower]), *how)


def best_common(
    Y: Truth, scores: Matrix, lower: Sequence[float], upper: float, how: tuple[str, float]
) -> float:
    """The best F of any common threshold: every score is tried, and the upper bound."""
    tried = {s for row in scores for s in row if 0 < s <= upper} | {upper}
    return max(common_f(Y, scores, t, lower, upper, how) for t in tried)


def best_of_label(
    y: Sequence[int], scores: Sequence[float], lower: float, upper: float, zero: float
) -> tuple[float, float]:
    """Algorithm 1, line 9, by exhaustive search: the best F, and the highest threshold with it."""
    tried = {s for s in scores if lower < s <= upper} | {upper}
    found = []
    for tau in tried:
        p = [int(s > 0 and s >= tau) for s in scores]
        hits = sum(a and b for a, b in zip(y, p, strict=True))
        found.append((f(hits, sum(y), sum(p), zero), tau))
    return max(found)


def ofo(
    Y: Truth,
    scores: Matrix,
    a0: Sequence[float],
    b0: Sequence[float],
    lower: Sequence[float] | None,
    upper: float,
) -> tuple[list[float], list[list[int]]]:
    """Algorithm 2: the final thresholds, and the predictions along the way."""
    a, b = list(a0), list(b0)
    positives, predictions = [0] * len(a), []

    def tau(j: int, seen: int) -> float:
        if lower is not None:
            low = lower[j]
        else:  # nu = pi / (pi + 1), with the share of the rows so far as pi
            low = positives[j] / (positives[j] + seen) if positives[j] else 0.0
        return within(a[j] / b[j], low, upper)

    for i, (y, row) in enumerate(zip(Y, scores, strict=True)):
        predicted = predict([row], [tau(j, i) for j in range(len(a))])[0]
        for j in range(len(a)):
            a[j] += y[j] and predicted[j]
            b[j] += y[j] + predicted[j]
            positives[j] += y[j]
        predictions.append(predicted)
    return [tau(j, len(Y)) for j in range(len(a))], predictions


def borrowed(
    Y: Truth,
    scores: Matrix,
    candidates: Sequence[float],
    bands: Sequence[Sequence[int]],
    frequencies: Sequence[float],
    setting: tuple[float, float | None, float | None],
    zero: float,
) -> list[list[float]]:
    """The value of each candidate for each label, with what the label borrows from its band."""
    strength, weight, price = setting
    m = len(frequencies)

    def count(labels: Sequence[int], t: float) -> tuple[int, int, int]:
        pairs = [(y[j], int(s[j] >= t)) for y, s in zip(Y, scores, strict=True) for j in labels]
        return (
            sum(y and p for y, p in pairs),
            sum(y for y, _ in pairs),
            sum(p for _, p in pairs),
        )

    totals = [count(range(m), t) for t in candidates]
    micro = [f(*one, 0.0) for one in totals]
    best = micro.index(max(micro))
    n_pairs = max(totals[best][1] + totals[best][2], 1)
    share = totals[0][1] / sum(frequencies) if sum(frequencies) else 0.0
    values = [[0.0] * len(candidates) for _ in range(m)]
    for band in bands:
        for j in band:
            for k, t in enumerate(candidates):
                band_f = sum(f(*count([i], t), zero) for i in band) / len(band)
                hits, positives, predicted = count([j], t)
                band_hits, band_positives, band_predicted = count(band, t)
                per_positive = max(band_positives, 1)
                # As though `strength` positives of the band's kind had been seen beside its own.
                if strength == inf:
                    own, hit, said = 0.0, band_hits / per_positive, band_predicted / per_positive
                else:
                    own = positives / (positives + strength)
                    n = positives + strength
                    hit = (hits + strength * band_hits / per_positive) / n
                    said = (predicted + strength * band_predicted / per_positive) / n
                if weight is None:
                    assert price is not None
                    values[j][k] = hit - price * said
                else:
                    mixed = own * f(hits, positives, predicted, zero) + (1 - own) * band_f
                    slope = (2 * hit - micro[best] * said) * frequencies[j] * share / n_pairs
                    values[j][k] = mixed / m + weight * slope
    return values
