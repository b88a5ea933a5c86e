"""LdSM (Majzoubi & Choromanska 2020), Algorithms 1 to 5, following the paper's pseudo-code.

Choices where the paper is open (design.md, section 8): the statements after the training loop of
Algorithm 2 run for every direction m; C_v and l_v keep counting over epochs; ties in Algorithm 3 go
to the candidate with fewer directions, then to the first; a node of priority 0 is never split; a
split after which every child holds all of the node's examples or none is undone, and its node stays
a leaf. Examples without labels do not train, but are passed down. Every count is weighted by the
examples' weights, except the number of a feature's examples, which must reach ``min_count`` for the
feature to be used in a node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from .learners import BIAS, Feature, Instance
from .regressors import REGRESSORS, Regressors

Label = int
LHist = dict[Label, float]
Draw = Callable[..., int]  # (seed, stream, counter, sub) -> 64 random bits

SHUFFLE, WEIGHTS, PLACES = 4, 6, 7
EQUAL = 1e-9
"""Values of J this close are equal: rounding must not decide."""

MOST_DEPTH = 1000
"""Nodes at this depth are not split."""

DOUBTFUL = 2e-5
"""Decisions closer than this could differ in single precision."""


@dataclass(frozen=True)
class Example:
    """Scaled features with the bias, distinct labels, and how much the example counts."""

    x: Instance
    y: tuple[Label, ...]
    weight: float = 1.0


@dataclass(frozen=True)
class Settings:
    """The parameters of a tree, with the paper's names if it has any."""

    M: int = 4
    T_max: int = 100
    E: int = 3
    lambda1: float = 1.0
    lambda2: float = 1.0
    learner: str = "adagrad"
    rate: float = 0.1
    spread: float = 0.1
    min_examples: int = 2
    min_count: int = 1
    shuffle: bool = True
    seed: int = 0


@dataclass
class Node:
    """Node v of the pseudo-code; P_m and P_m^i are ``P[m]`` and ``Pi[i][m]``."""

    I: list[int]  # noqa: E741
    LHist: LHist
    key: int
    depth: int = 0
    regressors: Regressors | None = None
    places: dict[Feature, int] = field(default_factory=dict)
    ch: list[Node] = field(default_factory=list)
    C_v: float = 0.0
    l_v: LHist = field(default_factory=dict)
    P: list[float] = field(default_factory=list)
    Pi: dict[Label, list[float]] = field(default_factory=dict)
    J: list[float] = field(default_factory=list)  # after every epoch

    @property
    def is_leaf(self) -> bool:
        return not self.ch


def objective(
    P: Sequence[float],
    Pi: Collection[tuple[float, Sequence[float]]],
    lambda1: float,
    lambda2: float,
) -> float:
    """Return J of Eq. 1; ``Pi`` holds (pi_i, [P_1^i, …, P_M^i]) of every label."""
    M = len(P)
    pairs = [(j, k) for j in range(M) for k in range(j + 1, M)]
    balancing = sum(abs(P[j] - P[k]) for j, k in pairs)
    integrity = sum(pi * sum(abs(Pi_i[j] - Pi_i[k]) for j, k in pairs) for pi, Pi_i in Pi)
    return balancing - lambda1 * integrity + lambda2 * abs(sum(P) - 1.0)


def balancedness(P: Sequence[float]) -> float:
    """Return beta of Definition 1."""
    return max(abs(p - sum(P) / len(P)) for p in P)


def purity(Pi: Collection[tuple[float, Sequence[float]]]) -> float:
    """Return alpha of Definition 2."""
    return sum(pi * sum(min(p, sum(Pi_i) - p) for p in Pi_i) / len(Pi_i) for pi, Pi_i in Pi)


def directions(margins: Sequence[float]) -> list[int]:
    """Return the children that an example goes to (Section 2)."""
    above = [m for m, margin in enumerate(margins) if margin > 0.5]
    return above or [max(range(len(margins)), key=lambda m: (margins[m], -m))]


