"""Safe access to the entries of SciPy's sparse arrays and of 0/1 indicators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csc_array, csr_array

from labelgrove._errors import DataError

Indicator = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], int]
"""indptr, the columns of the ones (ascending within a row), and the number of columns."""

_MAX_COLUMNS = 2**31 - 1


def csr_of(
    values: npt.NDArray[Any],
    columns: npt.NDArray[np.integer[Any]],
    indptr: npt.NDArray[np.integer[Any]],
    shape: tuple[int, int],
) -> csr_array:
    """Build a sparse array whose indices have 32 bits if that suffices, 64 otherwise.

    SciPy keeps the type that it is given. Some of scikit-learn's solvers refuse 64 bits, and half
    the memory is half the time.
    """
    largest = max(int(indptr[-1]), *shape)
    index = np.int32 if largest <= _MAX_COLUMNS else np.int64
    parts = (values, columns.astype(index, copy=False), indptr.astype(index, copy=False))
    return csr_array(parts, shape=shape)


def triples(matrix: Any, what: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """Return row, column and value of every stored entry of a possibly inconsistent matrix.

    SciPy's own conversions between compressed formats write to wherever the indices point, so the
    matrix is never converted here.
    """
    if matrix.format in {"csr", "csc"}:
        counts = np.diff(_checked_ends(matrix, what))
        major = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
        minor = matrix.indices[: len(major)]
        pair = (major, minor) if matrix.format == "csr" else (minor, major)
        return (*pair, matrix.data[: len(major)])
    coo = matrix if matrix.format == "coo" else matrix.tocoo()
    return coo.row, coo.col, coo.data


def _checked_ends(matrix: Any, what: str) -> npt.NDArray[Any]:
    """Return a copy of the indptr of a CSR or CSC matrix."""
    indptr = np.array(matrix.indptr)
    n_major = matrix.shape[0 if matrix.format == "csr" else 1]
    stored = min(len(matrix.indices), len(matrix.data))
    if len(indptr) != n_major + 1 or indptr[0] != 0 or indptr[-1] > stored:
        raise DataError(f"{what} is damaged: its indptr does not fit its shape {matrix.shape}")
    falls = indptr[1:] < indptr[:-1]  # their differences could overflow
    if falls.any():
        raise DataError(f"{what} is damaged: its indptr falls at {int(np.argmax(falls))}")
    return indptr


def rows_of_csc(matrix: Any, what: str) -> csr_array:
    """Return a CSC matrix of plain numbers in CSR, in less than twice its own memory."""
    ends = _checked_ends(matrix, what)
    rows = np.array(matrix.indices[: ends[-1]])  # a copy: SciPy writes to wherever they point
    _require_below(rows, matrix.shape[0], "row", what)
    return csc_array((matrix.data[: ends[-1]], rows, ends), shape=matrix.shape).tocsr()


def places_of(
    indptr: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the row ends of a selection of rows, and the positions of their entries."""
    sizes = np.diff(indptr)[rows]
    ends = np.concatenate([[0], np.cumsum(sizes)])
    return ends, np.arange(ends[-1]) + np.repeat(indptr[rows] - ends[:-1], sizes)


def runs_of(ends: npt.NDArray[np.int64], most: int) -> Iterator[tuple[int, int]]:
    """Yield runs of rows that have at most ``most`` entries together, or of one row with more."""
    first = 0
    while first < len(ends) - 1:
        last = int(np.searchsorted(ends, ends[first] + most, "right")) - 1
        last = max(last, first + 1)
        yield first, last
        first = last


def require_inside(
    rows: npt.NDArray[Any], columns: npt.NDArray[Any], shape: tuple[int, int], what: str
) -> None:
    """Raise a `DataError` for entries outside a matrix of this shape."""
    _require_below(rows, shape[0], "row", what)
    _require_below(columns, shape[1], "column", what)


def _require_below(ids: npt.NDArray[Any], size: int, axis: str, what: str) -> None:
    # The extremes need no array of every comparison.
    if ids.size and not (ids.min() >= 0 and ids.max() < size):
        outside = ids[np.argmax((ids < 0) | (ids >= size))]
        raise DataError(f"{what} is damaged: it stores an entry in {axis} {outside} and has {size}")


