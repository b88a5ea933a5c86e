"""FastXML (Prabhu & Varma 2014), Algorithms 1 to 3, following the paper's pseudo-code.

Choices where the paper is open: the DCG's logarithm is to base 2; among labels of equal sums the
first ranks higher; sides whose costs differ by at most EQUAL are equal; the hyperplane's C_delta is
divided by the share of the example's side, as in the authors' program; a node whose examples have
at most one label between them is not split; a split that sends all examples to one child is undone,
and its node stays a leaf. Examples without labels do not train, but are passed down. Every sum is
weighted by the examples' weights, which in costs are raised to 1 on average if they are below it;
gains are weighted by the labels' values (PfastreXML's propensities).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from scipy.optimize import brentq

from .ldsm import Example, Label
from .learners import BIAS, Feature, Instance

Draw = Callable[..., int]  # (seed, stream, counter, sub) -> 64 random bits
Distribution = dict[Label, float]

PLACES, SOLVER = 7, 9
EQUAL = 1e-9
"""Costs this close are equal: rounding must not decide."""

DOUBTFUL = 1e-3
"""Decisions closer than this could differ with a less exact hyperplane."""


@dataclass(frozen=True)
class Settings:
    """The parameters of a tree, with the paper's names if it has any."""

    MaxLeaf: int = 4
    C_delta: float = 2.0
    C_r: float = 1.0
    bias: float = 1.0
    rounds: int = 1
    seed: int = 0


@dataclass
class Node:
    """Node n of the pseudo-code: its examples, and a hyperplane and children, or a distribution."""

    Id: list[int]
    key: int
    w: dict[Feature, float] = field(default_factory=dict)
    children: list[Node] = field(default_factory=list)
    P: Distribution = field(default_factory=dict)
    ndcg: float = 0.0


def discount(place: int) -> float:
    """Return the discount of a place in a ranking, counted from 1."""
    return 1.0 / math.log2(1.0 + place)


def I_L(y: Sequence[Label]) -> float:  # noqa: N802
    """Return 1 over the DCG of a ranking that has the labels of y first."""
    return 1.0 / sum(discount(place) for place in range(1, len(y) + 1))


def nDCG(r: Sequence[Label], y: Sequence[Label], gain: Mapping[Label, float]) -> float:  # noqa: N802
    """Return the nDCG of a ranking of all labels for one example."""
    place = {label: n for n, label in enumerate(r, 1)}
    return I_L(y) * sum(gain.get(label, 1.0) * discount(place[label]) for label in y)


def log_loss(margin: float) -> float:
    """Return log(1 + exp(-margin)) without overflow."""
    return max(0.0, -margin) + math.log1p(math.exp(-abs(margin)))


def minus_slope(margin: float) -> float:
    """Return minus the derivative of the log loss."""
    return 1.0 / (1.0 + math.exp(min(margin, 700.0)))


def hyperplane(
    X: Sequence[Instance], delta: Sequence[int], C: Sequence[float]
) -> dict[Feature, float]:
    """Minimise |w|_1 + sum_i C_i log(1 + exp(-delta_i w . x_i)), one weight after another.

    Along one weight the objective is convex, so the weight is 0 where the slope of the loss is
    between -1 and 1 there, and else where that slope and the weight's sign cancel.
    """
    w: dict[Feature, float] = {f: 0.0 for x in X for f in x}
    columns = {f: [(i, x[f]) for i, x in enumerate(X) if f in x] for f in w}
    margins = [0.0] * len(X)

    def slope(f: Feature, at: float) -> float:
        return -sum(
            C[i] * delta[i] * v * minus_slope(delta[i] * (margins[i] + (at - w[f]) * v))
            for i, v in columns[f]
        )

    for _ in range(1000):
        moved = 0.0
        for f, old in list(w.items()):
            at_0 = slope(f, 0.0)
            best = 0.0 if abs(at_0) <= 1.0 else _root(partial(slope, f), at_0)
            for i, v in columns[f]:
                margins[i] += (best - old) * v
            moved = max(moved, abs(best - old))
            w[f] = best
        if moved < 1e-6:
            break
    return w


def _root(slope: Callable[[float], float], at_0: float) -> float:
    """Return u, of the sign opposite to the slope at 0, where slope(u) + sign(u) is 0."""
    sign = -math.copysign(1.0, at_0)
    far = sign
    while sign * slope(far) + 1.0 < 0.0:
        far *= 2.0
    return float(brentq(lambda u: slope(u) + sign, 0.0, far, xtol=1e-9))


