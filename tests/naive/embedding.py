"""Vectors of features under a label tree, one example at a time, in plain NumPy.

An example is the mean of its features' vectors, h = Σ x_f E_f / Σ |x_f| (Joulin et al. 2016), and
every node v of the tree has a vector w_v and a bias b_v. Its score is s_v = w_v·h + b_v.

==================  ===============================================================================
loss ``"log"``      P(v | parent, x) = σ(s_v), and σ'(s) = σ(s) σ(-s): the loss of every child of a
                    node with a positive label is -log σ(±s) (Wydmuch et al. 2018)
loss ``"softmax"``  P(v | parent, x) = exp(s_v) / Σ exp(s_u) over the siblings u; the first child
                    has no vector, and s = 0 (Baharav et al. 2021, section 5.2)
==================  ===============================================================================

In both, the loss has the slope y_v - P(v | parent, x) in s_v, up to its sign.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Example = tuple[Mapping[int, float], Sequence[int]]


@dataclass
class Learner:
    """How far a vector moves along its gradient.

    AdaGrad (Duchi et al. 2011) with one sum for a whole vector: that of the gradients' mean
    squares.
    """

    adagrad: bool
    rate: float
    epsilon: float

    def step(self, gradient: Array, dimension: int, squares: Array, part: float = 1.0) -> Array:
        """The move, where ``part`` of the rate is left; ``squares`` is that vector's sum."""
        if not self.adagrad:
            return part * self.rate * gradient
        squares += gradient @ gradient / dimension
        return part * self.rate * gradient / np.sqrt(self.epsilon + squares)


@dataclass
class Embedding:
    """The model on a fixed tree.

    Attributes
    ----------
    children : by node, its children in order; node 0 stands above the root
    leaf_of : by label
    vectors : E, by feature
    nodes : w and b, by node: b comes last
    """

    children: Mapping[int, Sequence[int]]
    leaf_of: Mapping[int, int]
    vectors: dict[int, Array]
    softmax: bool
    learner: Learner
    nodes: dict[int, Array] = field(default_factory=dict)
    sums: dict[tuple[str, int], Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.parent = {v: p for p, below in self.children.items() for v in below}
        self.dimension = len(next(iter(self.vectors.values())))
        for below in self.children.values():
            for v in below[1:] if self.softmax else below:
                self.nodes[v] = np.zeros(self.dimension + 1)

    def mean(self, x: Mapping[int, float]) -> Array:
        """h, followed by a 1 for the bias."""
        h = np.append(np.zeros(self.dimension), 1.0)
        for feature, share in shares(x).items():
            h[:-1] += share * self.vectors[feature]
        return h

    def conditional(self, parent: int, h: Array) -> dict[int, float]:
        """P(v | parent, x) of all children."""
        below = self.children[parent]
        scores = np.array([self.nodes[v] @ h if v in self.nodes else 0.0 for v in below])
        odds = np.exp(scores)
        chances = odds / odds.sum() if self.softmax else odds / (1 + odds)
        return dict(zip(below, chances.tolist(), strict=True))

    def probability(self, x: Mapping[int, float], label: int) -> float:
        """P(label | x), the product along its path."""
        h, v, product = self.mean(x), self.leaf_of[label], 1.0
        while v in self.parent:
            product *= self.conditional(self.parent[v], h)[v]
            v = self.parent[v]
        return product

    def gradient(self, h: Array, labels: Sequence[int], part: float, weight: float = 1.0) -> Array:
        """Update the nodes above the labels; return the gradient for the features' mean."""
        positive = set()
        for label in labels:
            v = self.leaf_of[label]
            while v in self.parent:
                positive.add(v)
                v = self.parent[v]
        total = np.zeros(self.dimension)
        for parent in {self.parent[v] for v in positive} | {0}:
            for v, chance in self.conditional(parent, h).items():
                if v not in self.nodes:
                    continue
                slope = weight * ((v in positive) - chance)
                total += slope * self.nodes[v][:-1]
                sums = self.sums.setdefault(("node", v), np.zeros(()))
                self.nodes[v] += self.learner.step(slope * h, self.dimension, sums, part)
        return total

    def move(self, x: Mapping[int, float], gradient: Array, part: float) -> None:
        """Update the vectors of the example's features, each by its share."""
        for feature, share in shares(x).items():
            sums = self.sums.setdefault(("feature", feature), np.zeros(()))
            self.vectors[feature] = self.vectors[feature] + self.learner.step(
                share * gradient, self.dimension, sums, part
            )

    def learn(self, batch: Sequence[Example], parts: Sequence[float]) -> None:
        """Learn from a batch, within which the vectors of features are fixed."""
        means = [self.mean(x) for x, _ in batch]
        gradients = [
            self.gradient(h, labels, part)
            for h, (_, labels), part in zip(means, batch, parts, strict=True)
        ]
        for (x, _), gradient, part in zip(batch, gradients, parts, strict=True):
            self.move(x, gradient, part)


def shares(x: Mapping[int, float]) -> dict[int, float]:
    """The share of each feature in the mean."""
    total = sum(map(abs, x.values()))
    return {feature: value / total for feature, value in x.items()} if total else {}
