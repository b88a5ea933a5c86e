"""LOMtree: an online tree that routes examples to class histograms (LOMtree, Algorithm 1).

"LOMtree" is Choromanska & Langford (2015), *Logarithmic time online multiclass prediction*. Choices
where Algorithm 1 is open:

* h_v(x) is the regressor's prediction clipped to [-1, 1], and wherever the algorithm uses it, it is
  the prediction *after* the regressor has learnt from x. An example goes right where it is > 0.
* t counts inner nodes and begins at 0 (the paper's 1 would leave one of the T unused).
* C is updated all the way up whenever it changes, also when a leaf receives an example.
* A leaf below the root has no grandparent; the smallest leaf below the root's other child is used
  instead, and a swap needs Inequality 2 with the C of that leaf.
* Among equally frequent classes of a leaf, the one that is more frequent above it is predicted, and
  a leaf that no example has reached predicts what its parent would.

Beyond the paper, an example may have a weight, in the steps of regressors and in the frequencies
of classes; t, C and T count every example once. And prediction may use several leaves: an example
goes to the side of most of its class with probability sigma(slope * margin), and the most probable
leaves (:mod:`naive.routers`) are mixed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from .learners import Instance, Weights, dot, sigma
from .routers import Router, probable_leaves

Class = int
Nodes = Callable[[int], int]  # from the number of classes seen, T


def clip(score: float) -> float:
    return max(-1.0, min(1.0, score))


@dataclass
class Gradient:
    """Online gradient descent on the squared loss of the clipped prediction.

    The step never overshoots: it is the limit of ever more, ever smaller ones (Karampatziakis &
    Langford 2011, *Online importance weight aware updates*).
    """

    eta: float = 0.25
    w: Weights = field(default_factory=dict)

    def margin(self, x: Instance) -> float:
        return dot(self.w, x)

    def update(self, x: Instance, y: int, weight: float = 1.0) -> None:
        square = sum(value * value for value in x.values())
        step = (1 - math.exp(-self.eta * weight * square)) / square * (y - clip(self.margin(x)))
        for f, value in x.items():
            self.w[f] = self.w.get(f, 0.0) + step * value


class Regressor(Protocol):
    """The regressor of a node, R."""

    def update(self, x: Instance, y: int, weight: float = 1.0) -> None:
        """Learn from ``x`` with target ``y``, +1 or -1, which counts ``weight`` times."""

    def margin(self, x: Instance) -> float:
        """Return w.x."""


NewRegressor = Callable[[], Regressor]


@dataclass(eq=False)
class Node(Router):
    """One node with the statistics of subroutine SetNode."""

    regressor: Regressor
    m: dict[Class, float] = field(default_factory=dict)  # sum of the scores of a class
    l: dict[Class, int] = field(default_factory=dict)  # noqa: E741  # its points that came here
    mass: dict[Class, float] = field(default_factory=dict)  # how many times they count
    n: dict[Class, int] = field(default_factory=dict)  # examples that the regressor has learnt from
    went_right: dict[Class, int] = field(default_factory=dict)  # of those
    C: int = 0  # the size of the smallest leaf at or below this node
    swaps: int = 0  # how often this node was recycled

    def e(self, y: Class) -> float:
        return self.m[y] / self.n[y] if self.n[y] else 0.0

    @property
    def E(self) -> float:  # noqa: N802 - the paper's name
        return sum(self.m.values()) / trained if (trained := sum(self.n.values())) else 0.0

    def h(self, x: Instance) -> float:
        return clip(self.regressor.margin(x))

    def goes_right(self, x: Instance) -> float:
        """Return the probability that most examples of the class of x go right."""
        return sigma(self.slope * self.regressor.margin(x))


class LOMTree:
    """A tree of at most ``max_nodes(classes seen)`` inner nodes."""

    def __init__(
        self, new_regressor: NewRegressor, max_nodes: Nodes, swap_resistance: int = 4
    ) -> None:
        self.new_regressor = new_regressor
        self.max_nodes = max_nodes
        assert swap_resistance >= 1, "a leaf could recycle itself"
        self.R_S = swap_resistance
        self.root = Node(0, new_regressor())
        self.nodes = [self.root]
        self.t = 0
        self.closest = math.inf  # how near a decision has come to being a tie

    # --- training ------------------------------------------------------------------------------

    def learn(self, x: Instance, y: Class, weight: float = 1.0) -> None:
        j = self.root
        while True:
            if y not in j.l:
                j.m[y], j.l[y], j.n[y], j.went_right[y], j.mass[y] = 0.0, 0, 0, 0, 0.0
            j.l[y] += 1
            j.mass[y] += weight
            if j.is_leaf and len(j.l) >= 2:
                self._split_or_swap(j)
            if j.is_leaf:
                j.C += 1
                self._update_smallest(j)
                return
            j = self._train(j, x, y, weight)

    def _split_or_swap(self, j: Node) -> None:
        if self.t < self.max_nodes(len(self.root.l)):
            left, right = (Node(len(self.nodes) + i, self.new_regressor()) for i in (0, 1))
            self.nodes += [left, right]
            self.t += 1
        else:
            s = self._smallest_leaf()
            if s is None or not j.C - max(j.l.values()) > self.R_S * (s.C + 1):  # Inequality 2
                return
            left, right = self._detach(s)
        j.left, j.right = left, right
        left.parent = right.parent = j
        left.C = j.C // 2
        right.C = j.C - left.C
        self._update_smallest(left)

    def _smallest_leaf(self) -> Node | None:
        """Return the leaf s with C_s = C_r that has a grandparent, the left one among equals."""
        if self.root.is_leaf:
            return None
        inner = [child for child in self.root.children() if not child.is_leaf]
        if not inner:
            return None
        s = min(inner, key=lambda child: child.C)
        while not s.is_leaf:
            s = min(s.children(), key=lambda child: child.C)
        return s

    def _detach(self, s: Node) -> tuple[Node, Node]:
        """Take s and its parent out, as in Figure 2, and set them back (SetNode)."""
        pa = s.parent
        assert pa is not None
        gpa = pa.parent
        assert gpa is not None
        left, right = pa.children()
        sib = right if s is left else left
        if pa is gpa.left:
            gpa.left = sib
        else:
            gpa.right = sib
        sib.parent = gpa
        self._update_smallest(sib)
        for node in (s, pa):
            fresh = Node(node.number, self.new_regressor(), swaps=node.swaps + 1)
            node.__dict__.update(fresh.__dict__)
        return s, pa

    def _update_smallest(self, v: Node) -> None:
        while v.parent is not None:
            v = v.parent
            v.C = min(child.C for child in v.children())

    def _train(self, j: Node, x: Instance, y: Class, weight: float) -> Node:
        E, e = j.E, j.e(y)
        c = -1 if e < E else 1
        if j.n[y]:
            j.learn_slope(j.regressor.margin(x), 2 * j.went_right[y] > j.n[y])
        j.regressor.update(x, c, weight=weight)
        h = j.h(x)
        self.closest = min(self.closest, abs(h))
        if sum(j.n.values()) > j.n[y]:  # else E and e(y) are the same sum
            self.closest = min(self.closest, abs(E - e))
        j.n[y] += 1
        j.m[y] += h
        j.went_right[y] += h > 0
        left, right = j.children()
        return right if h > 0 else left

    # --- prediction ----------------------------------------------------------------------------

    def path(self, x: Instance) -> list[Node]:
        """Return the nodes from the root to the leaf that x reaches."""
        path = [self.root]
        while not path[-1].is_leaf:
            left, right = path[-1].children()
            path.append(right if path[-1].h(x) > 0 else left)
        return path

    def _probable_leaves(self, x: Instance, leaves: int) -> list[tuple[Node, float]]:
        """Return the leaf of x, or its most probable leaves, with weights that sum to 1."""
        if leaves == 1:
            return [(self.path(x)[-1], 1.0)]
        return probable_leaves(self.root, x, leaves, len(self.nodes))

    def probabilities(self, x: Instance, leaves: int = 1) -> dict[Class, float]:
        """Return the frequencies of all classes at the leaves of x, smoothed by those above.

        Every node counts an extra half example, divided among the classes by their smoothed
        frequencies at the parent.
        """
        found = dict.fromkeys(self.root.l, 0.0)
        for leaf, weight in self._probable_leaves(x, leaves):
            for y in found:
                found[y] += weight * self._smoothed(leaf, y)
        return found

    def _smoothed(self, v: Node, y: Class) -> float:
        reached, count = sum(v.mass.values()), v.mass.get(y, 0.0)
        if v.parent is None:
            return count / reached
        return (count + 0.5 * self._smoothed(v.parent, y)) / (reached + 0.5)

    def predict(self, x: Instance, leaves: int = 1) -> Class:
        found = self.probabilities(x, leaves)
        return min(found, key=lambda y: (-found[y], y))

    # --- statistics ----------------------------------------------------------------------------

    @staticmethod
    def balance(v: Node) -> float:
        """Return beta = P(h(x) > 0), Definition 2."""
        return sum(v.went_right.values()) / sum(v.n.values())

    @classmethod
    def purity(cls, v: Node) -> float:
        """Return alpha, Definition 1."""
        total = sum(v.n.values())
        return sum(min(v.went_right[y], v.n[y] - v.went_right[y]) / total for y in v.n if v.n[y])

    @classmethod
    def objective(cls, v: Node) -> float:
        """Return J(h), Equation 1."""
        total, beta = sum(v.n.values()), cls.balance(v)
        return 2 * sum(v.n[y] / total * abs(beta - v.went_right[y] / v.n[y]) for y in v.n if v.n[y])

    def entropy(self) -> float:
        """Return G_t of section 2.3, over the examples that have ended in the leaves."""
        leaves = [v for v in self.reachable() if v.is_leaf]
        total = sum(sum(v.l.values()) for v in leaves)
        entropy = 0.0
        for v in leaves:
            weight = sum(v.l.values())
            for count in v.l.values():
                entropy += weight / total * count / weight * math.log(weight / count)
        return entropy

    def reachable(self) -> list[Node]:
        nodes = [self.root]
        for v in nodes:
            if not v.is_leaf:
                nodes += v.children()
        return nodes

    def depth(self) -> int:
        return self._depth_below(self.root)

    def _depth_below(self, v: Node) -> int:
        return 0 if v.is_leaf else 1 + max(self._depth_below(child) for child in v.children())
