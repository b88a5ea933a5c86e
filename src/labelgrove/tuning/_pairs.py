"""The (row, label) pairs that matter for tuning: those with a score, and the true ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse

from labelgrove._errors import DataError
from labelgrove._sparse import (
    dense_indicator,
    find_sorted,
    in_order,
    require_inside,
    runs_of,
    sparse_indicator,
    triples,
)

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

CHUNK = 2_000_000
"""Number of pairs processed together; this bounds the memory needed in addition to the data."""

_ROUNDING = 1e-6  # float32 arithmetic may exceed 1 by this much


@dataclass(frozen=True)
class Pairs:
    """Pairs of a range of rows, in row order; all other pairs are neither true nor have a score."""

    first_row: int
    n_rows: int  # some may have no pairs
    row: IntArray  # numbered from the start of the matrix
    label: IntArray
    score: npt.NDArray[Any]  # 0 if a true label has no score
    truth: BoolArray


def read_pairs(Y: Any, scores: Any, *, chunk: int = CHUNK) -> tuple[Iterator[Pairs], int, int]:
    """Check true labels (0/1) and probabilities, both (n, m) and sparse or dense.

    Return an iterator over their pairs in runs of whole rows, of about `chunk` pairs each, and n
    and m. Raises DataError if the input cannot be used; the message names row and column.
    """
    y_ends, y_label, n_labels = read_indicator(Y)
    shape = (len(y_ends) - 1, n_labels)
    s_ends, s_label, score = read_scores(scores, shape)
    return _runs((y_ends, y_label), (s_ends, s_label, score), n_labels, chunk), *shape


def read_indicator(Y: Any) -> tuple[IntArray, IntArray, int]:
    """Return indptr, the columns of the ones, and the number of columns of a 0/1 matrix."""
    if issparse(Y):
        return sparse_indicator(Y)
    return dense_indicator(_as_matrix(Y, "Y"))


def read_scores(scores: Any, shape: tuple[int, int]) -> tuple[IntArray, IntArray, npt.NDArray[Any]]:
    """Return indptr, columns and values of the scores above 0, with sorted columns in every row."""
    if issparse(scores):
        if scores.ndim != 2:
            raise DataError(f"scores has {scores.ndim} dimension(s): expected (n, m)")
        row, label, value = triples(scores, "scores")
    else:
        scores = _as_matrix(scores, "scores")
        row, label = np.nonzero(scores)
        value = scores[row, label]
    if scores.shape != shape:
        raise DataError(f"scores has shape {scores.shape}: expected {shape}, as Y has")
    require_inside(row, label, shape, "scores")
    if value.dtype.kind not in "fiub":
        raise DataError(f"scores holds values of type {value.dtype}: expected numbers")
    if not in_order(row, label):
        merged = csr_array((value, (row, label)), shape=shape)  # repeated entries are summed
        row, label, value = triples(merged, "scores")
    _check(row, label, value)
    if not value.all():
        there = value != 0
        row, label, value = row[there], label[there], value[there]
    ends = np.zeros(shape[0] + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=shape[0]), out=ends[1:])
    return ends, label, value


def best_of_rows(row: IntArray, score: npt.NDArray[Any], k: int) -> BoolArray:
    """Return which pairs have one of the k greatest scores of their row; none has a score of 0.

    Of equal scores the first count.
    """
    best = np.zeros(len(row), np.bool_)
    if k:
        order = np.lexsort((-score.astype(np.float64), row))
        rows = row[order]
        best[order] = np.arange(len(rows)) - np.searchsorted(rows, rows) < k
        best &= score > 0
    return best


def _as_matrix(values: Any, name: str) -> npt.NDArray[Any]:
    try:
        matrix = np.asarray(values)
    except ValueError:
        raise DataError(f"{name} has rows of different lengths: expected a matrix") from None
    if matrix.ndim != 2:
        raise DataError(f"{name} has {matrix.ndim} dimension(s): expected a matrix (n, m)")
    return matrix


def _check(row: Any, label: Any, value: Any) -> None:
    right = (value >= 0) & (value <= 1 + _ROUNDING)
    if not right.all():
        first = np.argmin(right)
        raise DataError(
            f"scores, row {row[first]}, column {label[first]}: {value[first]} found where a "
            "probability from 0 to 1 was expected"
        )


def _runs(
    truth: tuple[IntArray, IntArray],
    scored: tuple[IntArray, IntArray, npt.NDArray[Any]],
    n_labels: int,
    chunk: int,
) -> Iterator[Pairs]:
    """Merge the true labels and the scores, some rows at a time."""
    y_ends, y_label = truth
    s_ends, s_label, score = scored
    # Each row counts as one extra pair, so that a run of empty rows ends too.
    ends = y_ends + s_ends + np.arange(len(y_ends))
    for first, last in runs_of(ends, chunk):
        of_y, of_s = slice(y_ends[first], y_ends[last]), slice(s_ends[first], s_ends[last])
        n_rows = last - first
        y_row, s_row = (
            np.repeat(np.arange(n_rows), np.diff(row_ends[first : last + 1]))
            for row_ends in (y_ends, s_ends)
        )
        at, scored_too = find_sorted(
            s_row * n_labels + s_label[of_s], y_row * n_labels + y_label[of_y]
        )
        true = np.zeros(len(s_row), np.bool_)
        true[at[scored_too]] = True
        missed = np.flatnonzero(~scored_too)
        row = np.concatenate((s_row, y_row[missed]))
        order, _ = grouped(row, n_rows)
        yield Pairs(
            first,
            n_rows,
            row[order] + first,
            np.concatenate((s_label[of_s], y_label[of_y][missed])).astype(np.int64)[order],
            np.concatenate((score[of_s], np.zeros(len(missed), score.dtype)))[order],
            np.concatenate((true, np.ones(len(missed), np.bool_)))[order],
        )


def grouped(group: IntArray, n_groups: int) -> tuple[IntArray, IntArray]:
    """Sort stably by group; return the order and the start of each group, shape (n_groups + 1,).

    SciPy's conversion from CSR to CSC is a counting sort, ten times faster than NumPy's sort.
    """
    one_row = (np.arange(len(group)), group, np.array([0, len(group)]))
    columns = csr_array(one_row, shape=(1, n_groups)).tocsc()
    return columns.data, columns.indptr.astype(np.int64)
