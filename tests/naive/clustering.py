"""Interpolated label trees (Baharav et al. 2021, section 4.2), group by group, label by label.

Balanced k-means is the case without frequencies. A vector is a dict from feature to value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

Vector = dict[int, float]
Centres = Callable[[int, int], tuple[int, int]]
"""The two labels of a group that are the first centres."""


@dataclass(frozen=True)
class Interpolation:
    f: Sequence[float]
    f_tilde: Sequence[float]
    lambda_: float
    gamma: float = 0.0
    through_weighted: bool = True


@dataclass(frozen=True)
class Builder:
    vectors: Sequence[Vector]
    centres: Centres
    interpolation: Interpolation | None = None
    arity: int = 2
    max_leaf_size: int = 1
    tolerance: float = 1e-4
    max_iterations: int = 100
    begins: dict[int, int] = field(default_factory=dict)

    def tree(self) -> Any:
        """The tree as nested tuples; a leaf is its label."""
        return self._node(list(range(len(self.vectors))), 0)

    def _node(self, labels: list[int], begin: int) -> Any:
        if len(labels) == 1:
            return labels[0]
        if len(labels) <= max(self.arity, self.max_leaf_size):
            return tuple(labels)
        return tuple(self._node(part, at) for part, at in self._cut(labels, begin, self.arity))

    def _cut(self, labels: list[int], begin: int, parts: int) -> list[tuple[list[int], int]]:
        if parts == 1 or not labels:
            return [(labels, begin)] if labels else []
        if len(labels) == parts:
            return [([label], begin + i) for i, label in enumerate(labels)]
        front_parts = math.ceil(parts / 2)
        front, back = self.split(labels, begin, front_parts / parts)
        if len(front) < front_parts:
            front_parts = len(front)
        elif len(back) < parts - front_parts:
            front_parts = min(parts - len(back), len(front))
        back_parts = min(parts - front_parts, len(back))
        cut_front = self._cut(front, begin, front_parts)
        return cut_front + self._cut(back, begin + len(front), back_parts)

    def split(self, labels: list[int], begin: int, share: float) -> tuple[list[int], list[int]]:
        """Alternate between the two problems until the objective stops changing."""
        v = [unit(self.vectors[label]) for label in labels]
        lambda_, f, fano = 0.0, [1 / len(labels)] * len(labels), 0.0
        if self.interpolation is not None:
            lambda_ = self.interpolation.lambda_
            f = frequencies(self.interpolation, labels)
            fano = max(lambda_ - 1, 0) if self.interpolation.through_weighted else lambda_
        first, second = self.centres(begin, begin + len(labels))
        plus, minus = v[first], v[second]
        best, alpha = -math.inf, [0] * len(labels)
        for _ in range(self.max_iterations):
            ratio = [  # beta / f of Equation 5
                (2 - lambda_) / 2 * (dot(x, plus) - dot(x, minus)) + fano * weight
                for x, weight in zip(v, f, strict=True)
            ]
            new = rounded(lemma_1(ratio, f, share), ratio)
            if new == alpha:
                break
            plus = unit(weighted_sum(v, f, new, +1))
            minus = unit(weighted_sum(v, f, new, -1))
            value = objective(v, f, new, plus, minus, lambda_, fano) / 2
            if value <= best:
                break
            alpha = new
            if value < best + self.tolerance:
                break
            best = value
        sides = list(zip(labels, alpha, strict=True))
        return [label for label, a in sides if a > 0], [label for label, a in sides if a < 0]


def frequencies(given: Interpolation, labels: Sequence[int]) -> list[float]:
    """f(lambda) of Equation 4 over the labels at hand."""
    n = len(labels)
    f = shares([given.f[label] for label in labels]) or [1 / n] * n
    f_tilde = shares([given.f_tilde[label] for label in labels]) or f
    lambda_, gamma = given.lambda_, given.gamma
    if given.through_weighted:
        shrunk = [x ** min(lambda_, 1) for x in f]
        fano = max(lambda_ - 1, 0)
    else:
        shrunk = [1 / n] * n
        fano = lambda_
    denominator = (2 - lambda_) * sum(shrunk) + fano + gamma
    return [
        ((2 - lambda_) * x + fano * y + gamma / n) / denominator
        for x, y in zip(shrunk, f_tilde, strict=True)
    ]


def shares(values: list[float]) -> list[float]:
    total = math.fsum(values)
    return [value / total for value in values] if total > 0 else []


def lemma_1(ratio: Sequence[float], f: Sequence[float], share: float = 0.5) -> list[float]:
    """The best alpha in [-1, 1] with (1 + alpha)'f / 2 = share: all, then a fraction, then none."""
    alpha = [-1.0] * len(f)
    left = share * math.fsum(f)
    for label in sorted(range(len(f)), key=lambda label: (-ratio[label], label)):
        if left <= 0:
            break
        part = min(left / f[label], 1.0) if f[label] > 0 else 1.0
        alpha[label] = 2 * part - 1
        left -= f[label]
    return alpha


def rounded(alpha: Sequence[float], ratio: Sequence[float]) -> list[int]:
    """The fractional label to the front; halved, by its sign; and no side empty."""
    sides = []
    for a, key in zip(alpha, ratio, strict=True):
        if abs(a) < 1e-9:
            sides.append(1 if key > 0 else -1)
        else:
            sides.append(1 if a > -1 + 1e-9 else -1)
    order = sorted(range(len(sides)), key=lambda label: (-ratio[label], label))
    sides[order[0]], sides[order[-1]] = 1, -1
    return sides


def objective(
    v: Sequence[Vector],
    f: Sequence[float],
    alpha: Sequence[int],
    plus: Vector,
    minus: Vector,
    lambda_: float,
    fano: float,
) -> float:
    """Equation 4, literally."""
    return sum(
        weight * (2 - lambda_) * ((1 + a) / 2 * dot(x, plus) + (1 - a) / 2 * dot(x, minus))
        + a * fano * weight**2
        for x, weight, a in zip(v, f, alpha, strict=True)
    )


def dot(a: Vector, b: Vector) -> float:
    return math.fsum(value * b[j] for j, value in a.items() if j in b)


def unit(x: Vector) -> Vector:
    length = math.sqrt(dot(x, x))
    return {j: value / length for j, value in x.items()} if length > 0 else {}


def weighted_sum(
    v: Sequence[Vector], f: Sequence[float], alpha: Sequence[int], side: int
) -> Vector:
    total: Vector = {}
    for x, weight, a in zip(v, f, alpha, strict=True):
        if a == side:
            for j, value in x.items():
                total[j] = total.get(j, 0.0) + weight * value
    return total