class Tree:
    """One tree of the ensemble; ``doubtful`` if a decision was close (see DOUBTFUL)."""

    def __init__(
        self, settings: Settings, data: Sequence[Example], draw: Draw, number: int = 0
    ) -> None:
        self.settings = settings
        self.data = data
        self.draw = draw
        self.doubtful = False
        self.nodes: list[Node] = []
        self.root = self._build(draw(settings.seed, PLACES, number))

    # --- Algorithm 1 ---

    def _update_hist(self, hist: LHist, i: int) -> None:
        for k in self.data[i].y:
            if self.data[i].weight > 0:
                hist[k] = hist.get(k, 0.0) + self.data[i].weight

    def _build(self, key: int) -> Node:
        root = Node(list(range(len(self.data))), {}, key)
        for i in root.I:
            self._update_hist(root.LHist, i)
        self.nodes.append(root)
        t = 1
        Q = [root]
        while Q and t < self.settings.T_max:
            v = min(Q, key=lambda u: (-priority(u), self.nodes.index(u)))
            Q.remove(v)
            if priority(v) <= 0 or len(v.I) < self.settings.min_examples or v.depth >= MOST_DEPTH:
                continue
            self.train_regressors(v)
            ch = self.create_children(v)
            if not any(0 < len(child.I) < len(v.I) for child in ch):
                v.regressors = None
                continue
            v.ch = ch
            self.nodes += ch
            Q += ch
            t += self.settings.M
        return root

    # --- Algorithm 2 ---

    def train_regressors(self, v: Node) -> None:
        s = self.settings
        v.places = self._places(v)
        v.regressors = REGRESSORS[s.learner](s.M, s.rate, lambda f, m: self._start(v, f, m))
        v.P = [0.0] * s.M
        v.Pi = {k: [0.0] * s.M for k in v.LHist}
        v.l_v = dict.fromkeys(v.LHist, 0.0)
        order = list(v.I)
        for e in range(s.E):
            if s.shuffle:
                self._shuffle(order, self.draw(v.key, SHUFFLE, e))
            for i in order:
                y, weight = self.data[i].y, self.data[i].weight
                if not y or weight == 0:
                    continue
                x = {f: value for f, value in self.data[i].x.items() if f in v.places}
                for k in y:
                    v.C_v += weight
                    v.l_v[k] += weight
                targets = self.optimize_objective(v, y, weight)
                v.regressors.learn(x, targets, weight)
                pred = [min(max(margin, 0.0), 1.0) for margin in v.regressors.margins(x)]
                self._move(v, y, weight, pred)
            v.J.append(objective(v.P, self._labels(v), s.lambda1, s.lambda2))

    def _move(self, v: Node, y: tuple[Label, ...], weight: float, pred: Sequence[float]) -> None:
        v.P, new = self._moved(v, y, weight, pred)
        v.Pi |= new

    @staticmethod
    def _moved(
        v: Node, y: tuple[Label, ...], weight: float, sent: Sequence[float]
    ) -> tuple[list[float], dict[Label, list[float]]]:
        """Return the P_m and the P_m^k of y's labels after the example is sent there."""
        n = weight * len(y)
        P = [((v.C_v - n) * p + n * s) / v.C_v for p, s in zip(v.P, sent, strict=True)]
        Pi = {
            k: [
                ((v.l_v[k] - weight) * p + weight * s) / v.l_v[k]
                for p, s in zip(v.Pi[k], sent, strict=True)
            ]
            for k in y
        }
        return P, Pi

    @staticmethod
    def _labels(v: Node) -> list[tuple[float, list[float]]]:
        """Return pi_i = l_v(i) / C_v and P^i of every label."""
        return [(v.l_v[k] / v.C_v, v.Pi[k]) for k in v.LHist]

    def _places(self, v: Node) -> dict[Feature, int]:
        """Number the features that occur in enough training examples of v, in order."""
        train = [self.data[i] for i in v.I if self.data[i].y and self.data[i].weight > 0]
        count = Counter(f for example in train for f, x in example.x.items() if x and f != BIAS)
        kept = sorted(f for f, n in count.items() if n >= self.settings.min_count)
        return {BIAS: 0} | {f: n for n, f in enumerate(kept, 1)}

    def _start(self, v: Node, f: Feature, m: int) -> float:
        bits = self.draw(v.key, WEIGHTS, v.places[f], m)
        return self.settings.spread * (2.0 * ((bits >> 40) / 2**24) - 1.0)

    def _shuffle(self, order: list[int], key: int) -> None:
        for n in range(len(order), 1, -1):
            j = self.draw(key, SHUFFLE, n) % n
            order[n - 1], order[j] = order[j], order[n - 1]

    # --- Algorithm 3 ---

    def optimize_objective(self, v: Node, y: tuple[Label, ...], weight: float) -> list[float]:
        s = self.settings
        J_opt, best = float("inf"), [0.0] * s.M
        found = []
        for subset in range(1, 2**s.M):
            y_hat = [float(subset >> m & 1) for m in range(s.M)]
            P, moved = self._moved(v, y, weight, y_hat)
            labels = [(v.l_v[k] / v.C_v, moved.get(k, v.Pi[k])) for k in v.LHist]
            J = objective(P, labels, s.lambda1, s.lambda2)
            found.append(J)
            fewer = sum(y_hat) < sum(best)
            if J_opt - J > EQUAL or (J_opt - J >= -EQUAL and fewer):
                J_opt, best = J, y_hat
        self.doubtful |= any(EQUAL < J - J_opt < DOUBTFUL for J in found)
        return best

    # --- Algorithm 4 ---

    def create_children(self, v: Node) -> list[Node]:
        assert v.regressors is not None
        M = self.settings.M
        ch = [Node([], {}, self.draw(v.key, PLACES, m), v.depth + 1) for m in range(M)]
        for i in v.I:
            margins = v.regressors.margins(self.data[i].x)
            best = sorted(margins)[-2:]
            self.doubtful |= any(abs(margin - 0.5) < DOUBTFUL for margin in margins)
            self.doubtful |= best[1] < 0.5 and best[1] - best[0] < DOUBTFUL
            for m in directions(margins):
                self._update_hist(ch[m].LHist, i)
                ch[m].I.append(i)
        return ch

    # --- Algorithm 5 ---

    def get_leaves(self, x: Instance) -> list[Node]:
        leaf_list, stack = [], [self.root]
        while stack:
            v = stack.pop()
            if v.is_leaf:
                leaf_list.append(v)
                continue
            assert v.regressors is not None
            stack += [v.ch[m] for m in directions(v.regressors.margins(x))]
        return leaf_list


def priority(v: Node) -> float:
    """Return the priority in the queue of Algorithm 1."""
    return sum(v.LHist.values()) - max(v.LHist.values(), default=0.0)


def shares(leaf: Node, data: Sequence[Example], of: str) -> LHist:
    """Return the leaf's histogram, divided by its sum (``of="labels"``) or by its examples."""
    divisor = sum(leaf.LHist.values()) if of == "labels" else sum(data[i].weight for i in leaf.I)
    return {k: count / divisor for k, count in leaf.LHist.items()}


def predict(trees: Sequence[Tree], x: Instance, of: str) -> LHist:
    """Return the mean of the shares over the leaves of all trees, except leaves without labels."""
    leaves = [
        shares(leaf, tree.data, of) for tree in trees for leaf in tree.get_leaves(x) if leaf.LHist
    ]
    labels = {k for leaf in leaves for k in leaf}
    return {k: sum(leaf.get(k, 0.0) for leaf in leaves) / len(leaves) for k in labels}
