"""The most probable leaves of trees whose nodes send an example right with some probability.

A best-first search finds them. It descends to a leaf before it turns to the best postponed branch,
and ends after evaluating ``BREADTH`` times the number of leaves times the bits of the number of
nodes.
"""

from __future__ import annotations

from typing import Protocol, Self, TypeVar

from .learners import Instance

BREADTH = 2


class Router(Protocol):
    """A node of such a tree."""

    number: int

    @property
    def is_leaf(self) -> bool:
        """Whether it has no children."""

    def children(self) -> tuple[Self, Self]:
        """Return the left and the right one."""

    def goes_right(self, x: Instance) -> float:
        """Return the probability that x goes right."""


R = TypeVar("R", bound=Router)


def _hopeless(p: float, found: list[tuple[R, float]], leaves: int) -> bool:
    return len(found) == leaves and p <= found[-1][1]


def probable_leaves(root: R, x: Instance, leaves: int, nodes: int) -> list[tuple[R, float]]:
    """Return leaves with weights that sum to 1; ``nodes``: how many the tree has."""
    most = leaves * BREADTH * nodes.bit_length() if leaves > 1 else 1
    waiting, found, asked = [(root, 1.0)], list[tuple[R, float]](), 0
    while waiting and (asked < most or not found):
        v, p = max(waiting, key=lambda item: (item[1], -item[0].number))
        waiting.remove((v, p))
        while not v.is_leaf and not _hopeless(p, found, leaves):
            (left, right), share = v.children(), v.goes_right(x)
            asked += 1
            sides = [(left, p * (1 - share)), (right, p * share)]
            other, (v, p) = sides if share > 0.5 else sides[::-1]
            waiting += [other] if leaves > 1 else []
        if not _hopeless(p, found, leaves):
            found = sorted([*found, (v, p)], key=lambda item: -item[1])[:leaves]
    total = sum(p for _, p in found)
    return [(v, p / total) for v, p in found]