def in_order(rows: npt.NDArray[Any], columns: npt.NDArray[Any]) -> bool:
    """Return whether entries are sorted by row and column, and none is stored twice."""
    later = columns[1:] > columns[:-1]
    later |= rows[1:] != rows[:-1]
    return bool(later.all() and (rows[1:] >= rows[:-1]).all())


def find_sorted(
    stored: npt.NDArray[np.int64], wanted: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return where numbers belong among distinct sorted ones, and whether they are there."""
    places = np.searchsorted(stored, wanted)
    there = places < stored.size
    there[there] = stored[places[there]] == wanted[there]
    return places, there


def dense_indicator(Y: npt.NDArray[Any]) -> Indicator:
    """Return the ones of a 2-D array.

    Raises DataError if a cell is neither 0 nor 1; the message names row and column.
    """
    if Y.dtype.kind == "O":
        wrong = np.array([[not _is_zero_or_one(cell) for cell in row] for row in Y], bool)
    elif Y.dtype.kind in "biuf":
        wrong = (Y != 0) & (Y != 1)
    else:
        raise DataError(
            f"Y is a 2-D array of {Y.dtype}: expected an indicator of 0 and 1; pass a collection "
            "of labels per row as a list of lists: Y.tolist()"
        )
    if wrong.any():
        row, column = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        raise _not_an_indicator(int(row), int(column), Y[row, column])
    rows, columns = np.nonzero(Y)
    return _by_rows(rows, columns, Y.shape)


def sparse_indicator(Y: Any, name: str = "Y") -> Indicator:
    """Return the ones of a SciPy sparse matrix or array of any format; repeated ones count once.

    The caller's matrix is never changed. Raises DataError if a stored value is neither 0 nor 1, or
    an entry lies outside the matrix.
    """
    if Y.ndim != 2:
        raise DataError(f"{name} is sparse with {Y.ndim} dimension(s): expected (n_rows, n_labels)")
    if Y.dtype.kind not in "biuf":
        raise DataError(f"{name} is sparse with values of type {Y.dtype}: expected 0 and 1")
    # Copy before checking, in case another thread writes to the caller's arrays.
    rows, columns, values = (np.array(part) for part in triples(Y, name))
    require_inside(rows, columns, Y.shape, name)
    ones = values == 1
    if not ones.all():  # a stored zero or a fault
        wrong = np.flatnonzero(~ones & (values != 0))
        if wrong.size:
            first = wrong[0]
            raise _not_an_indicator(int(rows[first]), int(columns[first]), values[first], name)
        rows, columns = rows[ones], columns[ones]
    return _by_rows(rows, columns, Y.shape, name)


def _by_rows(
    rows: npt.NDArray[Any], columns: npt.NDArray[Any], shape: tuple[int, int], name: str = "Y"
) -> Indicator:
    n_columns = shape[1]
    if n_columns > _MAX_COLUMNS:
        raise DataError(f"{name} has {n_columns} columns: expected at most {_MAX_COLUMNS} labels")
    ones = coo_array((np.ones(len(rows), bool), (rows, columns)), shape=shape).tocsr()
    return ones.indptr.astype(np.int64), ones.indices.astype(np.int64), n_columns


def _is_zero_or_one(cell: Any) -> bool:
    return isinstance(cell, int | float | np.bool_ | np.number) and cell in {0, 1}


def _not_an_indicator(row: int, column: int, value: Any, name: str = "Y") -> DataError:
    hint = (
        "; a 2-D Y is an indicator with one column per label (pass labels themselves as a list "
        "with one collection per row)"
    )
    return DataError(
        f"{name}, row {row}, column {column}: {value}, expected 0 or 1{hint if name == 'Y' else ''}"
    )


def without(matrix: csr_array, cells: csr_array | None) -> csr_array:
    """Clear the entries where another matrix has a 1; None clears nothing."""
    if cells is None:
        return matrix
    left = csr_array(matrix - matrix.multiply(cells.astype(matrix.dtype)))
    left.eliminate_zeros()
    left.sort_indices()
    return left