class Tree:
    """One tree of the ensemble; ``doubtful`` if a decision was close (see DOUBTFUL)."""

    def __init__(
        self,
        settings: Settings,
        data: Sequence[Example],
        draw: Draw,
        number: int = 0,
        gain: Mapping[Label, float] | None = None,
    ) -> None:
        self.settings = settings
        self.data = data
        self.draw = draw
        self.gain = gain or {}
        self.doubtful = False
        weights = [e.weight for e in data if e.weight > 0]
        self.scale = max(1.0, len(weights) / sum(weights)) if weights else 1.0
        self.root = Node(list(range(len(data))), draw(settings.seed, PLACES, number))
        self.grow_node_recursive(self.root)

    # --- Algorithm 1 ---

    def grow_node_recursive(self, n: Node) -> None:
        counts = self._counts(n)
        several = sum(counts.values()) > max(counts.values(), default=0.0)
        if len(n.Id) > self.settings.MaxLeaf and several and self.split_node(n):
            for child in n.children:
                self.grow_node_recursive(child)
        else:
            self.process_leaf(n)

    def _counts(self, n: Node) -> Distribution:
        counts: Distribution = {}
        for i in n.Id:
            for label in self.data[i].y:
                if self.data[i].weight > 0:
                    counts[label] = counts.get(label, 0.0) + self.data[i].weight
        return counts

    def process_leaf(self, n: Node) -> None:
        total = sum(self.data[i].weight for i in n.Id)
        n.P = {label: count / total for label, count in self._counts(n).items()}

    # --- Algorithm 2 ---

    def split_node(self, n: Node) -> bool:
        s = self.settings
        Id = [i for i in n.Id if self.data[i].y and self.data[i].weight > 0]
        delta = [1 if self.draw(n.key, SOLVER, j) & 1 else -1 for j in range(len(Id))]
        X = [self._with_bias(self.data[i].x) for i in Id]
        margins: list[float] | None = None
        before: list[int] | None = None
        for _ in range(s.rounds):
            while True:
                r = {side: self._rank(Id, delta, side) for side in (-1, 1)}
                new = self._sides(Id, delta, r, margins)
                if new == delta:
                    break
                delta = new
            n.ndcg = self._mean_ndcg(Id, delta, r)
            if delta == before:
                break
            n.w = hyperplane(X, delta, self._costs(Id, delta))
            margins = [self._margin(n, self.data[i].x) for i in Id]
            before = delta
        sent = [self._margin(n, self.data[i].x) for i in n.Id]
        self.doubtful |= any(0 != abs(margin) < DOUBTFUL for margin in sent)
        self.doubtful |= self._alike(X)
        n.children = [
            Node(
                [i for i, margin in zip(n.Id, sent, strict=True) if (margin > 0) == bool(m)],
                self.draw(n.key, PLACES, m),
            )
            for m in (0, 1)
        ]
        if all(child.Id for child in n.children):
            return True
        n.children, n.w = [], {}
        return False

    def _costs(self, Id: list[int], delta: list[int]) -> list[float]:
        """Return C_delta over the share of each example's side, times the example's weight."""
        weights = [self.data[i].weight for i in Id]
        sums = {-1: 0.0, 1: 0.0}
        for w, d in zip(weights, delta, strict=True):
            sums[d] += w
        C = self.settings.C_delta * self.scale * sum(weights)
        return [C / sums[d] * w for w, d in zip(weights, delta, strict=True)]

    def _rank(self, Id: list[int], delta: list[int], side: int) -> list[Label]:
        """Return r+ or r-: labels of the node by sum_i 1/2 (1 +- delta_i) I_L(y_i) y_i."""
        sums = {label: 0.0 for i in Id for label in self.data[i].y}
        for i, d in zip(Id, delta, strict=True):
            for label in self.data[i].y if d == side else ():
                sums[label] += self.data[i].weight * I_L(self.data[i].y)
        return sorted(sums, key=lambda k: (-sums[k] * self.gain.get(k, 1.0), k))

    def _sides(
        self,
        Id: list[int],
        delta: list[int],
        r: dict[int, list[Label]],
        margins: list[float] | None,
    ) -> list[int]:
        s, new = self.settings, []
        for j, i in enumerate(Id):
            v = {side: -s.C_r * nDCG(r[side], self.data[i].y, self.gain) for side in (-1, 1)}
            if margins is not None:
                for side in v:
                    v[side] += s.C_delta * log_loss(side * margins[j])
                self.doubtful |= abs(v[-1] - v[1]) < DOUBTFUL
            new.append(delta[j] if abs(v[-1] - v[1]) <= EQUAL else 1 if v[1] < v[-1] else -1)
        return new

    def _mean_ndcg(self, Id: list[int], delta: list[int], r: dict[int, list[Label]]) -> float:
        weights = [self.data[i].weight for i in Id]
        found = [nDCG(r[d], self.data[i].y, self.gain) for i, d in zip(Id, delta, strict=True)]
        return sum(w * f for w, f in zip(weights, found, strict=True)) / sum(weights)

    def _with_bias(self, x: Instance) -> Instance:
        features = {f: v for f, v in x.items() if f != BIAS and v != 0}
        return {BIAS: self.settings.bias, **features} if self.settings.bias else features

    def _margin(self, n: Node, x: Instance) -> float:
        return sum(n.w.get(f, 0.0) * v for f, v in self._with_bias(x).items())

    @staticmethod
    def _alike(X: Sequence[Instance]) -> bool:
        """Whether two features could share their weight arbitrarily, so that w is not unique."""
        columns = {f: tuple(x.get(f, 0.0) for x in X) for x in X for f in x}
        return len({min(c, tuple(-v for v in c)) for c in columns.values()}) < len(columns)

    # --- Algorithm 3 ---

    def leaf_of(self, x: Instance) -> Node:
        n = self.root
        while n.children:
            n = n.children[1 if self._margin(n, x) > 0 else 0]
        return n


def predict(trees: Sequence[Tree], x: Instance) -> Distribution:
    """Return the mean of the distributions of all leaves that have one."""
    leaves = [leaf.P for leaf in (tree.leaf_of(x) for tree in trees) if leaf.P]
    labels = {label for P in leaves for label in P}
    return {label: sum(P.get(label, 0.0) for P in leaves) / len(leaves) for label in labels}
