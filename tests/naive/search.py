"""Prediction on a label tree: exhaustive, uniform-cost (OPLT, Algorithm 10), threshold, beam.

Every function takes the tree and ``eta``, the map from a node to its own conditional probability
for the example at hand. Answers are lists of (label, probability): higher probability first, and
among equals the smaller label id. Silent leaves are never in them, nor labels outside ``allowed``.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from .label_tree import Label, LabelTree, Node

Eta = Callable[[Node], float]
Ranking = list[tuple[Label, float]]


@dataclass
class Stats:
    """The cost of a search, which evaluates the root and all children of each opened node."""

    evaluated: int = 0
    opened: int = 0
    depth: int = 0  # of the deepest node opened, the root's children being at depth 1


def ranked(probabilities: Mapping[Label, float]) -> Ranking:
    return sorted(probabilities.items(), key=lambda item: (-item[1], item[0]))


def wanted_labels(tree: LabelTree, allowed: Collection[Label] | None) -> set[Label]:
    """Return the labels that may be answered."""
    live = set(tree.live_labels())
    return live if allowed is None else live & set(allowed)


def exhaustive(tree: LabelTree, eta: Eta, allowed: Collection[Label] | None = None) -> Ranking:
    """Return every label's probability: Eq. 2, the product from the root down to its leaf."""
    probabilities = {}
    for label in wanted_labels(tree, allowed):
        p = 1.0
        for v in reversed(tree.path(tree.leaf_of[label])):
            p = p * eta(v)
        probabilities[label] = p
    return ranked(probabilities)


class _Search:
    """Shared by the searches: the nodes that lead to a wanted label, and the opened nodes."""

    def __init__(self, tree: LabelTree, eta: Eta, allowed: Collection[Label] | None) -> None:
        self.tree = tree
        self.eta = eta
        self.wanted = wanted_labels(tree, allowed)
        self.useful = {v for label in self.wanted for v in tree.path(tree.leaf_of[label])}
        self.stats = Stats(evaluated=1 if self.useful else 0)

    def start(self) -> list[tuple[Node, float]]:
        """Return the root with its probability, or nothing if no label is wanted."""
        return [(self.tree.root, self.eta(self.tree.root))] if self.useful else []

    def open(self, v: Node, p: float) -> list[tuple[Node, float]]:
        """Return the useful children of ``v`` with their probabilities."""
        self.stats.opened += 1
        self.stats.evaluated += len(self.tree.children[v])
        self.stats.depth = max(self.stats.depth, len(self.tree.path(v)))
        return [(c, p * self.eta(c)) for c in self.tree.children[v] if c in self.useful]

    def label(self, leaf: Node) -> Label:
        label = self.tree.label[leaf]
        assert label is not None
        return label


def top_k(
    tree: LabelTree, eta: Eta, k: int, allowed: Collection[Label] | None = None
) -> tuple[Ranking, Stats]:
    """Return the k most probable labels by uniform-cost search (Algorithm 10).

    Among equal probabilities internal nodes are opened before leaves are answered, for below them
    may be a smaller label of the same probability.
    """
    search = _Search(tree, eta, allowed)
    queue: list[tuple[float, bool, int, Node]] = []  # line 1: a heap, the least element first

    def add(v: Node, p: float) -> None:
        leaf = tree.is_leaf(v)
        heapq.heappush(queue, (-p, leaf, search.label(v) if leaf else v, v))

    answer: Ranking = []  # line 2
    for root, p in search.start():
        add(root, p)  # line 3
    while len(answer) < k and queue:  # line 4; fewer than k labels may exist
        minus_p, leaf, _, v = heapq.heappop(queue)  # line 5
        if leaf:  # lines 6-8
            answer.append((search.label(v), -minus_p))
        else:  # lines 9-12
            for child, p in search.open(v, -minus_p):
                add(child, p)
    return answer, search.stats


def above_threshold(
    tree: LabelTree,
    eta: Eta,
    threshold: float | Mapping[Label, float],
    allowed: Collection[Label] | None = None,
) -> tuple[Ranking, Stats]:
    """Return all labels of probability >= their threshold; a node's is the least one below it."""
    search = _Search(tree, eta, allowed)

    def of_label(label: Label) -> float:
        return threshold[label] if isinstance(threshold, Mapping) else threshold

    def of_node(v: Node) -> float:
        labels = (search.label(leaf) for leaf in tree.leaves(v))
        return min(of_label(label) for label in labels if label in search.wanted)

    answer: dict[Label, float] = {}
    stack = search.start()
    while stack:
        v, p = stack.pop()
        if p < of_node(v):
            continue
        if tree.is_leaf(v):
            answer[search.label(v)] = p
        else:
            stack.extend(search.open(v, p))
    return ranked(answer), search.stats


def beam(
    tree: LabelTree, eta: Eta, k: int, width: int, allowed: Collection[Label] | None = None
) -> tuple[Ranking, Stats]:
    """Return the k best labels found when at each depth only the ``width`` best nodes are opened.

    Leaves take no place in the beam: each one seen is a candidate. Among nodes of equal probability
    the one with the smaller id is opened. A node that is less probable than each of the k best
    leaves seen is not opened: nothing below it can be answered.
    """
    search = _Search(tree, eta, allowed)
    found: dict[Label, float] = {}
    level = search.start()
    while level:
        inner = []
        for v, p in level:
            if tree.is_leaf(v):
                found[search.label(v)] = p
            else:
                inner.append((v, p))
        level = []
        for v, p in sorted(inner, key=lambda node: (-node[1], node[0]))[:width]:
            if len(found) >= k and p < ranked(found)[k - 1][1]:
                continue
            for child, q in search.open(v, p):
                if tree.is_leaf(child):
                    found[search.label(child)] = q
                else:
                    level.append((child, q))
    return ranked(found)[:k], search.stats
