"""The second stage in plain Python: label by label, example by example."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

FIRST, STEP, KNOTS = -8.0, 0.25, 65
GROUPS = (0, 1, 2, 3, 5, 7, 11, 15, 23, 31)  # the first place of each
SIZES = (1, 1, 1, 2, 2, 4, 4, 8, 8, 16)
POWERS = [0.25 * i for i in range(1, 17)]
MEMORY = 4096
CANDIDATES = 10
SURE = 2.0
SUREST = 25 * math.log(2)


def sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z))


def logit(p: float) -> float:
    return math.log(p) - math.log1p(-p)


def cosine(x: dict[int, float], examples: Sequence[dict[int, float]]) -> float:
    """Cosine of x and the sum of a label's examples, each scaled to unit length."""
    total: dict[int, float] = {}
    for example in examples:
        length = math.sqrt(sum(v * v for v in example.values()))
        for j, value in example.items():
            total[j] = total.get(j, 0.0) + value / length
    product = sum(value * total.get(j, 0.0) for j, value in x.items())
    lengths = [math.sqrt(sum(v * v for v in one.values())) for one in (x, total)]
    return product / math.prod(lengths) if all(lengths) else 0.0


class Calibration:
    """Shares of right labels at knots, made to rise, with straight lines between them.

    A label preceded by others counts with reduced log-odds; the reduction minimises the entropy of
    the outcomes. Of classes that compete, one of which is right, each is right in proportion to a
    power of its odds; the power minimises the log-loss, which must pay for its distance from the
    one expected.
    """

    def __init__(self, groups: int = 1) -> None:
        self.groups = GROUPS[:groups]
        self.knots = [FIRST + STEP * i for i in range(KNOTS)]
        self.counts = [[0.0] * KNOTS for _ in self.groups]
        self.hits = [[0.0] * KNOTS for _ in self.groups]
        self.losses = dict.fromkeys(POWERS, 0.0)

    def add(self, logits: list[float], right: list[bool], keep: float = 1.0) -> None:
        keep = min(keep, 1 - 1 / MEMORY)
        for table in (*self.counts, *self.hits):
            table[:] = [keep * number for number in table]
        for before, (z, hit) in enumerate(zip(logits, right, strict=True)):
            group = self.group(before)
            for i, share in self.near(z):
                self.counts[group][i] += share / SIZES[group]
                self.hits[group][i] += share / SIZES[group] * hit
        for power in self.losses:
            self.losses[power] *= keep
            if sum(right) == 1:
                odds = [math.exp(power * min(max(z, -SUREST), SUREST)) for z in logits]
                self.losses[power] -= math.log(odds[right.index(True)] / sum(odds))

    def power(self, expected: float) -> float:
        return min(POWERS, key=lambda q: self.losses[q] + math.log(q / expected) ** 2 / 4)

    def group(self, place: int) -> int:
        return sum(first <= place for first in self.groups) - 1

    def near(self, z: float) -> list[tuple[int, float]]:
        """The two knots around z, and how near they are: 1 if z is there."""
        at = (min(max(z, self.knots[0]), self.knots[-1]) - FIRST) / STEP
        i = min(int(at), KNOTS - 2)
        return [(i, i + 1 - at), (i + 1, at - i)]

    def table(self, fall: float) -> tuple[list[float], list[float]]:
        """Counts and hits at the knots where every label lies as much lower as its place says."""
        counts, hits = [2.0] * KNOTS, [2 * sigmoid(at) for at in self.knots]
        for group, place in enumerate(self.groups):
            for i, knot in enumerate(self.knots):
                for j, share in self.near(knot - fall * math.log1p(place)):
                    counts[j] += share * self.counts[group][i]
                    hits[j] += share * self.hits[group][i]
        return counts, hits

    def fall(self) -> float:
        """The reduction per place: that with the least entropy of the outcomes at the knots."""

        def entropy(fall: float) -> float:
            counts, hits = self.table(fall)
            return sum(
                -hit * math.log(hit / count) - (count - hit) * math.log(1 - hit / count)
                for count, hit in zip(counts, hits, strict=True)
            )

        return min((0.25 * i for i in range(17)), key=entropy) if len(self.groups) > 1 else 0.0

    def curve(self) -> list[float]:
        """Isotonic regression by the minimax formula; then strictly rising log-odds."""
        each_count, each_hit = self.table(self.fall())
        hits, counts = [0.0, *accumulate(each_hit)], [0.0, *accumulate(each_count)]
        risen = []
        for i in range(KNOTS):
            least = [
                min((hits[b] - hits[a]) / (counts[b] - counts[a]) for b in range(i + 1, KNOTS + 1))
                for a in range(i + 1)
            ]
            risen.append(min(max(*least, least[0], 1e-6), 1 - 1e-6))
        return [logit(p) + 1e-3 * (i - 32) for i, p in enumerate(risen)]

    def __call__(self, z: float, curve: list[float], place: int = 0, fall: float = 0.0) -> float:
        z -= fall * math.log1p(self.groups[self.group(place)])
        if z <= self.knots[0]:
            return sigmoid(curve[0] + z - self.knots[0])
        if z >= self.knots[-1]:
            return sigmoid(curve[-1] + z - self.knots[-1])
        return sigmoid(sum(share * curve[i] for i, share in self.near(z)))


