"""How well nodes split: the figures of the papers on LOMtree and on LdSM."""

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
class LOMTreeStatistics:
    """A LOMtree as it stands; arrays hold one entry a node, the root first.

    Frequencies are those of learning: each example counts with the scores that it had then.

    Attributes
    ----------
    parents : ndarray of int64
        -1 for the root.
    depths : ndarray of int64
        0 for the root.
    reached : ndarray of int64
        Examples that have come to the node.
    swaps : ndarray of int64
        How often the node was recycled (Figure 2).
    balance : ndarray of float64
        beta (Definition 2), the share of the examples that went right; NaN for leaves.
    purity : ndarray of float64
        alpha (Definition 1), the share of the examples that went the other way than most of their
        class: 0 is pure, 0.5 the worst. NaN for leaves.
    objective : ndarray of float64
        J (Equation 1): 1 where a split is pure and balanced, 0 where it tells classes nothing. NaN
        for leaves.
    entropy : float
        G_t (section 2.3): the entropy of the classes at a leaf, in nats, averaged over the
        examples that have ended in the leaves.
    root_entropy : float
        The entropy of the classes of all examples, in nats: what the tree began with.
    """

    parents: Integers
    depths: Integers
    reached: Integers
    swaps: Integers
    balance: Floats
    purity: Floats
    objective: Floats
    entropy: float
    root_entropy: float

    @property
    def n_nodes(self) -> int:
        """Nodes, leaves included."""
        return len(self.parents)

    @property
    def n_leaves(self) -> int:
        """Leaves: one more than inner nodes."""
        return (self.n_nodes + 1) // 2

    @property
    def depth(self) -> int:
        """Depth of the deepest leaf."""
        return int(self.depths.max())

    @property
    def mean_depth(self) -> float:
        """Depth of the leaves, averaged over the examples that have ended in them."""
        leaves = np.isnan(self.balance)
        weights = self.reached[leaves]
        return float(np.average(self.depths[leaves], weights=weights)) if weights.any() else 0.0


def statistics_of_lom_tree(nodes: Mapping[str, npt.NDArray[Any]]) -> LOMTreeStatistics:
    """The figures of a tree whose arrays are named as in docs/format.md."""
    left, right = nodes["node.left"], nodes["node.right"]
    n = len(left)
    inner = np.flatnonzero(left != MISSING)
    parents = np.full(n, -1)
    parents[left[inner]] = parents[right[inner]] = inner
    at = np.repeat(np.arange(n), nodes["node.classes"])  # the node of every class

    def sums(values: npt.NDArray[Any]) -> Floats:
        return np.bincount(at, values, minlength=n).astype(np.float64)

    reached, trained, went_right = (
        nodes[f"class.{name}"].astype(np.float64) for name in ("reached", "trained", "right")
    )
    total = sums(trained)
    total[left == MISSING] = np.nan
    beta = sums(went_right) / total
    astray = np.minimum(went_right, trained - went_right)
    # pi_i |beta - P(right | i)|, without dividing by a class that was never trained on.
    unlike = np.abs(beta[at] * trained - went_right)
    entropies = _entropies(reached, sums(reached), at)
    weights = np.where(left == MISSING, sums(reached), 0.0)
    return LOMTreeStatistics(
        parents=parents,
        depths=_depths(parents),
        reached=sums(reached).astype(np.int64),
        swaps=nodes["node.swaps"].astype(np.int64),
        balance=beta,
        purity=sums(astray) / total,
        objective=2 * sums(unlike) / total,
        entropy=float(np.average(entropies, weights=weights)),
        root_entropy=float(entropies[0]),
    )


def _entropies(counts: Floats, totals: Floats, at: Integers) -> Floats:
    """The entropy of the classes at every node; classes that were not seen are not listed."""
    shares = counts / totals[at]
    return np.bincount(at, -shares * np.log(shares), minlength=len(totals)).astype(np.float64)


def _depths(parents: Integers) -> Integers:
    """Recycled nodes hang below nodes with higher numbers, so level by level."""
    depths = np.zeros(len(parents), np.int64)
    level = np.array([0])
    children = np.argsort(parents, kind="stable")[1:]  # the root's own place comes first
    ends = np.searchsorted(parents[children], np.arange(len(parents) + 1))
    depth = 0
    while len(level):
        depths[level] = depth
        level = np.concatenate([children[ends[v] : ends[v + 1]] for v in level.tolist()])
        depth += 1
    return depths


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


def statistics_of_ldsm(
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
