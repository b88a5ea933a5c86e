"""Complete trees: as shallow as the arity allows, independent of the labels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from labelgrove._parameters import flag, integer, seed_from
from labelgrove.trees._frequencies import as_labels
from labelgrove.trees._label_tree import LabelTree
from labelgrove.trees._structure import Nodes


def complete_tree(
    labels: Iterable[Any],
    *,
    arity: int = 2,
    max_leaves: int | None = None,
    shuffle: bool = False,
    random_state: Any = 0,
) -> LabelTree:
    """Build a complete tree: every level is full except the last, which is filled from the left.

    Parameters
    ----------
    labels : iterable of str or int
        The tree's leaves from left to right, unless they are shuffled.
    arity : int
        Number of children of every inner node; the last inner node may have fewer.
    max_leaves : int, optional
        If given, the leaves of the complete tree are groups of at most this many neighbouring
        labels, as few as possible and with sizes that differ by at most 1. A group of several
        labels is an inner node with one leaf per label.
    shuffle : bool
        Whether to shuffle the labels first.
    random_state : int, RandomState or None
        Seed of the shuffle.

    Returns
    -------
    LabelTree

    Raises
    ------
    ParameterError
        `arity` is below 2, `max_leaves` is below 1, a label is given twice, or `random_state` is
        not a seed.
    DataError
        A label is neither a string nor an integer, or labels of both types are mixed.

    Examples
    --------
    >>> tree = complete_tree(["a", "b", "c"])
    >>> tree.parents.tolist(), tree.labels
    ([-1, 0, 0, 1, 1], {2: 'c', 3: 'a', 4: 'b'})
    >>> complete_tree(range(1000), arity=4, max_leaves=100).statistics().arities
    {4: 3, 100: 10}
    """
    names = as_labels(labels)
    arity = integer("arity", arity, 2)
    size = 1 if max_leaves is None else integer("max_leaves", max_leaves, 1)
    seed = seed_from(random_state)
    if flag("shuffle", shuffle):
        names = names[np.random.default_rng(seed).permutation(names.size)]
    n_groups = -(-names.size // size)
    if n_groups == 0:
        return LabelTree([-1], {})
    parents, groups = _complete(n_groups, arity)
    # Groups from left to right, as even as possible.
    bounds = np.arange(n_groups + 1) * names.size // n_groups
    sizes = np.diff(bounds)
    group_of = np.repeat(groups, sizes)
    alone = np.repeat(sizes == 1, sizes)
    # A label alone in its group is the group's node; all other labels get nodes at the end.
    nodes = group_of.copy()
    nodes[~alone] = parents.size + np.arange(names.size - int(alone.sum()))
    parents = np.concatenate([parents, group_of[~alone]])
    return LabelTree(parents, names[np.argsort(nodes)])


def _complete(n_leaves: int, arity: int) -> tuple[Nodes, Nodes]:
    """Return the parents of a complete tree, numbered by level, and its leaves left to right."""
    n_inner = -(-(n_leaves - 1) // (arity - 1))
    n_nodes = n_inner + n_leaves
    parents = (np.arange(n_nodes) - 1) // arity
    parents[0] = -1
    last_level, width = 0, 1
    while last_level + width < n_nodes:
        last_level += width
        width *= arity
    # Leaves on the last level but one are to the right of all deeper nodes.
    last_level = max(last_level, n_inner)
    leaves = np.concatenate([np.arange(last_level, n_nodes), np.arange(n_inner, last_level)])
    return parents, leaves