class SecondStage:
    """Newton steps for a logistic regression, and the tally of the gain of its ranking."""

    def __init__(self, tail: float) -> None:
        self.tail = tail
        self.weights = [1.0, 0.0, 0.0]
        self.precision = [[float(i == j) for j in range(3)] for i in range(3)]
        self.first, self.second = Calibration(10), Calibration()
        self.gain = [0.0, 0.0]

    def inputs(self, p: float, near: float) -> list[float]:
        return [min(max(logit(p), -8.0), 8.0), 1.0, near]

    def score(self, p: float, near: float) -> float:
        inputs = self.inputs(p, near)
        return sum(w * x for w, x in zip(self.weights, inputs, strict=True))

    def merit(self, q: float) -> float:
        return (1 - self.tail) + self.tail * q

    def reranks(self) -> bool:
        return self.gain[0] > SURE * math.sqrt(self.gain[1])

    def observe(
        self,
        p: list[float],
        near: list[float],
        q: list[float],
        right: list[bool],
        keep: float = 1.0,
    ) -> None:
        self.first.add([logit(one) for one in p], right, keep)
        k = min(len(p), CANDIDATES)
        scores = [self.score(p[i], near[i]) for i in range(k)]
        found = [sigmoid(z) for z in scores]
        worth = [self.merit(q[i]) * right[i] for i in range(k)]
        order = sorted(range(k), key=lambda i: (-found[i] * self.merit(q[i]), i))
        gain = 0.0
        for most in (1, 3, 5):
            gain += sum(worth[i] for i in order[:most]) / most / 3
            gain -= sum(worth[i] for i in range(min(most, k))) / most / 3
        self.gain = [(1 - 1 / MEMORY) * g + gain**n for n, g in enumerate(self.gain, 1)]
        self.second.add(scores, right[:k], keep)
        downhill = [0.0, 0.0, 0.0]
        for a, row in enumerate(self.precision):
            row[:] = [(1 - 1 / MEMORY) * value + (a == b) / MEMORY for b, value in enumerate(row)]
        for i in range(k):
            x = self.inputs(p[i], near[i])
            for a in range(3):
                downhill[a] += x[a] * (right[i] - found[i])
                for b in range(3):
                    self.precision[a][b] += x[a] * x[b] * found[i] * (1 - found[i])
        step = solve(self.precision, downhill)
        self.weights = [w + s for w, s in zip(self.weights, step, strict=True)]


def solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Cramer's rule, for three unknowns."""

    def determinant(m: list[list[float]]) -> float:
        (a, b, c), (d, e, f), (g, h, i) = m
        return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)

    whole = determinant(matrix)
    found = []
    for column in range(3):
        replaced = [[right[i] if j == column else matrix[i][j] for j in range(3)] for i in range(3)]
        found.append(determinant(replaced) / whole)
    return found
