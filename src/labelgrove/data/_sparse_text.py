"""Rows of ``labels id:value id:value ...``, common to XMLRepository and svmlight files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelgrove._errors import FileFormatError
from labelgrove.data._chunks import Piece, SparseRows
from labelgrove.data._numbers import NotPlainError, parse_features
from labelgrove.data._rows import Bounds, RowError, parse_feature_row, parse_labels

_PLAIN_LABELS = re.compile(rb"[0-9]{1,10}(?:,[0-9]{1,10})*")

#: Numbered lines of one block.
Lines = list[tuple[int, bytes]]


@dataclass(frozen=True)
class Dialect:
    """How a format differs from the common row.

    Unless ``values_required``, a feature's ``id`` alone means 1. ``split`` cuts a row into its
    label field and its feature part; it raises RowError.
    """

    values_required: bool
    split: Callable[[bytes], tuple[bytes, bytes]]


def parse_lines(lines: Lines, dialect: Dialect, bounds: Bounds, path: str) -> Iterator[Piece]:
    """Parse the rows of a block with the vectorised parser, or with the slow one if that gives up.

    At the first malformed row, raises FileFormatError after a piece of all rows before it.
    """
    problem = None
    try:
        piece = parse_fast(lines, dialect, bounds)
    except (NotPlainError, RowError):
        piece, problem = parse_slow(lines, dialect, bounds)
    yield piece
    if problem is not None:
        raise FileFormatError(path, lines[piece.n_rows][0], str(problem))


def parse_fast(lines: Lines, dialect: Dialect, bounds: Bounds) -> Piece:
    """Parse all rows at once; raises NotPlainError or RowError unless all are plain and valid."""
    labels: list[tuple[int, ...]] = []
    rows: list[bytes] = []
    for _, line in lines:
        field, row = dialect.split(line)
        rows.append(row)
        if not field:
            labels.append(())
            continue
        if not _PLAIN_LABELS.fullmatch(field):
            raise NotPlainError
        found = tuple(map(int, field.split(b",")))
        if max(found) >= bounds.labels:
            raise NotPlainError
        labels.append(found if len(set(found)) == len(found) else tuple(dict.fromkeys(found)))
    features = parse_features(rows, bounds.features, dialect.values_required)
    return Piece(labels, _line_numbers(lines), features)


def parse_slow(lines: Lines, dialect: Dialect, bounds: Bounds) -> tuple[Piece, RowError | None]:
    """Parse row by row; return all rows before the first malformed one, and its error."""
    labels: list[tuple[int, ...]] = []
    ids: list[int] = []
    values: list[float] = []
    indptr = [0]
    problem: RowError | None = None
    for _, line in lines:
        try:
            field, row = dialect.split(line)
            found = parse_labels(field, bounds)
            row_ids, row_values = parse_feature_row(row, bounds, dialect.values_required)
        except RowError as error:
            problem = error
            break
        labels.append(found)
        ids += row_ids
        values += row_values
        indptr.append(len(ids))
    with np.errstate(under="ignore"):
        features = SparseRows(
            np.array(indptr, np.int64),
            np.array(ids, np.int32),
            np.array(values, np.float64).astype(np.float32),
        )
    return Piece(labels, _line_numbers(lines[: len(labels)]), features), problem


def numbered(first_line: int, data: bytes) -> Lines:
    """Number the lines of a block; tabs, which are also separators, become blanks."""
    return list(enumerate(data.replace(b"\t", b" ").split(b"\n"), first_line))


def _line_numbers(lines: Lines) -> NDArray[np.int64]:
    return np.fromiter((number for number, _ in lines), np.int64, len(lines))
