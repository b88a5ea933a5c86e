"""Single examples from streams of several forms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from labelgrove._errors import DataError
from labelgrove._targets import Targets, parse_targets
from labelgrove._validation import n_rows_of


@dataclass(frozen=True)
class Example:
    """One example, ready for a model's methods.

    Attributes
    ----------
    X : one row, as accepted by `partial_fit` and `predict_topk`
    Y : its labels, as accepted by `partial_fit`
    labels : list of labels
    """

    X: Any
    Y: Any
    labels: list[Any]


def examples_of(stream: Any) -> Iterator[Example]:
    """Yield the examples of a pair (X, Y) or of an iterable of pairs (x, labels)."""
    if isinstance(stream, tuple) and len(stream) == 2 and not isinstance(stream[0], tuple):
        return _rows_of_arrays(*stream)
    if not isinstance(stream, Iterable):
        raise DataError(
            f"stream is a {type(stream).__name__}: expected a pair (X, Y) or an iterable of pairs"
        )
    return _pairs(stream)


def _rows_of_arrays(X: Any, Y: Any) -> Iterator[Example]:
    targets = parse_targets(Y, n_rows_of(X))
    X = csr_array(X) if issparse(X) else X
    Y = csr_array(Y) if issparse(Y) else Y  # a format that can be sliced by row
    for i in range(targets.n_rows):
        yield Example(X[i : i + 1], Y[i : i + 1], targets.row(i))


def _pairs(stream: Iterable[Any]) -> Iterator[Example]:
    expected = None
    for i, pair in enumerate(stream):
        try:
            x, labels = pair
        except (TypeError, ValueError):
            raise DataError(f"stream, example {i}: expected a pair (x, labels)") from None
        targets = _read(labels, i)
        expected = targets.kind if expected is None else expected
        if targets.kind != expected:
            raise DataError(
                f"stream, example {i}: single labels and collections of labels are mixed; "
                "expected one or the other throughout"
            )
        row = targets.row(0)
        yield Example(_one_row(x, i), row if expected == "multiclass" else [row], row)


def _read(labels: Any, i: int) -> Targets:
    try:
        return parse_targets([labels])
    except DataError as failure:
        raise DataError(f"stream, example {i}: {str(failure).removeprefix('Y, row 0: ')}") from None


def _one_row(x: Any, i: int) -> Any:
    """Return a single example's features as a batch of one row."""
    if isinstance(x, Mapping | str):
        return [x]
    if issparse(x):
        row = x.reshape((1, -1)) if x.ndim == 1 else x
    else:
        array = np.asarray(x)
        row = array.reshape(1, -1) if array.ndim == 1 else array
    if row.ndim != 2 or row.shape[0] != 1:
        raise DataError(f"stream, example {i}: x of shape {row.shape} found, expected a single row")
    return row
