"""How the nodes of LdSM trees were split: the figures of Majzoubi & Choromanska (2020)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove.models.engine._predicting import MISSING

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LdSMStatistics:
    """All trees of an ensemble; arrays hold one entry a node, tree after tree, roots first.

    Attributes
    ----------
    arity : int
        M.
    n_classes : int
        K, labels that the trees know.
    trees : ndarray of int64
        The number of the node's tree.
    parents : ndarray of int64
        Position of the parent in these arrays; -1 for roots.
    depths : ndarray of int64
        0 for roots.
    reached : ndarray of int64
        Training examples that have come to the node.
    course : ndarray of float64, shape (n_nodes, epochs)
        J of Equation 1 after every epoch of the node's training, from the margins of its
        regressors (Figure 3); NaN for leaves.
    objective : ndarray of float64
        J of the examples as they were sent in the end; NaN for leaves.
    balance : ndarray of float64
        beta (Definition 1): 0 where all children got as much; NaN for leaves.
    purity : ndarray of float64
        alpha (Definition 2): 0 where no label's examples went to more than one child; NaN for
        leaves.
    multi_way : ndarray of float64
        How many children an example was sent to beyond the first, on average; NaN for leaves.
    """

    arity: int
    n_classes: int
    trees: Integers
    parents: Integers
    depths: Integers
    reached: Integers
    course: Floats
    objective: Floats
    balance: Floats
    purity: Floats
    multi_way: Floats

    @property
    def n_nodes(self) -> int:
        """Nodes of all trees, leaves included."""
        return len(self.parents)

    @property
    def n_trees(self) -> int:
        """Trees."""
        return int(self.trees[-1]) + 1

    @property
    def depth(self) -> int:
        """Depth of the deepest tree."""
        return int(self.depths.max())

    @property
    def log_classes(self) -> float:
        """log_M K: the depth of a balanced tree with one leaf a label (Figure 2)."""
        return math.log(max(self.n_classes, 1), self.arity)


def statistics_of(
    nodes: Mapping[str, npt.NDArray[Any]], options: Mapping[str, Any], n_classes: int
) -> LdSMStatistics:
    """The figures of trees whose arrays are named as in docs/format.md."""
    arity, epochs = int(options["arity"]), int(options["epochs"])
    sizes = nodes["tree.nodes"].astype(np.int64)
    n = int(sizes.sum())
    trees = np.repeat(np.arange(len(sizes)), sizes)
    first = nodes["node.first_child"].astype(np.int64)
    inner = np.flatnonzero(first != int(MISSING))
    roots = np.cumsum(sizes) - sizes
    children = (roots[trees[inner]] + first[inner])[:, None] + np.arange(arity)
    parents = np.full(n, -1)
    parents[children] = inner[:, None]
    depths = np.zeros(n, np.int64)
    for v, below in zip(inner.tolist(), children, strict=True):  # parents come first
        depths[below] = depths[v] + 1
    reached = nodes["node.examples"].astype(np.int64)

    def of_inner(values: npt.NDArray[Any]) -> Floats:
        spread = np.full((n, *values.shape[1:]), np.nan)
        spread[inner] = values
        return spread

    return LdSMStatistics(
        arity=arity,
        n_classes=n_classes,
        trees=trees,
        parents=parents,
        depths=depths,
        reached=reached,
        course=of_inner(nodes["split.course"].reshape(len(inner), epochs)),
        objective=of_inner(nodes["split.objective"]),
        balance=of_inner(nodes["split.balance"]),
        purity=of_inner(nodes["split.purity"]),
        multi_way=of_inner(reached[children].sum(axis=1) / reached[inner] - 1.0),
    )
