"""What every label-tree estimator predicts, from the core's arrays of label ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelgrove._errors import DataError
from labelgrove.trees import LabelTree

MISSING = np.uint32(0xFFFFFFFF)
"""The core's label id of a place that holds no label."""

DENSE_LIMIT = 2**30
"""Bytes that a dense result may take; beyond, the caller must ask for a sparse one."""


@dataclass(frozen=True)
class SearchStats:
    """What a prediction cost, one entry an example.

    Attributes
    ----------
    classifiers : ndarray of uint64, shape (n,)
        Node classifiers evaluated: inner products of the example with a weight vector.
    depth : ndarray of uint64, shape (n,)
        Depth of the deepest node whose probability was computed; the root has depth 0.
    blocks : ndarray of uint64, shape (n,)
        Nodes opened: all classifiers of a node's children are evaluated at once, and this is what
        time goes into. 0 where the model is no label tree.
    bytes : ndarray of uint64, shape (n,)
        Bytes of weights read; 0 where the model is no label tree.
    """

    classifiers: npt.NDArray[np.uint64]
    depth: npt.NDArray[np.uint64]
    blocks: npt.NDArray[np.uint64]
    bytes: npt.NDArray[np.uint64]


def ids_to_names(ids: npt.NDArray[np.uint32], names: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Label names in place of label ids; None, or -1 for integer labels, where there is none."""
    try:
        return names[ids]
    except IndexError:  # MISSING is no place of an array: cheaper than to look for it first
        missing = ids == MISSING
    if len(names) == 0:
        return np.full(ids.shape, None if names.dtype == object else -1, names.dtype)
    named = names[np.where(missing, 0, ids)]
    named[missing] = None if names.dtype == object else -1
    return named


def ranked_to_csr(
    ids: npt.NDArray[np.uint32],
    scores: npt.NDArray[np.float32],
    column_of: npt.NDArray[np.integer[Any]],
    n_columns: int,
) -> sp.csr_array:
    """Ranked labels as a sparse array with one column a class; shape (n, n_columns)."""
    there = ids != MISSING
    indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    return found_to_csr(indptr, ids[there], scores[there], column_of, n_columns)


def found_to_csr(
    indptr: npt.NDArray[np.int64],
    ids: npt.NDArray[np.uint32],
    scores: npt.NDArray[np.float32],
    column_of: npt.NDArray[np.integer[Any]],
    n_columns: int,
) -> sp.csr_array:
    """Found labels, in rows, as a sparse array with sorted columns; shape (n, n_columns)."""
    result = sp.csr_array(
        (scores, column_of[ids.astype(np.int64)], indptr), shape=(len(indptr) - 1, n_columns)
    )
    result.sort_indices()
    return result


def refuse_if_too_large(n_rows: int, n_classes: int, cell_bytes: int) -> None:
    """Refuse a result that would take more than a GiB; sparse ones are to be asked for."""
    size = n_rows * n_classes * cell_bytes
    if size > DENSE_LIMIT:
        raise DataError(
            f"scores of {n_classes} labels for {n_rows} rows would take "
            f"{size / 2**30:.1f} GiB; ask for fewer with top_k=… or threshold=…, or for fewer rows"
        )


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
