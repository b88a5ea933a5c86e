"""Common parts of the formats of labelled texts, whether lines or rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from labelgrove._errors import FileFormatError
from labelgrove.data._chunks import Piece
from labelgrove.data._columns import Columns, labels_of, text_of
from labelgrove.data._lines import LineSource
from labelgrove.data._rows import RowError

#: A piece of a table ends at this many rows or characters.
_ROWS = 1024
_CHARACTERS = 1 << 23

#: Parses one line into labels and text; raises RowError or UnicodeDecodeError.
ParseLine = Callable[[bytes], tuple[tuple[str, ...], str]]


def decoded(parse: Callable[[str], tuple[tuple[str, ...], str]]) -> ParseLine:
    """Wrap a parser of strings so that it parses lines of bytes."""
    return lambda line: parse(line.decode("utf-8"))


def text_pieces(source: LineSource, parse: ParseLine) -> Iterator[Piece]:
    """Yield the rows of all non-empty lines, one piece per block.

    At the first malformed line, raises FileFormatError after a piece of all rows before it.
    """
    for block in source.blocks():
        rows = Collected()
        for number, line in block.lines():
            if not line:
                continue
            try:
                labels, text = parse(line)
            except (RowError, UnicodeDecodeError) as error:
                yield rows.take()
                reason = str(error)
                if isinstance(error, UnicodeDecodeError):
                    reason = f"byte {error.start + 1} of the line is not UTF-8; expected UTF-8 text"
                raise FileFormatError(source.path, number, reason) from None
            rows.add(labels, text, number)
        yield rows.take()


class Collected:
    """Collects labelled texts for a piece."""

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
        """Return the rows so far, and start again with none."""
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
    """Yield pieces of rows with named values, numbered from 1.

    At the first row whose text or labels cannot be used, raises FileFormatError after a piece of
    all rows before it.
    """
    number = 0
    for batch in batches:
        rows = Collected()
        for row in batch:
            number += 1
            try:
                rows.add(labels_of(row, labels, columns.split_by(None)), text_of(row, text), number)
            except RowError as error:
                yield rows.take()
                raise FileFormatError(path, number, str(error)) from None
        yield rows.take()
