"""True labels in the forms that users have them, read row by row."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence, Set
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array, issparse

from labelgrove._errors import DataError
from labelgrove.metrics._inputs import as_indicator

MULTICLASS = "multiclass"
MULTILABEL = "multilabel"

Row = tuple[Hashable, ...]


class Predictor(Protocol):
    """What a model must be able to do to be measured."""

    def predict_topk(self, X: Any, k: int = ...) -> Any:
        """Return the labels (n, k) and scores (n, k) of the best `k` for every row."""


class Learner(Predictor, Protocol):
    """What a model must be able to do to be measured while it learns."""

    def partial_fit(self, X: Any, Y: Any) -> Any:
        """Learn from more rows."""


def task_of(labels: Any) -> str:
    """Tell whether one example's labels are a single class or a collection of labels.

    A string is one label, never a collection of characters.
    """
    return MULTILABEL if _is_collection(labels) else MULTICLASS


def as_row(labels: Any, place: str) -> Row:
    """Return one example's labels as a tuple of distinct, plain Python values."""
    values = list(labels) if _is_collection(labels) else [labels]
    return tuple(dict.fromkeys(_plain(value, place) for value in values))


def read_targets(Y: Any, name: str = "Y") -> tuple[str, list[Row]]:
    """Return the task and the labels of every row.

    Parameters
    ----------
    Y : sparse matrix, 2-D array (0/1), sequence of collections, or 1-D sequence of labels
        In a matrix the columns are the labels.
    name : str
        What to call it in messages.
    """
    if issparse(Y) or (isinstance(Y, np.ndarray) and Y.ndim == 2):
        return MULTILABEL, list(_matrix_rows(as_indicator(csr_array(Y), name)))
    if isinstance(Y, str | bytes) or not isinstance(Y, Sequence | np.ndarray):
        raise DataError(
            f"{name} is a {type(Y).__name__}: expected an indicator matrix, a list of label "
            "collections, or a one-dimensional sequence of labels"
        )
    tasks = [task_of(labels) for labels in Y]
    for row, task in enumerate(tasks):
        if task != tasks[0]:
            raise DataError(
                f"{name}, row {row}: {_kind(task)} found where {_kind(tasks[0])} was expected, "
                "as in row 0"
            )
    task = tasks[0] if tasks else MULTILABEL
    return task, [as_row(labels, f"{name}, row {row}") for row, labels in enumerate(Y)]


def _matrix_rows(matrix: csr_array) -> Iterator[Row]:
    columns, ends = matrix.indices.tolist(), matrix.indptr.tolist()
    for start, end in pairwise(ends):
        yield tuple(columns[start:end])


def _is_collection(labels: Any) -> bool:
    if isinstance(labels, np.ndarray):
        return labels.ndim > 0
    return isinstance(labels, Sequence | Set) and not isinstance(labels, str | bytes)


def _plain(label: Any, place: str) -> Hashable:
    value = label.item() if isinstance(label, np.generic) else label
    if not isinstance(value, str | int):
        raise DataError(f"{place}: {value!r} found where a string or a whole number was expected")
    return value


def _kind(task: str) -> str:
    return "a single label" if task == MULTICLASS else "a collection of labels"
