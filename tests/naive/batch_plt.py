"""A probabilistic label tree learnt in batch, in plain NumPy: every node's problem separately.

Jasinska et al. (2016) with the node classifiers of Parabel (Prabhu et al. 2018). A tree is given
by the parents of its nodes, the root first, and the labels of its leaves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Labels = Sequence[Sequence[int]]


def loss(name: str, margins: Array) -> Array:
    """Of the margins y m."""
    if name == "log":
        return np.logaddexp(0, -margins)
    return np.maximum(0, 1 - margins) ** 2


def objective(name: str, w: Array, X: Array, y: Array, costs: Array) -> float:
    """½|w|² + Σ C_i loss(y_i w·x_i)."""
    return float(0.5 * w @ w + costs @ loss(name, y * (X @ w)))


def solve(name: str, X: Array, y: Array, costs: Array, passes: int = 1000) -> Array:
    """Dual coordinate ascent: Hsieh et al. (2008), and Shalev-Shwartz & Zhang (2013) for the log.

    Every dual variable a_i in turn moves towards where it would be at the optimum, by a step that
    the curvature of the loss (2 or ¼) allows.
    """
    curvature = 0.25 if name == "log" else 2.0
    a = np.zeros(len(y))
    w = np.zeros(X.shape[1])
    for _ in range(passes):
        for i in range(len(y)):
            m = y[i] * (X[i] @ w)
            ideal = costs[i] / (1 + np.exp(m)) if name == "log" else 2 * costs[i] * (1 - m)
            step = (ideal - a[i]) / (1 + curvature * costs[i] * (X[i] @ X[i]))
            step = max(step, -a[i]) if name != "log" else step
            a[i] += step
            w += step * y[i] * X[i]
    return w


def row_scale(X: Array, weights: Array) -> float:
    """Power of two that makes the median of the rows' lengths about 1; rows of zeros are absent."""
    square = (X**2).sum(axis=1)
    weights, square = weights[square > 0], square[square > 0]
    if weights.sum() == 0:
        return 1.0
    exponents = np.floor(np.log2(square) / 2 + 0.5)
    order = np.argsort(exponents)
    below = np.cumsum(weights[order])
    return float(2.0 ** -exponents[order][np.argmax(below >= below[-1] / 2)])


def link(name: str, margins: Array) -> Array:
    """Probability of a margin: σ(m), exp(-max(0, 1 - m)²), or exp(-max(0, 1 - m)³)."""
    if name == "cubic_hinge":
        return np.exp(-(np.maximum(0, 1 - margins) ** 3))
    if name == "log":
        return 1 / (1 + np.exp(-margins))
    return np.exp(-loss(name, margins))


def constant_margin(name: str, total: float, bias: float) -> float:
    """Margin that the bias alone reaches on examples that are all alike and cost ``total``."""
    one, costs = np.full((1, 1), bias or 1.0), np.full(1, total)
    return float((solve(name, one, np.ones(1), costs, 5000) @ one.T)[0])


class BatchPLT:
    """The classifiers of all nodes but the root's parent; ``weights[v]`` ends with the bias."""

    def __init__(
        self,
        parents: Sequence[int],
        label_of: Mapping[int, int],
        X: Array,
        Y: Labels,
        *,
        loss: str = "squared_hinge",
        link_name: str | None = None,
        C: float = 1.0,
        plenty: float = math.inf,
        bias: float = 1.0,
        example_costs: Array | None = None,
        label_costs: Mapping[int, float] | None = None,
    ) -> None:
        self.parents, self.label_of, self.bias = parents, label_of, bias
        self.link = link_name or loss
        below = [self._labels_below(v) for v in range(len(parents))]
        example_costs = np.ones(len(X)) if example_costs is None else example_costs
        scale = row_scale(X, example_costs)
        rows = np.hstack([scale * X, np.full((len(X), 1), bias)])
        self.weights: list[Array] = []
        for v, parent in enumerate(parents):
            reached = [i for i, row in enumerate(Y) if parent <= 0 or below[parent] & set(row)]
            of_all = v == 0 and v not in label_of  # a root that is not a leaf
            y = np.array([1.0 if of_all or below[v] & set(Y[i]) else -1.0 for i in reached])
            dearest = [
                max(((label_costs or {}).get(j, 1.0) for j in below[v] & set(Y[i])), default=1.0)
                for i in reached
            ]
            costs = C * example_costs[reached] * np.array(dearest)
            n = float(example_costs[reached][y > 0].sum())
            share = math.sqrt(plenty / n) if n > plenty else 1.0  # of C
            if len(set(y.tolist())) < 2:
                m = constant_margin(loss, float(costs.sum()), bias) * (y[0] if len(y) else -1.0)
                self.weights.append(np.append(np.zeros(X.shape[1]), m / (bias or 1.0)))
            else:
                w = solve(loss, rows[reached], y, share * costs)
                self.weights.append(np.append(scale * w[:-1], w[-1]))

    def _labels_below(self, v: int) -> set[int]:
        if v in self.label_of:
            return {self.label_of[v]}
        children = [c for c, parent in enumerate(self.parents) if parent == v]
        return {label for c in children for label in self._labels_below(c)}

    def probabilities(self, x: Array) -> dict[int, float]:
        """Probability of every label: the product along its path."""
        found = {}
        for leaf, label in self.label_of.items():
            v, product = leaf, 1.0
            while v >= 0:
                margin = self.weights[v][:-1] @ x + self.weights[v][-1] * (self.bias or 1.0)
                product *= float(link(self.link, np.array(margin)))
                v = self.parents[v]
            found[label] = product
        return found
