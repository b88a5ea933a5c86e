"""The cost of searches on a tree of nested tuples, and the cheapest coarsening of a tree.

A leaf is its label. A search is a set of labels with a frequency.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

Searches = Sequence[tuple[set[int], float]]


def labels_below(node: Any) -> set[int]:
    return set().union(*map(labels_below, node)) if isinstance(node, tuple) else {node}


def cost(node: Any, searches: Searches, block_cost: float) -> float:
    """The sum over inner nodes of visits * (block_cost + children)."""
    if not isinstance(node, tuple):
        return 0.0
    below = labels_below(node)
    visits = sum(often for labels, often in searches if labels & below)
    here = visits * (block_cost + len(node))
    return here + sum(cost(child, searches, block_cost) for child in node)


def reductions(node: Any) -> Iterator[Any]:
    """All trees that arise by omitting inner nodes other than this one."""
    if not isinstance(node, tuple):
        yield node
        return
    for children in product(*map(reductions, node)):
        inner = [i for i, child in enumerate(children) if isinstance(child, tuple)]
        for kept in product([True, False], repeat=len(inner)):
            left_out = {i for i, stays in zip(inner, kept, strict=True) if not stays}
            parts = (child if i in left_out else (child,) for i, child in enumerate(children))
            yield tuple(grandchild for part in parts for grandchild in part)


def least_cost(node: Any, searches: Searches, block_cost: float) -> float:
    return min(cost(tree, searches, block_cost) for tree in reductions(node))
