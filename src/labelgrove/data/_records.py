"""Rows of a table, gathered into pieces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from labelgrove._errors import FileFormatError
from labelgrove.data._chunks import Piece
from labelgrove.data._columns import Columns, labels_of, text_of
from labelgrove.data._rows import RowError

_ROWS = 1024
_CHARACTERS = 1 << 23


class Collected:
    """Labelled texts that are to become a piece."""

    def __init__(self) -> None:
        self._labels: list[tuple[str, ...]] = []
        self._texts: list[str] = []
        self._lines: list[int] = []
        self._characters = 0

    def add(self, labels: tuple[str, ...], text: str, line: int) -> None:
        """Add a row."""
        self._labels.append(labels)
        self._texts.append(text)
        self._lines.append(line)
        self._characters += len(text)

    @property
    def is_full(self) -> bool:
        """Whether it is time to `take` the rows."""
        return len(self._labels) >= _ROWS or self._characters >= _CHARACTERS

    def take(self) -> Piece:
        """Give the rows so far and begin anew."""
        piece = Piece(self._labels, np.array(self._lines, np.int64), text=self._texts)
        self.__init__()  # type: ignore[misc]
        return piece


def record_pieces(
    path: str,
    batches: Iterable[Iterable[Mapping[str, Any]]],
    columns: Columns,
    text: tuple[str, ...],
    labels: tuple[str, ...],
) -> Iterator[Piece]:
    """Rows with named values, numbered from 1.

    Raises
    ------
    FileFormatError
        At the first row whose text or labels cannot be used, after a piece of all rows before it.
    """
    number = 0
    for batch in batches:
        rows = Collected()
        for row in batch:
            number += 1
            try:
                rows.add(
                    labels_of(row, labels, columns.separator or ""), text_of(row, text), number
                )
            except RowError as error:
                yield rows.take()
                raise FileFormatError(path, number, str(error)) from None
        yield rows.take()
