"""Label trees as the engines hold them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove.models.engine._predicting import MISSING
from labelgrove.trees import LabelTree


def engine_tree(tree: LabelTree) -> tuple[npt.NDArray[Any], npt.NDArray[Any], list[Any]]:
    """Parents and labels as the core numbers them (a node above the root), and label names.

    Label ids count the names.
    """
    parents = np.empty(tree.n_nodes + 1, np.uint32)
    parents[0], parents[1:] = MISSING, tree.parents + 1
    leaf_labels = np.full(tree.n_nodes + 1, MISSING, np.uint32)
    names: list[Any] = []
    for node, name in sorted(tree.labels.items()):
        leaf_labels[node + 1] = len(names)
        names.append(name)
    return parents, leaf_labels, names


def engine_tree_of_ids(tree: LabelTree) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Parents and labels as the core numbers them, of a tree over label ids."""
    parents, leaf_labels, ids = engine_tree(tree)
    leaves = leaf_labels != MISSING
    leaf_labels[leaves] = np.array(ids, np.uint32)[leaf_labels[leaves]]
    return parents, leaf_labels


def tree_snapshot(arrays: dict[str, Any], names: npt.NDArray[Any]) -> LabelTree:
    """The core's tree, without the node above the root and without silent leaves."""
    number = tree_numbers(arrays)
    kept = np.flatnonzero(number >= 0)
    parents = number[arrays["parent"][kept].astype(np.int64)]
    labels = arrays["label"][kept]
    leaves = np.flatnonzero(labels != MISSING)
    return LabelTree(parents, {int(v): names[labels[v]] for v in leaves})


def tree_numbers(arrays: Mapping[str, Any]) -> npt.NDArray[np.int64]:
    """The number that each of the core's nodes has in the snapshot; -1 for those left out."""
    parents = arrays["parent"].astype(np.int64)
    parents[0] = 0
    keep = ~arrays["silent"].astype(bool)
    # An inner node all of whose leaves have gone goes too, from the bottom upwards.
    children_left = np.bincount(parents[1:], minlength=len(parents))
    gone = list(np.flatnonzero(~keep))
    while gone:
        parent = parents[gone.pop()]
        children_left[parent] -= 1
        if children_left[parent] == 0 and parent > 0:
            keep[parent] = False
            gone.append(parent)
    keep[0], keep[1] = False, True
    return np.where(keep, np.cumsum(keep) - 1, -1)
