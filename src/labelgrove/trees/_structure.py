"""Arrays of parents: checks, depths, leaves, children and statistics, without loops over nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove._errors import ParameterError
from labelgrove._names import Names
from labelgrove._parameters import vector

Nodes = npt.NDArray[np.int64]

Imported = tuple[str, list[int], dict[int, Any]]
"""Result of a reader: a name for messages, the parent of every node, the leaves' labels."""


def as_parents(parents: Any) -> Nodes:
    """Return a read-only int64 copy of the parents of all nodes, after checking all but cycles."""
    error = ParameterError("tree: parents: expected a flat sequence of integers")
    array = vector(parents, "iu", error).astype(np.int64)
    if not array.size or array[0] != -1:
        raise ParameterError("tree: node 0 must be the root, with parent -1")
    wrong = (array[1:] < 0) | (array[1:] >= array.size)
    if wrong.any():
        node = int(np.argmax(wrong)) + 1
        raise ParameterError(
            f"tree: node {node} has parent {array[node]}; expected 0 to {array.size - 1}"
        )
    array.flags.writeable = False
    return array


def sum_to_root(parents: Nodes, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return for every node the sum of a value over its path, excluding the root.

    The root's value must be zero. Every round doubles the summed part of the path, so a chain of a
    million nodes takes twenty rounds. Raises ParameterError if there is no path from some node to
    the root.
    """
    above = parents.copy()
    above[0] = 0
    total = values.copy()
    for _ in range(parents.size.bit_length() + 1):
        if not above.any():
            return total
        total += total[above]
        above = above[above]
    lost = int(np.argmax(above != 0))
    raise ParameterError(f"tree: node {lost} leads to a cycle, not to the root")


def depths_of(parents: Nodes) -> Nodes:
    """Return the depth of every node; raise `ParameterError` if there is a cycle."""
    steps = np.ones(parents.size, np.int64)
    steps[0] = 0
    return sum_to_root(parents, steps)


def sums_below(parents: Nodes, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return for every node the sum of a value over it and all nodes below it."""
    total, depths = values.copy(), depths_of(parents)
    order = np.argsort(depths, kind="stable")
    levels = np.split(order, np.flatnonzero(np.diff(depths[order])) + 1)
    for level in levels[:0:-1]:  # from the deepest up to the children of the root
        np.add.at(total, parents[level], total[level])
    return total


def leaves_of(parents: Nodes) -> Nodes:
    """Return all nodes without children, ascending."""
    is_leaf = np.ones(parents.size, bool)
    is_leaf[parents[1:]] = False
    return np.flatnonzero(is_leaf)


def children_of(parents: Nodes) -> tuple[Nodes, Nodes]:
    """Return starts and concatenated children: node v has `children[starts[v]:starts[v + 1]]`."""
    starts = np.zeros(parents.size + 1, np.int64)
    np.cumsum(np.bincount(parents[1:], minlength=parents.size), out=starts[1:])
    return starts, np.argsort(parents[1:], kind="stable") + 1


@dataclass(frozen=True)
class TreeStatistics:
    """Statistics of the shape of a tree.

    Parameters
    ----------
    n_nodes : int
        Number of inner nodes and leaves.
    n_labels : int
        Number of leaves that represent labels.
    depth : int
        Depth of the deepest leaf, in edges from the root.
    mean_depth : float
        Mean depth of the leaves.
    balance : float
        Between 0 and 1; 1 if every inner node distributes its leaves evenly among its children.
        This is log(n_labels) divided by the mean, over the leaves, of the sum of log(arity) on the
        path to the leaf. The numerator is the entropy of all splits, the denominator the value it
        would have if all splits were even.
    arities : dict from int to int
        Number of inner nodes by number of children, in ascending order.
    expected_depth : float or None
        See `LabelTree.expected_depth`; None if no frequencies are given.

    Examples
    --------
    >>> from labelgrove.trees import LabelTree
    >>> LabelTree.flat(["a", "b", "c"]).statistics()
    TreeStatistics(n_nodes=4, n_labels=3, depth=1, mean_depth=1.0, balance=1.0, arities={3: 1},
        expected_depth=None)
    """

    n_nodes: int
    n_labels: int
    depth: int
    mean_depth: float
    balance: float
    arities: dict[int, int]
    expected_depth: float | None = None


def statistics_of(parents: Nodes, leaf_depths: Nodes) -> TreeStatistics:
    """Return the statistics that need no frequencies, from all parents and the leaves' depths."""
    arity = np.bincount(parents[1:], minlength=parents.size)
    kinds, counts = np.unique(arity[arity > 0], return_counts=True)
    return TreeStatistics(
        n_nodes=parents.size,
        n_labels=leaf_depths.size,
        depth=int(leaf_depths.max(initial=0)),
        mean_depth=float(leaf_depths.mean()) if leaf_depths.size else 0.0,
        balance=_balance(parents, arity, leaf_depths.size),
        arities=dict(zip(kinds.tolist(), counts.tolist(), strict=True)),
    )


def places_of_labels(names: Names, leaf_labels: Names) -> Nodes:
    """Return the position of each label among those of the leaves, shape (len(names),).

    Raises ParameterError if a label is not in the tree, or is given twice.
    """
    place_of = {name: i for i, name in enumerate(leaf_labels.tolist())}
    plain = names.tolist()
    if len(set(plain)) != len(plain):
        raise ParameterError("labels: one label occurs twice; expected each once")
    places = np.array([place_of.get(name, -1) for name in plain], np.int64)
    if places.min(initial=0) < 0:
        raise ParameterError(
            f"frequencies: label {plain[np.argmin(places)]!r} is not in the tree; expected its "
            "labels only"
        )
    return places


def _balance(parents: Nodes, arity: Nodes, n_labels: int) -> float:
    if n_labels < 2:
        return 1.0
    choices = np.zeros(parents.size)
    choices[1:] = np.log(arity[parents[1:]])
    mean = sum_to_root(parents, choices)[arity == 0].mean()
    return float(min(np.log(n_labels) / mean, 1.0))
