"""Arrays of parents: checks, depths, leaves and children, without a loop over nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove._errors import ParameterError

Nodes = npt.NDArray[np.int64]

Imported = tuple[str, list[int], dict[int, Any]]
"""What a reader returns: a name for messages, the parent of every node, the leaves' labels."""


def as_parents(parents: Any) -> Nodes:
    """Return the parents of all nodes as a read-only int64 array of our own.

    Raises
    ------
    ParameterError
        Not a flat sequence of integers, no root at node 0, or a parent that is no node.
    """
    try:
        array = np.array(parents)
    except ValueError as error:  # rows of different lengths
        raise ParameterError("tree: parents must be a flat sequence of integers") from error
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ParameterError(
            f"tree: parents are {array.ndim}-dimensional of type {array.dtype}; expected a flat "
            "sequence of integers"
        )
    array = array.astype(np.int64, copy=False)
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
    """Return for every node the sum of a value over its path, without the root.

    Every round doubles the part of the path that is summed, so a chain of a million nodes takes
    twenty rounds.

    Parameters
    ----------
    parents : ndarray of int64, shape (n_nodes,)
    values : ndarray, shape (n_nodes,)
        The root's must be zero.

    Raises
    ------
    ParameterError
        A node from which no path leads to the root.
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
    raise ParameterError(f"tree: node {lost} hangs on a cycle, not on the root")


def depths_of(parents: Nodes) -> Nodes:
    """Return the depth of every node; raise `ParameterError` for what hangs on a cycle."""
    steps = np.ones(parents.size, np.int64)
    steps[0] = 0
    return sum_to_root(parents, steps)


def leaves_of(parents: Nodes) -> Nodes:
    """Return all nodes without children, ascending."""
    is_leaf = np.ones(parents.size, bool)
    is_leaf[parents[1:]] = False
    return np.flatnonzero(is_leaf)


def children_of(parents: Nodes) -> tuple[Nodes, Nodes]:
    """Return children laid end to end: node v has `children[starts[v]:starts[v + 1]]`."""
    starts = np.zeros(parents.size + 1, np.int64)
    np.cumsum(np.bincount(parents[1:], minlength=parents.size), out=starts[1:])
    return starts, np.argsort(parents[1:], kind="stable") + 1
