"""Slow, plain twins of the builders, following their definitions; and trees for tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from labelgrove import LabelTree

Nested = Any
"""A tree as nested tuples; a leaf is its label."""


def nested(tree: LabelTree, node: int = 0) -> Nested:
    below = tree.children(node)
    return tuple(nested(tree, child) for child in below) if below else tree.labels[node]


def depths_by_walking(parents: Sequence[int]) -> list[int]:
    """Walk from every node to the root and count the steps."""
    depths = []
    for node in range(len(parents)):
        steps = 0
        while node != 0:
            node, steps = parents[node], steps + 1
        depths.append(steps)
    return depths


def label_depths(tree: LabelTree) -> dict[Any, int]:
    depths = depths_by_walking(tree.parents.tolist())
    return {name: depths[node] for node, name in tree.labels.items()}


def total_depth(tree: LabelTree, frequencies: Sequence[int]) -> int:
    """The sum of frequency times depth; labels are 0, 1, 2..."""
    return sum(frequencies[name] * depth for name, depth in label_depths(tree).items())


def partitions(items: tuple[int, ...], most: int) -> Iterator[list[tuple[int, ...]]]:
    """All ways to put items into at most `most` groups."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for groups in partitions(rest, most):
        for i in range(len(groups)):
            yield [*groups[:i], (first, *groups[i]), *groups[i + 1 :]]
        if len(groups) < most:
            yield [(first,), *groups]


def least_total_depth(frequencies: Sequence[int], arity: int) -> int:
    """The least sum of frequency times depth, of all trees of this arity."""

    @cache
    def least(labels: tuple[int, ...]) -> int:
        if len(labels) == 1:
            return 0
        below = (sum(map(least, groups)) for groups in partitions(labels, arity) if len(groups) > 1)
        return sum(frequencies[label] for label in labels) + min(below)

    return least(tuple(range(len(frequencies))))


def fano(frequencies: Sequence[int], arity: int = 2, max_leaves: int = 1) -> Nested:
    """Cut the sorted labels by trying every cut; exact arithmetic."""
    order = sorted(range(len(frequencies)), key=lambda label: -frequencies[label])

    def build(labels: list[int]) -> Nested:
        if len(labels) == 1:
            return labels[0]
        if len(labels) <= max(arity, max_leaves):
            return tuple(labels)
        runs = []
        for runs_left in range(arity, 1, -1):
            # Where nothing occurs, everything counts as equally frequent.
            none = not any(frequencies[label] for label in labels)
            weights = [1 if none else frequencies[label] for label in labels]
            share = Fraction(sum(weights), runs_left)
            cut = min(  # of equally good cuts the first
                range(1, len(labels) - runs_left + 2),
                key=lambda n: abs(sum(weights[:n]) - share),
            )
            runs.append(labels[:cut])
            labels = labels[cut:]
        return tuple(build(run) for run in [*runs, labels])

    return build(order)


def complete(labels: list[Any], arity: int, max_leaves: int = 1) -> Nested:
    """Fill a complete tree with groups of labels, node by node as in a heap."""
    n_groups = -(-len(labels) // max_leaves)
    inner = -(-(n_groups - 1) // (arity - 1))
    bounds = [i * len(labels) // n_groups for i in range(n_groups + 1)]
    groups = [labels[a:b] for a, b in pairwise(bounds)]
    groups.reverse()

    def build(node: int) -> Nested:
        if node >= inner:
            group = groups.pop()
            return group[0] if len(group) == 1 else tuple(group)
        below = range(arity * node + 1, min(arity * node + arity + 1, inner + n_groups))
        return tuple([build(child) for child in below])

    return build(0)


LABELS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    st.sampled_from(["\x00", "\r\n", "\t", '"', "\\", '\\"', "\\n", "&amp;", "&#0;", "null", "0"]),
)
INTS = st.integers(-(2**63), 2**63 - 1)


@st.composite
def trees(draw: st.DrawFn, max_nodes: int = 12) -> LabelTree:
    """Any tree with any numbering and any labels."""
    n = draw(st.integers(1, max_nodes))
    number = [0, *draw(st.permutations(range(1, n)))]
    parents = [-1] * n
    for node in range(1, n):
        parents[number[node]] = number[draw(st.integers(0, node - 1))]
    leaves = sorted(set(range(n)) - set(parents))
    least = 0 if n == 1 else len(leaves)  # a root alone may be without a label
    kind = draw(st.sampled_from([LABELS, INTS]))
    names = draw(st.lists(kind, min_size=least, max_size=len(leaves), unique=True))
    return LabelTree(parents, dict(zip(leaves, names, strict=False)))
