"""Label trees as the engines take them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove.models.engine._results import MISSING
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
