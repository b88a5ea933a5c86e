"""Vectors of labels, built from the examples that have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelgrove import _core
from labelgrove._errors import DataError, ParameterError
from labelgrove._names import Names
from labelgrove._parameters import choice
from labelgrove._sparse import csr_of, dense_indicator, runs_of, sparse_indicator
from labelgrove._targets import parse_targets
from labelgrove._validation import Rows, check_rows

KINDS = ("pifa", "cooccurrence")

MANY_COLUMNS = 2**22
"""Beyond this number of columns, a sort to drop the empty ones pays off."""

_RUN_ENTRIES = 2**18


def label_embeddings(X: Any, Y: Any, *, kind: str = "pifa") -> Any:
    """Return a unit vector for every label, for clustering labels.

    Parameters
    ----------
    X : sparse array or array-like of shape (n_examples, n_features), or None
        The examples; they are scaled to unit length. Not needed for co-occurrence.
    Y : array-like or sparse
        Labels of the examples, as for an estimator's `fit`: one per row, a collection per row, or
        an indicator (array or sparse) of shape (n_examples, n_labels).
    kind : {"pifa", "cooccurrence"}
        `"pifa"`, positive instance feature aggregation: the sum of the examples that have the
        label. `"cooccurrence"`: how often the label occurs together with each label, including
        itself; for data with uninformative features.

    Returns
    -------
    csr_array of float32, or ndarray of float32 if X is dense
        Shape (n_labels, n_features), or (n_labels, n_labels) for co-occurrence. The labels are in
        the order of `label_indicator`: by column, or by first occurrence. The row of a label
        without examples is zero.

    Raises
    ------
    ParameterError
        `kind` is unknown, or X is None where it is needed.
    DataError
        X holds NaN or infinity, `fit` would refuse Y, or their numbers of rows differ.

    Examples
    --------
    >>> Y = [["tree"], ["tree", "oak"]]
    >>> print(label_embeddings([[3.0, 4.0], [1.0, 0.0]], Y).round(2))
    [[0.89 0.45]
     [1.   0.  ]]
    >>> print(label_embeddings(None, Y, kind="cooccurrence").toarray().round(2))
    [[0.89 0.45]
     [0.71 0.71]]
    """
    choice("kind", kind, KINDS)
    indicator, _ = label_indicator(Y)
    examples_of = indicator.T.tocsr()
    if kind == "cooccurrence":
        return _unit_rows(examples_of.astype(np.float32) @ indicator.astype(np.float32))
    if X is None:
        raise ParameterError("X is None: expected the examples; only co-occurrence needs none")
    rows = check_rows(X)
    if rows.n_rows != indicator.shape[0]:
        raise DataError(
            f"X has {rows.n_rows} rows and Y has {indicator.shape[0]}; expected the same number"
        )
    return pifa(rows, examples_of)


def pifa(rows: Rows, examples_of: Any, threads: int = 1) -> Any:
    """Return `label_embeddings` of validated rows, whatever the number of threads.

    `examples_of` has shape (n_labels, n_examples), with 1 if the example has the label.
    """
    if rows.dense:
        matrix = rows.values.reshape(rows.n_rows, rows.n_features)
        return _unit_rows(examples_of.astype(np.float32) @ _unit_rows(matrix))
    columns = None
    n_labels, n_features = examples_of.shape[0], rows.n_features
    if n_features > MANY_COLUMNS:
        rows, columns = without_empty_columns(rows)
    ends, examples = examples_of.indptr.astype(np.int64), examples_of.indices.astype(np.uint32)
    try:
        vectors = _core.label_vectors(*rows.arrays, rows.n_features, ends, examples, threads)
    except ValueError:
        raise DataError("X was changed by another thread during the call") from None
    indptr, ids, values = vectors
    ids = ids.view(np.int32) if columns is None else columns[ids]  # 31 bits suffice
    return csr_of(values, ids, indptr, (n_labels, n_features))


def without_empty_columns(rows: Rows) -> tuple[Rows, npt.NDArray[np.int32]]:
    """Return sparse rows with their columns renumbered, and the old numbers.

    Products of sparse matrices cost memory and time for every column, and hashed text may have
    two billion of them.
    """
    columns, ids = np.unique(rows.ids, return_inverse=True)
    renumbered = rows._replace(ids=ids.astype(np.uint32), n_features=columns.size)
    return renumbered, columns.astype(np.int32)


def label_indicator(Y: Any) -> tuple[Any, Names]:
    """Return labels in any form as a matrix of 0 and 1, and the labels of its columns.

    Parameters
    ----------
    Y : array-like or sparse
        Labels, as for an estimator's `fit`: one per row, a collection per row, or an indicator.

    Returns
    -------
    indicator : csr_array of uint8, shape (n_examples, n_labels)
    labels : ndarray of object (str) or int64, shape (n_labels,)
        In order of first occurrence; for an indicator, 0, 1, 2…

    Raises
    ------
    DataError
        A value is not a label; the message names the row.

    Examples
    --------
    >>> indicator, labels = label_indicator([["law", "tax"], [], ["tax"]])
    >>> labels.tolist(), indicator.toarray().tolist()
    (['law', 'tax'], [[1, 1], [0, 0], [0, 1]])
    """
    targets = parse_targets(Y)
    if targets.n_columns is not None:
        return _csr(targets.indptr, targets.labels, targets.n_columns), np.arange(targets.n_columns)
    return _csr(targets.indptr, targets.codes, len(targets.names)), targets.names


def as_indicator(Y: Any) -> Any:
    """Return a matrix of 0 and 1 as a csr_array of uint8; raises `DataError` for anything else."""
    if sp.issparse(Y):
        return _csr(*sparse_indicator(Y))
    try:
        array = np.asarray(Y)
    except ValueError:  # rows of different lengths
        array = np.empty(0)
    if array.ndim != 2:
        raise DataError(
            "Y: expected a matrix of 0 and 1 with a column for each label; label_indicator "
            "converts lists of labels"
        )
    return _csr(*dense_indicator(array))


def _csr(indptr: npt.NDArray[np.int64], columns: npt.NDArray[Any], n_columns: int) -> Any:
    ones = np.ones(columns.size, np.uint8)
    return csr_of(ones, columns, indptr, (indptr.size - 1, n_columns))


def _unit_rows(matrix: Any) -> Any:
    """Return a float32 matrix whose rows have unit length, or are zero."""
    if not sp.issparse(matrix):
        step = max(_RUN_ENTRIES // matrix.shape[1], 1)
        runs = (matrix[begin : begin + step] for begin in range(0, len(matrix), step))
        squares = [np.square(run, dtype=np.float64).sum(axis=1) for run in runs]
        norms = np.sqrt(np.concatenate([np.empty(0), *squares]))
        return (matrix * _inverse(norms)[:, np.newaxis]).astype(np.float32)
    matrix.sort_indices()
    values = np.empty(matrix.nnz, np.float32)
    ends = matrix.indptr
    for first, last in runs_of(ends, _RUN_ENTRIES):  # bounds the memory for temporaries
        run = slice(ends[first], ends[last])
        squares = np.square(matrix.data[run], dtype=np.float64)
        row_of = np.repeat(np.arange(last - first), np.diff(ends[first : last + 1]))
        norms = np.sqrt(np.bincount(row_of, squares))
        values[run] = matrix.data[run] * _inverse(norms)[row_of]
    return sp.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)


def _inverse(norms: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
