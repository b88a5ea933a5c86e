"""Contextual memory tree: an online tree that remembers examples (CMT, Algorithms 1 to 5).

"CMT" is Sun, Beygelzimer, Daumé, Langford & Mineiro (2019), *Contextual memory trees*. A memory is
an example with its labels; its reward for an example is the F1 of their labels, which is 1 or 0 for
single labels. Choices where the paper is open:

* Balance is log2((n_l + 1) / (n_r + 1)), where n_l and n_r count the memories below; a router
  learns (1 - alpha) * balance + alpha * its own prediction (Insert), or half the difference in
  reward between its sides in place of the prediction (Update). An example goes right where the
  router's prediction, after it has learnt from it, is above 0.
* Labels are known, and so is the reward of every memory: Update queries both sides of the node that
  it draws, while the paper explores one and weights it. The step weighs as much as the objective,
  between 0.01 and 100.
* A leaf holds c times the bits of the number of nodes. When it holds more it becomes an inner node,
  from which its memories are inserted one by one; unless all go to one side: then it stays a leaf
  until it holds twice as many.
* In a leaf larger than four times its capacity, only that many memories are searched, from the
  end.
* The similarity is the cosine, plus weights for the products of what x and z have in common, plus
  a bias. It learns from every nearest memory that Update finds, and from one drawn at a leaf, to be
  above 0 where the reward is above 1/2.
* Classifiers, one against some: of the labels at the leaf that the example reaches before it is
  inserted, except removed ones, and of its own. Their margins begin at -1.

Beyond the paper, Reroute also updates with the memory that it draws, except for the similarity;
memory may be bounded by a reservoir; an example may have a weight in all steps and votes; and
prediction lets all memories at several leaves vote.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from .learners import AROW, BIAS, Instance, sigma
from .routers import Router, probable_leaves

LOOKED_AT = 4
SHARPNESS = 8.0
PRIOR = 0.5
UNLIKELY = -1.0
Label = int
Draw = Callable[[int, int, int], int]  # stream, counter, sub

REPLAY, RESERVOIR, REWARD = 2, 3, 12


def f1(a: Collection[Label], b: Collection[Label]) -> float:
    """Return the F1 of two sets of labels; 1 for two empty ones.

    >>> f1([1, 2], [2]), f1([], []), f1([], [1])
    (0.6666666666666666, 1.0, 0.0)
    """
    return 2 * len(set(a) & set(b)) / (len(a) + len(b)) if a or b else 1.0


def unit(x: Instance) -> dict[object, float]:
    """Scale to unit length, without the bias."""
    own = {f: value for f, value in x.items() if f != BIAS}
    length = math.sqrt(sum(value * value for value in own.values()))
    return {f: value / length for f, value in own.items()} if length else own


class Similarity(AROW):
    """f(x, z) = cos(x, z) + w . (x z) + bias."""

    def pair(self, x: Instance, z: Instance) -> dict[object, float]:
        x, z = unit(x), unit(z)
        return {**{f: x[f] * z[f] for f in x if f in z}, BIAS: 1.0}

    def margin(self, pair: Instance) -> float:
        return super().margin(pair) + sum(value for f, value in pair.items() if f != BIAS)

    def f(self, x: Instance, z: Instance) -> float:
        return self.margin(self.pair(x, z))


class Classifier(AROW):
    """The classifier of a label, which starts with a negative margin."""

    def margin(self, x: Instance) -> float:
        return super().margin(x) + UNLIKELY


@dataclass(eq=False)
class Memory:
    """A stored example and its leaf."""

    x: Instance
    labels: tuple[Label, ...]
    weight: float
    leaf: Node | None = None


@dataclass(eq=False)
class Node(Router):
    """A leaf, which holds memories, or an inner node, which has a router."""

    n: int = 0  # memories at or below it
    memories: list[Memory] = field(default_factory=list)
    g: AROW = field(default_factory=AROW)

    def child(self, x: Instance) -> Node:
        left, right = self.children()
        return right if self.g.margin(x) > 0 else left

    def balance(self) -> float:
        left, right = self.children()
        return math.log2((left.n + 1) / (right.n + 1))

    def is_torn(self, x: Instance) -> bool:
        """Whether the evidence for the two sides is nearly equal."""
        learnt = any(f in self.g.w for f in x)
        return learnt and abs(self.g.margin(x)) < 1e-5

    def goes_right(self, x: Instance) -> float:
        """Return the probability that the memories near x are on the right."""
        left, right = self.children()
        if left.n == 0 or right.n == 0:
            return float(left.n == 0)
        return sigma(self.slope * self.g.margin(x))


class MemoryTree:
    """A tree that grows with its memories."""

    def __init__(
        self,
        draw: Draw,
        *,
        alpha: float = 0.1,
        c: int = 4,
        d: int = 1,
        max_memories: int = 0,
        classifiers: bool = True,
    ) -> None:
        self.draw = draw
        self.alpha, self.c, self.d = alpha, c, d
        self.max_memories = max_memories
        self.root = Node(0)
        self.nodes = [self.root]
        self.memories: list[Memory] = []
        self.t = 0  # examples so far
        self.f = Similarity()
        self.h: dict[Label, Classifier] | None = {} if classifiers else None
        self.seen: dict[Label, float] = {}
        self.removed: set[Label] = set()
        self.all_seen = 0.0
        self.closest = math.inf  # how near a decision has come to being a tie

    # --- learning ------------------------------------------------------------------------------

    def learn(self, x: Instance, labels: tuple[Label, ...], weight: float = 1.0) -> None:
        for y in labels:
            self.seen[y] = self.seen.get(y, 0.0) + weight
        self.all_seen += weight
        self.update(x, labels, weight)
        self.t += 1
        self._remember(Memory(x, labels, weight))
        for r in range(self.d):
            z = self.memories[self.draw(REPLAY, self.t, r) % len(self.memories)]
            self._take_out(z)
            self.update(z.x, z.labels, z.weight, r + 1)
            self.insert(z)

    def remove(self, y: Label) -> None:
        """Remove the label and its classifier; memories keep it."""
        self.removed.add(y)
        if self.h is not None:
            self.h.pop(y, None)

    def _remember(self, z: Memory) -> None:
        if not self.max_memories or len(self.memories) < self.max_memories:
            self.memories.append(z)
        else:
            slot = self.draw(RESERVOIR, self.t, 0) % self.t
            if slot >= self.max_memories:
                return
            self._take_out(self.memories[slot])
            self.memories[slot] = z
        self.insert(z)

    def _take_out(self, z: Memory) -> None:
        v = z.leaf
        assert v is not None
        last = v.memories.pop()
        if last is not z:
            v.memories[v.memories.index(z)] = last
        while v is not None:
            v.n -= 1
            v = v.parent

    def capacity(self) -> int:
        return self.c * len(self.nodes).bit_length()

    def looked_at(self, leaf: Node) -> list[Memory]:
        return leaf.memories[-LOOKED_AT * self.capacity() :]

    def path(self, x: Instance, v: Node | None = None) -> list[Node]:
        """Path: the nodes from v, or the root, to the leaf that x reaches."""
        path = [v or self.root]
        while not path[-1].is_leaf:
            self._close_router(path[-1], x)
            path.append(path[-1].child(x))
        return path

    def insert(self, z: Memory) -> None:
        """Insert."""
        leaf = self._go_down(z, self.root)
        more = len(leaf.memories) - 1
        tries = more // self.capacity()
        if more % self.capacity() == 0 and tries > 0 and tries & (tries - 1) == 0:
            self._split(leaf)

    def _go_down(self, z: Memory, v: Node) -> Node:
        while True:
            v.n += 1
            if v.is_leaf:
                v.memories.append(z)
                z.leaf = v
                return v
            objective = (1 - self.alpha) * v.balance() + self.alpha * v.g.margin(z.x)
            self._close(objective)
            if v.balance() == 0:
                self._close_router(v, z.x)
            v.g.update(z.x, -1 if objective < 0 else 1, weight=z.weight)
            self._close_router(v, z.x)
            v = v.child(z.x)

    def _split(self, v: Node) -> None:
        memories, v.memories = v.memories, []
        v.left, v.right = (Node(len(self.nodes) + i, parent=v) for i in (0, 1))
        self.nodes += [v.left, v.right]
        v.n, v.g = 0, AROW()
        for z in memories:
            self._go_down(z, v)
        if v.left.n and v.right.n:
            return
        del self.nodes[-2:]
        v.left = v.right = None
        v.memories = memories
        for z in memories:
            z.leaf = v

    def update(self, x: Instance, labels: tuple[Label, ...], weight: float, turn: int = 0) -> None:
        """Update, of a node that is drawn from the path."""
        path = self.path(x)
        self._learn_classifiers(path[-1], x, labels, weight)
        v = path[self.draw(REWARD, self.t, 2 * turn) % len(path)]
        new = turn == 0
        if v.is_leaf:
            there = self.looked_at(v)
            if there and new:
                z = there[self.draw(REWARD, self.t, 2 * turn + 1) % len(there)]
                self._learn_similarity(x, z, f1(labels, z.labels), weight)
            return
        left, right = v.children()
        r_l = self._reward(left, x, labels, weight, new)
        gain = self._reward(right, x, labels, weight, new) - r_l
        objective = (1 - self.alpha) * v.balance() + self.alpha * gain / 2
        if objective == 0:
            return
        step, before = min(max(abs(objective), 0.01), 100.0), v.g.margin(x)
        v.g.update(x, 1 if objective > 0 else -1, weight=step * weight)
        if gain != 0:
            v.learn_slope(before, gain > 0)

    def _reward(
        self, v: Node, x: Instance, labels: tuple[Label, ...], weight: float, new: bool
    ) -> float:
        there = self.looked_at(self.path(x, v)[-1])
        if not there:
            return 0.0
        near = sorted(((self.f.f(x, z.x), -i) for i, z in enumerate(there)), reverse=True)
        if len(near) > 1:
            self._close(near[0][0] - near[1][0])
        z = there[-near[0][1]]
        reward = f1(labels, z.labels)
        if new:
            self._learn_similarity(x, z, reward, weight)
        return reward

    def _learn_similarity(self, x: Instance, z: Memory, reward: float, weight: float) -> None:
        target = 2 * reward - 1
        if target != 0:
            sign, pair = 1 if target > 0 else -1, self.f.pair(x, z.x)
            loss = 1.0 - sign * self.f.margin(pair)
            if loss != 0 or len(pair) > 2:  # without loss nothing is learnt; 1 * 1 is exact
                self.closest = min(self.closest, abs(loss))
            self.f.update(pair, sign, weight=abs(target) * weight)

    def _learn_classifiers(
        self, leaf: Node, x: Instance, labels: tuple[Label, ...], weight: float
    ) -> None:
        if self.h is None:
            return
        there = {y for z in self.looked_at(leaf) for y in z.labels}
        for y in {*labels, *there} - self.removed:
            self.h.setdefault(y, Classifier()).update(x, 1 if y in labels else -1, weight=weight)

    def _close(self, decision: float) -> None:
        if decision != 0:  # of equal memories, or where nothing speaks for either side
            self.closest = min(self.closest, abs(decision))

    def _close_router(self, v: Node, x: Instance) -> None:
        if v.is_torn(x):
            self.closest = 0.0
        self._close(v.g.margin(x))

    # --- prediction ----------------------------------------------------------------------------

    def votes(self, x: Instance, leaves: int = 1) -> list[tuple[Memory, float]]:
        """Return the memories at the most probable leaves of x, and their shares of the votes."""
        found = [
            (z, math.log(p * z.weight) + SHARPNESS * self.f.f(x, z.x))
            for leaf, p in probable_leaves(self.root, x, leaves, len(self.nodes))
            if p > 0
            for z in self.looked_at(leaf)
        ]
        most = max(vote for _, vote in found)
        total = sum(math.exp(vote - most) for _, vote in found)
        return [(z, math.exp(vote - most) / total) for z, vote in found]

    def probabilities(self, x: Instance, leaves: int = 1) -> dict[Label, float]:
        """Return P(y): the geometric mean of y's share of the votes and its classifier's estimate.

        An extra half vote is divided among the labels by their frequency.
        """
        votes = self.votes(x, leaves)
        rest = PRIOR / (PRIOR + len(votes))
        found = {}
        for y, seen in self.seen.items():
            near = [share for z, share in votes if y in z.labels]
            share = sum(near)
            if near and self.h is not None:
                share = math.sqrt(share * self.h[y].probability(x))
            found[y] = (1 - rest) * share + rest * seen / self.all_seen
        return found
