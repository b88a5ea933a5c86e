"""Rows of ``labels id:value id:value ...``, common to XMLRepository and svmlight files.

The core parses nearly all input. It gives up a block in which anything is malformed or merely
unusual, which is then parsed row by row, to find out which line is wrong and how.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from labelgrove import _core
from labelgrove._errors import FileFormatError
from labelgrove.data._chunks import Piece, SparseRows
from labelgrove.data._rows import Bounds, RowError, parse_feature_row, parse_labels


@dataclass(frozen=True)
class Dialect:
    """How a format differs from the common row.

    Unless ``values_required``, a feature's ``id`` alone means 1. ``first`` is what a line begins
    with; ``split`` cuts it accordingly into its label field and its feature part, and raises
    RowError.
    """

    first: _core.FirstField
    values_required: bool
    split: Callable[[bytes], tuple[bytes, bytes]]


@dataclass(frozen=True, eq=False)
class Lines:
    r"""Lines joined by ``\n``, whose separators are blanks, and their numbers in the file."""

    text: bytes
    numbers: NDArray[np.int64]

    @classmethod
    def of_block(cls, first_line: int, data: bytes) -> Lines:
        """Number the lines of a block; tabs, which are also separators, become blanks."""
        last_line = first_line + data.count(b"\n")
        return cls(data.replace(b"\t", b" "), np.arange(first_line, last_line + 1))

    def without_first(self) -> Lines:
        """Return all lines but the first."""
        return Lines(self.text.partition(b"\n")[2], self.numbers[1:])

    def each(self) -> list[bytes]:
        """Return the lines."""
        return self.text.split(b"\n") if len(self.numbers) else []


def parse_lines(lines: Lines, dialect: Dialect, bounds: Bounds, path: str) -> Iterator[Piece]:
    """Parse the rows of a block in the core, or one by one if that gives up.

    At the first malformed row, raises FileFormatError after a piece of all rows before it.
    """
    piece, problem = parse_fast(lines, dialect, bounds), None
    if piece is None:
        piece, problem = parse_slow(lines, dialect, bounds)
    yield piece
    if problem is not None:
        raise FileFormatError(path, int(lines.numbers[piece.n_rows]), str(problem))


def parse_fast(lines: Lines, dialect: Dialect, bounds: Bounds) -> Piece | None:
    """Parse all rows at once; None unless all are plain and valid."""
    found = _core.parse_sparse_lines(
        lines.text, dialect.first, dialect.values_required, bounds.features, bounds.labels
    )
    if found is None:
        return None
    label_indptr, labels, indptr, ids, values, hard = found
    if len(indptr) != len(lines.numbers) + 1:  # a single line, which is empty
        return None
    with np.errstate(over="ignore", under="ignore"):
        for place, begin, end in hard:
            values[place] = float(lines.text[begin:end])
    if hard and not np.isfinite(values).all():
        return None
    flat = labels.tolist()
    rows = [tuple(flat[begin:end]) for begin, end in pairwise(label_indptr.tolist())]
    return Piece(rows, lines.numbers, SparseRows(indptr, ids, values))


def parse_slow(lines: Lines, dialect: Dialect, bounds: Bounds) -> tuple[Piece, RowError | None]:
    """Parse row by row; return all rows before the first malformed one, and its error."""
    labels: list[tuple[int, ...]] = []
    ids: list[int] = []
    values: list[float] = []
    indptr = [0]
    problem: RowError | None = None
    for line in lines.each():
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
    return Piece(labels, lines.numbers[: len(labels)], features), problem
