"""Figures that describe a tree's shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from labelgrove._errors import ParameterError
from labelgrove._names import Names
from labelgrove.trees._frequencies import as_frequencies
from labelgrove.trees._structure import sum_to_root

if TYPE_CHECKING:
    from labelgrove.trees._label_tree import LabelTree


@dataclass(frozen=True)
class TreeStatistics:
    """The shape of a tree in figures.

    Parameters
    ----------
    n_nodes : int
        Inner nodes and leaves.
    n_labels : int
        Leaves.
    depth : int
        Depth of the deepest leaf, in edges from the root.
    mean_depth : float
        Mean over the leaves.
    balance : float
        Between 0 and 1; 1 if every inner node shares its leaves out evenly among its children.
        This is log(n_labels) divided by the mean, over the leaves, of the sum of log(arity) on the
        way to the leaf: the numerator is the entropy of all the splits, the denominator what it
        would be if all were even.
    arities : dict from int to int
        How many inner nodes there are of each number of children, ascending.
    expected_depth : float or None
        See `LabelTree.expected_depth`; None where no frequencies are given.

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


def statistics_of(
    tree: LabelTree, frequencies: Any, labels: Sequence[Any] | Names | None
) -> TreeStatistics:
    """Return the statistics of a tree; parameters and errors as `LabelTree.statistics` has them."""
    if frequencies is None and labels is not None:
        raise ParameterError("labels: given without the frequencies that belong to them")
    parents = tree.parents
    arity = np.bincount(parents[1:], minlength=tree.n_nodes)
    kinds, counts = np.unique(arity[arity > 0], return_counts=True)
    return TreeStatistics(
        n_nodes=tree.n_nodes,
        n_labels=tree.n_labels,
        depth=tree.depth,
        mean_depth=float(tree.depths[tree.leaves].mean()) if tree.n_labels else 0.0,
        balance=_balance(tree, arity),
        arities=dict(zip(kinds.tolist(), counts.tolist(), strict=True)),
        expected_depth=None if frequencies is None else expected_depth(tree, frequencies, labels),
    )


def expected_depth(
    tree: LabelTree, frequencies: Any, labels: Sequence[Any] | Names | None
) -> float:
    """Return the sum of f_l·depth(l) with f scaled to sum 1; see `LabelTree.expected_depth`."""
    names, values = as_frequencies(frequencies, labels)
    depth_of = dict(zip(tree.leaf_labels.tolist(), tree.depths[tree.leaves].tolist(), strict=True))
    plain = names.tolist()
    if len(set(plain)) != len(plain):
        raise ParameterError("labels: one of them stands there twice; expected each once")
    depths = [depth_of.get(name, -1) for name in plain]
    if min(depths, default=0) < 0:
        raise ParameterError(
            f"frequencies: label {plain[depths.index(-1)]!r} is not in the tree; expected the "
            "tree's labels only"
        )
    total = values.sum()
    if total == 0:
        raise ParameterError("frequencies: all are 0; expected one above 0")
    return float(values @ np.array(depths, np.float64) / total)


def _balance(tree: LabelTree, arity: Any) -> float:
    if tree.n_labels < 2:
        return 1.0
    choices = np.zeros(tree.n_nodes)
    choices[1:] = np.log(arity[tree.parents[1:]])
    mean = sum_to_root(tree.parents, choices)[tree.leaves].mean()
    return float(min(np.log(tree.n_labels) / mean, 1.0))
