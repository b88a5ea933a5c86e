"""The number of weights that a pass of learning must touch.

Every positive node of an example learns from it: in the node's block, which has one column per
child and one for the auxiliary classifier while it exists, the rows of the example's features and
of the bias are updated. An example therefore touches (features + 1) x (columns of its positive
nodes) weights, each with its optimiser state, in the tree as it is right after the example's own
labels were added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks._data import Stream
from labelgrove import LabelTree, OnlinePLTClassifier

BYTES_MOVED = 16
"""Bytes moved per weight: value and state, 4 bytes each, are both read and written."""


@dataclass(frozen=True)
class Columns:
    """A snapshot of a tree: the columns of every node's block, and the paths to the root."""

    columns: list[int]
    parents: list[int]
    leaf_of: dict[Any, int]

    @classmethod
    def of(cls, tree: LabelTree, arity: int) -> Columns:
        parents = tree.parents
        leaves = np.zeros(tree.n_nodes, bool)
        leaves[list(tree.labels)] = True
        children = np.bincount(parents[1:], minlength=tree.n_nodes)
        leaf_children = np.bincount(parents[1:][leaves[1:]], minlength=tree.n_nodes)
        pre_leaf = (children > 0) & (children == leaf_children)
        # Inner nodes keep an auxiliary classifier while a label can still be added to them; leaves,
        # while a sibling can be added: below a node that is no pre-leaf, or as the only child.
        above = np.where(parents < 0, 0, parents)
        lonely = (parents < 0) | ~pre_leaf[above] | (leaf_children[above] == 1)
        auxiliary = np.where(leaves, lonely, pre_leaf | (children < arity))
        columns = (children + auxiliary).tolist()
        return cls(columns, parents.tolist(), {label: node for node, label in tree.labels.items()})

    def touched(self, labels: tuple[Any, ...]) -> int:
        """Columns of all nodes that are positive for these labels, including the root's own."""
        total, seen = 1, set[int]()
        for label in labels:
            node = self.leaf_of[label]
            while node >= 0 and node not in seen:
                seen.add(node)
                total += self.columns[node]
                node = self.parents[node]
        return total


def weights_touched(stream: Stream, options: dict[str, Any]) -> int:
    """Count the weights touched by learning a stream, example by example.

    Parameters
    ----------
    stream : Stream
    options : dict
        Parameters of the model: policy best-greedy, random or complete, and no replay.

    Returns
    -------
    int
    """
    model, columns, total = OnlinePLTClassifier(**options), None, 0
    n_classes = 0
    nonzeros = np.diff(stream.X.indptr).tolist()
    for i, labels in enumerate(stream.labels):
        model.partial_fit(stream.X[i : i + 1], [labels])
        if columns is None or model.n_classes_ != n_classes:
            n_classes = model.n_classes_
            columns = Columns.of(model.tree_, options["arity"])
        total += (nonzeros[i] + 1) * columns.touched(labels)
    return total
