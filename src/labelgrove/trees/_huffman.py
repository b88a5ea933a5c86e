"""Huffman trees: the least expected depth that a given arity allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from labelgrove._names import Names
from labelgrove.trees._frequencies import as_count, as_frequencies
from labelgrove.trees._label_tree import LabelTree


def huffman_tree(
    frequencies: Any, labels: Sequence[Any] | Names | None = None, *, arity: int = 2
) -> LabelTree:
    """Build the tree of least expected depth, after Huffman (1952), from the bottom upwards.

    The rarest `arity` nodes become the children of a new one, again and again; the first time
    only as many as leave a full root. Among equally rare nodes labels go before inner nodes, which
    also keeps the deepest leaf as high as can be, and of equally rare labels the last one comes
    first. Frequencies of 0 are welcome.

    Parameters
    ----------
    frequencies : mapping from label to number, or sequence of numbers
        How often each label occurs, in any unit.
    labels : sequence of str or int, optional
        The labels that a sequence of frequencies belongs to; 0, 1, 2... when not given.
    arity : int
        Most children of an inner node.

    Returns
    -------
    LabelTree
        Inner nodes first, then the labels from the most frequent to the rarest.

    Raises
    ------
    ParameterError
        `arity` below 2, a frequency that is negative or not finite, a label given twice, or a
        number of labels other than that of frequencies.
    DataError
        A label that is neither a string nor an integer, or labels of both types.

    Examples
    --------
    >>> counts = {"law": 5, "tax": 2, "sea": 1, "oil": 1}
    >>> tree = huffman_tree(counts)
    >>> {name: int(tree.depths[node]) for node, name in tree.labels.items()}
    {'law': 1, 'tax': 2, 'sea': 3, 'oil': 3}
    >>> round(tree.expected_depth(counts), 3)
    1.667
    """
    arity = as_count(arity, "arity", 2)
    names, values = as_frequencies(frequencies, labels)
    order = np.argsort(-values, kind="stable")
    if names.size < 2:
        return LabelTree([-1], names)
    above = _merge(values[order[::-1]].tolist(), arity)
    # The last node made is the root and becomes node 0; the most frequent label is the first.
    parents = np.array(above)[::-1]
    return LabelTree(np.where(parents < 0, -1, parents.size - 1 - parents), names[order])


def _merge(weights: list[float], arity: int) -> list[int]:
    """Return the parent of every node: leaves, as they are given, ascending; then those made.

    The nodes made grow heavier and heavier, so two queues stand in for a heap.
    """
    n_leaves = len(weights)
    parents = [-1] * n_leaves
    leaf, made = 0, n_leaves  # the heads of both queues
    take = 2 + (n_leaves - 2) % (arity - 1)
    while leaf < n_leaves or len(weights) - made > 1:
        new, weight = len(weights), 0.0
        for _ in range(take):
            if leaf < n_leaves and (made == len(weights) or weights[leaf] <= weights[made]):
                child = leaf
                leaf += 1
            else:
                child = made
                made += 1
            weight += weights[child]
            parents[child] = new
        weights.append(weight)
        parents.append(-1)
        take = arity
    return parents
