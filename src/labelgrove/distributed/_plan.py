"""Partition of a tree's nodes into units that are learnt together, and their memory needs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove.distributed._tasks import Arrays, Job, Source, stored
from labelgrove.trees._structure import sums_below

_SHARES, _LEAST = 64, 1 << 24
"""Maximum work of a unit of several nodes: 1/_SHARES of the tree's work, but at least _LEAST."""

Numbers = npt.NDArray[np.int64]


def plan_units(job: Job, number: int, threads: int) -> Arrays:
    """Split a tree into units, each learnt by one task.

    A unit is either a group of whole subtrees that together fit into memory and are not too large
    a share of the work, or one of the nodes above these. The first unit has the root and the node
    above it, for which all rows count. The partition does not affect what is learnt.
    """
    parents, labels = stored(job / f"tree-{number}", "parents", "labels")
    up = parents.astype(np.int64)
    up[0] = 0
    rows, cells = _sizes(job, up, labels)
    children = np.bincount(up[1:], minlength=len(up))
    inner = children > 0
    below = sums_below(up, np.where(inner, cells * children, 0))
    needs = np.where(inner, needed(rows, cells, job.width, threads), 0)
    share = max(_LEAST, int(below[0]) // _SHARES)
    is_whole = inner & (needs <= job.memory) & (below <= share)
    is_whole[:2] = is_whole[0]
    units = _units(up, inner, is_whole, needs, below, job.memory, share)
    return {
        "nodes": np.concatenate([nodes for nodes, _ in units]).astype(np.uint32),
        "ends": np.cumsum([0, *(len(nodes) for nodes, _ in units)]),
        "needs": np.array([need for _, need in units], np.int64),
    }


def needed(rows: Numbers, cells: Numbers, width: int, threads: int) -> Numbers:
    """Return an upper bound on the bytes needed to learn a node and everything below it.

    A row takes 8 bytes per entry, once as read and once renumbered for a node. Learning 32
    children at once takes 4 bytes for each of them and every row, and every feature, whose new
    number takes up to 32 more.
    """
    alone: Numbers = 8 * cells + 170 * rows + 160 * np.minimum(cells, width)
    return 16 * cells + 60 * rows + threads * alone


def _sizes(job: Job, up: Numbers, labels: npt.NDArray[Any]) -> tuple[Numbers, Numbers]:
    """Return for each node the number of rows that it learns from, and of their entries."""
    leaf_of = np.zeros(job.n_labels, np.int64)
    leaves = np.flatnonzero(labels < job.n_labels)
    leaf_of[labels[leaves]] = leaves
    n = len(up)
    rows, cells = np.zeros(n, np.int64), np.zeros(n, np.int64)
    source = Source(job)
    for ends, ids, sizes in source.runs():
        row = np.repeat(np.arange(len(sizes)), np.diff(ends))
        keys = np.unique(row * n + leaf_of[ids])
        while keys.size:
            node = keys % n
            rows += np.bincount(node, minlength=n)
            cells += np.bincount(node, sizes[keys // n], minlength=n).astype(np.int64)
            keys = keys[node != 0]
            keys = np.unique(keys - keys % n + up[keys % n])
    rows[:2], cells[:2] = source.n_rows, source.n_cells
    return rows, cells


def _units(
    up: Numbers,
    inner: npt.NDArray[np.bool_],
    is_whole: npt.NDArray[np.bool_],
    needs: Numbers,
    below: Numbers,
    memory: int,
    share: int,
) -> list[tuple[Numbers, int]]:
    """Return the nodes and the memory needs of every unit."""
    root_of = _whole_above(up, is_whole)
    alone = np.flatnonzero(inner & (root_of < 0))
    first = alone[alone <= 1]
    units = [(first, int(needs[0]))] if first.size else []
    units += [(np.array([node]), int(needs[node])) for node in alone[alone > 1]]
    nodes = np.flatnonzero(inner & (root_of >= 0))
    nodes = nodes[np.argsort(root_of[nodes], kind="stable")]
    subtrees = np.split(nodes, np.flatnonzero(np.diff(root_of[nodes])) + 1)
    group: list[Numbers] = []
    need = work = 0
    for subtree in subtrees if nodes.size else []:
        top = root_of[subtree[0]]
        if group and (need + needs[top] > memory or work + below[top] > share):
            units.append((np.sort(np.concatenate(group)), need))
            group, need, work = [], 0, 0
        group.append(subtree)
        need, work = need + int(needs[top]), work + int(below[top])
    return [*units, (np.sort(np.concatenate(group)), need)] if group else units


def _whole_above(up: Numbers, is_whole: npt.NDArray[np.bool_]) -> Numbers:
    """Return for each node its highest ancestor-or-self that heads a whole subtree; -1 if none."""
    found, at = np.full(len(up), -1), np.arange(len(up))
    while True:
        found = np.where(is_whole[at], at, found)
        if not at.any():
            return found
        at = up[at]
