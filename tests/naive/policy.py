"""Where a new label goes: Algorithm 8 (RANDOM, BEST-GREEDY), and the policies CPET and complete.

A policy answers two questions: which node to extend, and in which nodes an auxiliary classifier can
still be needed for that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from .label_tree import LabelTree, Node
from .learners import Instance, known
from .replay import Hash, mix

Eta = Callable[[Node], float]  # node -> eta(x, node), the node's own conditional probability


class ChildChoice(Protocol):
    """One step down the tree (Algorithm 8, lines 4-6)."""

    def __call__(self, tree: LabelTree, v: Node, eta: Eta) -> Node:
        """Choose a child of ``v``."""


@dataclass
class BestGreedy:
    """Weigh the fit of x against balance (line 6, as read in design.md)."""

    alpha: float = 0.75

    def __call__(self, tree: LabelTree, v: Node, eta: Eta) -> Node:
        fair_share = len(tree.leaves(v)) / len(tree.children[v])

        def score(child: Node) -> float:
            balance = math.log(fair_share / len(tree.leaves(child)))
            return (1.0 - self.alpha) * eta(child) + self.alpha * balance

        return max(tree.children[v], key=score)  # max keeps the first of equals


@dataclass
class RandomChoice:
    """Draw a child by hashing the number of draws made so far (line 4)."""

    seed: int = 0
    hash: Hash = mix  # of the seed and the number of draws
    draws: int = 0

    def __call__(self, tree: LabelTree, v: Node, eta: Eta) -> Node:
        number = self.hash(self.seed, self.draws)
        self.draws += 1
        return tree.children[v][number % len(tree.children[v])]


@dataclass
class FewestLeaves:
    """Keep the tree complete, regardless of x."""

    def __call__(self, tree: LabelTree, v: Node, eta: Eta) -> Node:
        return min(tree.children[v], key=lambda child: len(tree.leaves(child)))


class Policy(Protocol):
    """A_policy of Algorithm 4, line 4, with the set Theta that it needs."""

    def observe(self, x: Instance) -> None:
        """Record an observation, before its new labels are placed."""

    def select(self, tree: LabelTree, eta: Eta, first: bool) -> tuple[Node, bool]:
        """Return the node to extend and whether a node is to be inserted there.

        ``first`` tells whether this is the observation's first new label (RUNFIRSTFOR).
        """

    def may_extend(self, tree: LabelTree, v: Node) -> bool:
        """Tell whether ``v`` can be selected, now or later: then theta(v) is kept."""


@dataclass
class PreLeafPolicy:
    """Algorithm 8: wide pre-leaf nodes (up to b_max leaves) under a tree of arity b.

    The root has up to ``first`` leaves where observations have five features or more, on average.
    """

    choose: ChildChoice
    b: int = 2
    b_max: int = 100
    first: int = 0
    observed: int = 0
    features: int = 0  # of all that were observed
    saved: Node = 0

    def observe(self, x: Instance) -> None:
        self.observed += 1
        self.features += len(known(x))

    def select(self, tree: LabelTree, eta: Eta, first: bool) -> tuple[Node, bool]:
        v = self._descend(tree, tree.root, eta) if first else self.saved  # lines 1-7
        v = self._only_leaf(tree, v)  # line 8
        if self._is_full(tree, v):
            # Line 7 gave a node that the observation's last label has filled. Trees grown from
            # nothing never come here (a mixed node has one leaf at most, and line 8 goes to it).
            v = self._only_leaf(tree, self._descend(tree, v, eta))
        self.saved = v  # line 9
        b_max = self.b_max
        if v == tree.root and self.features >= 5 * self.observed:
            b_max = max(b_max, self.first)
        return v, tree.is_leaf(v) or len(tree.children[v]) >= b_max  # line 10

    def _is_full(self, tree: LabelTree, v: Node) -> bool:
        """Test line 3: children that are not only leaves, and arity b reached.

        A given start tree may exceed b, hence >= where the paper has =.
        """
        mixed = not tree.is_leaf(v) and not tree.is_pre_leaf(v)
        return mixed and len(tree.children[v]) >= self.b

    def _descend(self, tree: LabelTree, v: Node, eta: Eta) -> Node:
        while self._is_full(tree, v):  # line 3
            v = self.choose(tree, v, eta)  # lines 4-6
        return v

    def _only_leaf(self, tree: LabelTree, v: Node) -> Node:
        leaves = tree.leaf_children(v)
        return leaves[0] if len(leaves) == 1 else v

    def may_extend(self, tree: LabelTree, v: Node) -> bool:
        parent = tree.parent[v]
        if not tree.is_leaf(v):
            return not self._is_full(tree, v)
        if parent is None:
            return True
        return not tree.is_pre_leaf(parent) or tree.leaf_children(parent) == [v]


@dataclass
class LeafExpansion:
    """CPET: go down to a leaf and split it (the third variant only)."""

    choose: ChildChoice
    saved: Node = 0

    def observe(self, x: Instance) -> None:
        pass

    def select(self, tree: LabelTree, eta: Eta, first: bool) -> tuple[Node, bool]:
        v = tree.root if first else self.saved
        while not tree.is_leaf(v):
            v = self.choose(tree, v, eta)
        self.saved = v
        return v, True

    def may_extend(self, tree: LabelTree, v: Node) -> bool:
        return tree.is_leaf(v)


def policy_named(
    name: str,
    *,
    alpha: float = 0.75,
    b: int = 2,
    b_max: int = 100,
    seed: int = 0,
    first: int = 0,
) -> Policy:
    """Create a policy by its name in the library."""
    if name == "cpet":
        return LeafExpansion(BestGreedy(alpha))
    choices: dict[str, ChildChoice] = {
        "best-greedy": BestGreedy(alpha),
        "random": RandomChoice(seed),
        "complete": FewestLeaves(),
    }
    return PreLeafPolicy(choices[name], b, b_max, first)
