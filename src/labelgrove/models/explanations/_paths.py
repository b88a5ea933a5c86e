"""The paths of labels through the tree, many at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove._errors import DataError
from labelgrove.models.engine._learned import Learned, TreeEngine
from labelgrove.models.engine._options import Options
from labelgrove.models.engine._trees import tree_numbers


@dataclass(frozen=True, eq=False)
class LabelPaths:
    """The nodes on the paths to labels, one path after another, each from the root to the leaf.

    Attributes
    ----------
    indptr : int64 array (n_labels + 1,)
        The i-th label's path stands in ``[indptr[i]:indptr[i + 1]]``.
    nodes : int64 array
        Numbers of nodes in the model's ``tree_``.
    products : float32 array
        P(node | x).
    """

    indptr: npt.NDArray[np.int64]
    nodes: npt.NDArray[np.int64]
    products: npt.NDArray[np.float32]


def label_paths(
    learned: Learned[Options, TreeEngine], X: Any, labels: Sequence[Collection[Any]], threads: int
) -> LabelPaths:
    """Follow the labels of every row: `LabelTreeClassifier.label_paths`."""
    rows = learned.check_rows(X)
    if len(labels) != rows.n_rows:
        raise DataError(f"labels has {len(labels)} rows: expected {rows.n_rows}, as X has")
    ends = np.cumsum([0, *map(len, labels)]).astype(np.int64)
    ids = learned.labels.ids_of([name for row in labels for name in row]).astype(np.int64)
    nowhere = learned.engine.label_count
    ids[~np.isin(ids, learned.engine.labels())] = nowhere
    indptr, conditional = learned.engine.paths(*rows.arrays, ends, ids.astype(np.uint32), threads)
    tree = learned.engine.tree()
    leaf_of = np.zeros(nowhere + 1, np.int64)
    there = (tree["silent"] == 0) & (tree["label"] < nowhere)
    leaf_of[tree["label"][there]] = np.flatnonzero(there)
    nodes = _nodes_above(leaf_of[ids], tree, indptr)
    return LabelPaths(indptr, nodes, products_along(conditional, indptr))


def _nodes_above(
    leaves: npt.NDArray[np.int64],
    tree: Mapping[str, npt.NDArray[Any]],
    indptr: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Walk up from all leaves at once, filling every path from its end."""
    numbers, parents = tree_numbers(tree), tree["parent"].astype(np.int64)
    nodes = np.empty(int(indptr[-1]), np.int64)
    at, end = leaves, indptr[1:] - 1
    on_path = end >= indptr[:-1]
    while on_path.any():
        nodes[end[on_path]] = numbers[at[on_path]]
        at, end = np.where(on_path, parents[at], at), end - 1
        on_path = end >= indptr[:-1]
    return nodes


def products_along(
    conditional: npt.NDArray[np.float32], indptr: npt.NDArray[np.int64]
) -> npt.NDArray[np.float32]:
    """Products along every path, from its beginning, as a search takes them."""
    products = conditional.copy()
    at = indptr[:-1] + 1
    on_path = at < indptr[1:]
    while on_path.any():
        here = at[on_path]
        products[here] *= products[here - 1]
        at, on_path = at + 1, at + 1 < indptr[1:]
    products[~(products >= 0)] = 0  # a weight that is not a number counts as 0
    return products
