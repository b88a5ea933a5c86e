"""Pieces, the units in which a format is parsed, and chunks of rows cut from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelgrove._sparse import csr_of
from labelgrove.data._examples import Examples

#: A text counts as one entry per this many characters when chunks are cut.
_CHARACTERS_PER_ENTRY = 8


@dataclass(frozen=True, eq=False)
class SparseRows:
    """CSR rows without a width: int32 ids sorted and unique in each row, float32 values."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float32]

    def slice(self, start: int, stop: int) -> SparseRows:
        """Return rows `start` to `stop`, as views."""
        low, high = self.indptr[start], self.indptr[stop]
        return SparseRows(
            self.indptr[start : stop + 1] - low, self.indices[low:high], self.values[low:high]
        )


def nonzero_ids(
    indptr: NDArray[np.int64], indices: NDArray[Any], values: NDArray[Any]
) -> list[tuple[int, ...]]:
    """Return the ids of the non-zero values of each row."""
    present = values != 0
    ids = indices[present].tolist()
    ends = np.concatenate([[0], np.cumsum(present)])[indptr].tolist()
    return [tuple(ids[a:b]) for a, b in pairwise(ends)]


@dataclass(frozen=True, eq=False)
class Piece:
    """Consecutive rows as returned by a format's parser: features or text, never both."""

    labels: list[tuple[Any, ...]]
    lines: NDArray[np.int64]
    features: SparseRows | None = None
    text: list[str] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.labels)

    def entries(self) -> NDArray[np.int64]:
        """Return the running total of the rows' entries: features (or text) and labels."""
        weights = np.fromiter(map(len, self.labels), np.int64, self.n_rows)
        if self.features is not None:
            weights += np.diff(self.features.indptr)
        elif self.text is not None:
            characters = np.fromiter(map(len, self.text), np.int64, self.n_rows)
            weights += characters // _CHARACTERS_PER_ENTRY
        return np.cumsum(weights)

    def slice(self, start: int, stop: int) -> Piece:
        """Return rows `start` to `stop`."""
        return Piece(
            self.labels[start:stop],
            self.lines[start:stop],
            self.features.slice(start, stop) if self.features is not None else None,
            self.text[start:stop] if self.text is not None else None,
        )


def rechunk(
    pieces: Iterator[Piece],
    chunk_size: int,
    max_entries: int,
    width: int | None,
    is_dry: Callable[[], bool] = bool,
) -> Iterator[Examples]:
    """Regroup pieces into chunks, whose boundaries in a file depend on the rows alone.

    A chunk ends at `chunk_size` rows, or before the row that would take it beyond `max_entries`
    features and labels; a single row that exceeds this is a chunk of its own. It also ends after a
    piece if `is_dry`, since the next piece of a pipe may take long to come. `width` is the declared
    number of features; None lets the chunks widen as larger ids appear.
    """
    held: list[Piece] = []
    rows = entries = seen_width = 0
    for piece in pieces:
        total = piece.entries()
        start = 0
        while start < piece.n_rows:
            before = int(total[start - 1]) if start else 0
            fitting = int(np.searchsorted(total, before + max_entries - entries, side="right"))
            take = min(chunk_size - rows, fitting - start)
            if take <= 0 and not held:
                take = 1
            if take > 0:
                held.append(piece.slice(start, start + take))
                rows += take
                start += take
                entries += int(total[start - 1]) - before
            ended = start == piece.n_rows and is_dry()
            if rows == chunk_size or start < piece.n_rows or ended:
                seen_width = max(seen_width, _width(held))
                yield _joined(held, seen_width if width is None else width)
                held, rows, entries = [], 0, 0
    if held:
        yield _joined(held, max(seen_width, _width(held)) if width is None else width)


def _joined(pieces: list[Piece], width: int) -> Examples:
    """Join all rows of one or more pieces into one Examples, `width` columns wide."""
    labels = [row for piece in pieces for row in piece.labels]
    lines = np.concatenate([piece.lines for piece in pieces])
    first_line = int(lines[0]) if len(lines) else 0
    parts = [piece.features for piece in pieces if piece.features is not None]
    if not parts:
        text = [text for piece in pieces for text in piece.text or ()]
        return Examples(None, text, labels, first_line, lines)
    counts = np.concatenate([np.diff(part.indptr) for part in parts])
    indptr = np.concatenate([[0], np.cumsum(counts)])
    indices = np.concatenate([part.indices for part in parts])
    values = np.concatenate([part.values for part in parts])
    X = csr_of(values, indices, indptr, (len(counts), width))
    X.has_sorted_indices = X.has_canonical_format = True
    return Examples(X, None, labels, first_line, lines)


def _width(pieces: list[Piece]) -> int:
    """Return one more than the largest feature id."""
    largest = (
        int(piece.features.indices.max())
        for piece in pieces
        if piece.features is not None and len(piece.features.indices)
    )
    return max(largest, default=-1) + 1


@dataclass(frozen=True, eq=False)
class Contents:
    """An opened file: its header has been read, its rows are read lazily, piece by piece."""

    pieces: Iterator[Piece]
    is_text: bool
    labels_are_int: bool
    labels_may_be_names: bool = False
    declared_rows: int | None = None
    declared_features: int | None = None
    declared_labels: int | None = None
