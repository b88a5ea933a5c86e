"""Checks and conversions of the metrics' input: labels and predictions in any accepted form."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse

from labelgrove._errors import DataError, ParameterError, brief
from labelgrove._parameters import integer, vector
from labelgrove._sparse import require_inside, sparse_indicator, triples

IntArray = npt.NDArray[np.int64]

MISSING = -1
"""The id that fills a ranking where a row has no further prediction."""

NO_COUNTS = "labels: expected a 0/1 SciPy sparse matrix or a one-dimensional array of counts"
"""The message for labels that are neither 0/1 nor counts."""


def canonical_csr(matrix: Any, name: str) -> csr_array:
    """Return a sparse matrix as CSR with sorted, unique, finite, non-zero entries.

    Explicitly stored zeros are dropped. The caller's arrays are never changed. Raises DataError if
    the matrix is not sparse, empty, damaged, or holds anything but finite numbers.
    """
    _require_sparse(matrix, name)
    # SciPy's conversions write to wherever the indices point.
    rows, columns, _ = triples(matrix, name)
    require_inside(rows, columns, matrix.shape, name)
    csr = csr_array(matrix)
    csr.prune()
    _check_finite(csr, name)
    if not csr.has_canonical_format:
        csr = csr_array(csr, copy=True)
        csr.sum_duplicates()
    return keep_entries(csr, csr.data != 0)


def _require_sparse(matrix: Any, name: str) -> None:
    if not issparse(matrix):
        raise DataError(
            f"{name} is a {type(matrix).__name__}: expected a SciPy sparse matrix of shape "
            "(n_rows, n_labels), such as scipy.sparse.csr_array(your_array) or, of lists of "
            "labels, MultiLabelBinarizer(classes=clf.classes_, sparse_output=True)"
            ".fit_transform(your_lists)"
        )
    if matrix.ndim != 2:
        raise DataError(f"{name} has {matrix.ndim} dimension(s): expected (n_rows, n_labels)")
    if 0 in matrix.shape:
        raise DataError(f"{name} has shape {matrix.shape}: there is nothing to measure")


def _check_finite(csr: csr_array, name: str) -> None:
    if csr.data.dtype.kind not in "fiub":
        raise DataError(f"{name} holds values of type {csr.data.dtype}: expected numbers")
    finite = np.isfinite(csr.data)
    if not finite.all():
        entry = int(np.argmin(finite))
        raise DataError(
            f"{name}, row {row_of(csr, entry)}, column {csr.indices[entry]}: "
            f"{csr.data[entry]} found where a finite number was expected"
        )


def row_of(csr: csr_array, entry: int) -> int:
    """Return the row of a stored entry, for error messages."""
    return int(np.searchsorted(csr.indptr, entry, side="right")) - 1


def rows_of(csr: csr_array) -> IntArray:
    """Return the row of every stored entry, shape (nnz,)."""
    return np.repeat(np.arange(csr.shape[0], dtype=np.int64), np.diff(csr.indptr))


def keep_entries(csr: csr_array, keep: npt.NDArray[np.bool_]) -> csr_array:
    """Return the matrix with only the marked stored entries; a canonical one stays canonical."""
    if keep.all():
        return csr
    kept_before = np.concatenate(([0], np.cumsum(keep)))
    parts = (csr.data[keep], csr.indices[keep], kept_before[csr.indptr])
    return csr_array(parts, shape=csr.shape)


def as_indicator(matrix: Any, name: str) -> csr_array:
    """Return a 0/1 sparse matrix as canonical CSR whose stored values are all float64 ones."""
    _require_sparse(matrix, name)
    indptr, columns, n_columns = sparse_indicator(matrix, name)
    return csr_array((np.ones(columns.size), columns, indptr), shape=(matrix.shape[0], n_columns))


def label_counts(labels: Any) -> IntArray:
    """Return how often each label occurs, from a 0/1 sparse matrix or from these numbers."""
    if issparse(labels):
        matrix = as_indicator(labels, "labels")
        return np.bincount(matrix.indices, minlength=matrix.shape[1]).astype(np.int64)
    counts = vector(labels, "iu", DataError(NO_COUNTS))
    if counts.size and counts.min() < 0:
        raise DataError(f"labels: label {counts.argmin()} has the negative count {counts.min()}")
    return counts.astype(np.int64)


def restrict(csr: csr_array, columns: IntArray | None) -> csr_array:
    """Keep only the entries of the given columns; None keeps all."""
    if columns is None:
        return csr
    chosen = np.zeros(csr.shape[1], dtype=np.bool_)
    chosen[columns] = True
    return keep_entries(csr, chosen[csr.indices])


def label_ids(labels: npt.ArrayLike | None, n_labels: int) -> IntArray | None:
    """Return `labels` as an array of distinct column ids, in the order given; None stays None."""
    if labels is None:
        return None
    error = ParameterError("labels: expected a one-dimensional array of column ids")
    ids = vector(labels, "iu", error)
    outside = (ids < 0) | (ids >= n_labels)
    if outside.any():
        raise ParameterError(
            f"labels: id {ids[np.argmax(outside)]} is not one of the {n_labels} columns"
        )
    if np.unique(ids).size != ids.size:
        raise ParameterError("labels: a column id is given more than once")
    return ids.astype(np.int64)


def check_ks(ks: Iterable[int]) -> list[int]:
    """Return the distinct values of k in increasing order, after checking them."""
    if not isinstance(ks, Iterable):
        raise ParameterError(f"ks={brief(ks)}: expected a list of integers, such as [1, 3, 5]")
    places = sorted({integer("k", k, 1) for k in ks})
    if not places:
        raise ParameterError("ks is empty: expected at least one integer")
    return places


def as_ranking(prediction: Any, shape: tuple[int, int], k: int) -> IntArray:
    """Return the best `k` label ids of every row, best first, shape (n_rows, k).

    `prediction` is as for `precision_at_k`, and `shape` that of the true labels.
    """
    if issparse(prediction):
        scores = canonical_csr(prediction, "prediction")
        if scores.shape != shape:
            raise DataError(f"prediction has shape {scores.shape}: expected {shape}, as Y_true has")
        return top_columns(scores, k)
    return _check_ranking(prediction, shape, k, "prediction")


def top_columns(scores: csr_array, k: int) -> IntArray:
    """Return the columns of the `k` largest stored values of every row of a canonical CSR."""
    length = np.diff(scores.indptr)
    top = np.full((scores.shape[0], k), MISSING, dtype=np.int64)
    # Rows of similar length are sorted together, as a dense block of at most twice their
    # entries: many times faster than sorting all entries by (row, value) at once.
    of_class = np.frexp(np.maximum(length - 1, 0))[1]
    for size in np.unique(of_class):
        rows = np.flatnonzero((of_class == size) & (length > 0))
        place = np.arange(2 ** int(size))
        given = place < length[rows, np.newaxis]
        entry = np.where(given, scores.indptr[rows, np.newaxis] + place, 0)
        descending = np.where(given, -scores.data[entry].astype(np.float64), np.inf)
        # Entries are in column order and the sort is stable, so ties go to the smaller column.
        best = np.argsort(descending, axis=1, kind="stable")[:, :k]
        columns = scores.indices[np.take_along_axis(entry, best, axis=1)]
        top[rows, : best.shape[1]] = np.where(best < length[rows, np.newaxis], columns, MISSING)
    return top


def _check_ranking(prediction: Any, shape: tuple[int, int], k: int | None, name: str) -> IntArray:
    """Return the first `k` places of a ranking, or all of them, after checking it."""
    try:
        ids = np.asarray(prediction)
    except ValueError:
        raise DataError(f"{name}: rows of different lengths; fill missing places with -1") from None
    if ids.ndim != 2 or ids.dtype.kind not in "iu":
        raise DataError(
            f"{name} is an array of shape {ids.shape} and type {ids.dtype}: expected integer "
            "label ids of shape (n_rows, k), or scores as a SciPy sparse matrix, such as "
            "predict_proba(X, top_k=k)"
        )
    if ids.shape[0] != shape[0]:
        raise DataError(f"{name} has {ids.shape[0]} rows: expected {shape[0]}, as Y_true has")
    if k is not None and ids.shape[1] < k:
        raise DataError(
            f"{name} has {ids.shape[1]} places per row: expected at least k={k}; "
            "fill missing places with -1"
        )
    outside = (ids < MISSING) | (ids >= shape[1])
    if outside.any():
        row, place = np.unravel_index(int(np.argmax(outside)), ids.shape)
        raise DataError(
            f"{name}, row {row}, place {place}: label id {ids[row, place]} found where an id "
            f"below {shape[1]}, or -1, was expected"
        )
    ids = ids[:, :k].astype(np.int64)
    in_order = np.sort(ids, axis=1)
    repeated = (in_order[:, 1:] == in_order[:, :-1]) & (in_order[:, 1:] != MISSING)
    if repeated.any():
        row, place = np.unravel_index(int(np.argmax(repeated)), repeated.shape)
        raise DataError(f"{name}, row {row}: label id {in_order[row, place]} occurs twice")
    return ids


def as_sets(prediction: Any, shape: tuple[int, int]) -> csr_array:
    """Return predicted label sets as an indicator: a 0/1 sparse matrix, or all ids of a ranking."""
    if issparse(prediction):
        predicted = as_indicator(prediction, "Y_pred")
        if predicted.shape != shape:
            raise DataError(f"Y_pred has shape {predicted.shape}: expected {shape}, as Y_true has")
        return predicted
    return ranking_indicator(_check_ranking(prediction, shape, None, "Y_pred"), shape[1])


def ranking_indicator(ids: IntArray, n_labels: int) -> csr_array:
    """Return checked rankings as a 0/1 CSR of shape (n_rows, n_labels)."""
    in_order = np.sort(ids, axis=1)
    given = in_order != MISSING
    indptr = np.concatenate(([0], np.cumsum(given.sum(axis=1))))
    parts = (np.ones(indptr[-1]), in_order[given], indptr)
    return csr_array(parts, shape=(ids.shape[0], n_labels))
