"""The most probable leaves of trees whose nodes send an example right with some probability.

A best-first search finds them. It descends to a leaf before it turns to the best postponed branch,
and ends after evaluating ``BREADTH`` times the number of leaves times the bits of the number of
nodes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Self, TypeVar

from .learners import Instance, sigma

BREADTH = 2


@dataclass(eq=False)
class Router(ABC):
    """A node of such a tree; the probability is a logistic function of a margin."""

    number: int
    _: KW_ONLY
    parent: Self | None = None
    left: Self | None = None
    right: Self | None = None
    slope: float = 3.0
    curvature: float = 4.0

    @property
    def is_leaf(self) -> bool:
        return self.left is None

    def children(self) -> tuple[Self, Self]:
        assert self.left is not None
        assert self.right is not None
        return self.left, self.right

    @abstractmethod
    def goes_right(self, x: Instance) -> float:
        """Return the probability that x goes right."""

    def learn_slope(self, m: float, right: bool) -> None:
        """Take a Newton step on the logistic loss, from the margin before the router learnt."""
        p = sigma(self.slope * m)
        self.curvature += p * (1 - p) * m * m
        self.slope = min(max(self.slope + (right - p) * m / self.curvature, 0.5), 30.0)


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
