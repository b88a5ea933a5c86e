"""The format of the Extreme Classification Repository.

    N D K                       numbers of rows, features and labels; this line is optional
    3,17 0:0.5 21:1.25          labels, then features id:value
     4:1 9                      no labels: a blank comes first; 9 alone means 9:1

Ids count from 0. The separators are blanks or tabs. If the first line consists of exactly three
non-negative integers, it is the header, even if it could be a row of one label and two features
without values. An empty line is an error, except at the end of the file: rows are often matched by
position with another file, so none may be skipped silently.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from labelgrove._errors import FileFormatError
from labelgrove.data._chunks import Contents, Piece
from labelgrove.data._limits import MAX_ID
from labelgrove.data._lines import LineSource, has_line
from labelgrove.data._rows import Bounds, RowError, shown
from labelgrove.data._sparse_text import Dialect, Lines, numbered, parse_lines

_HEADER = re.compile(rb"(\d+)[ \t]+(\d+)[ \t]+(\d+)[ \t]*\r?")
_HEADER_BYTES = 4096  # far more than the length of a header
_MAX_DIGITS = 19


def read_xmlc(source: LineSource) -> Contents:
    """Open an XMLRepository file; the number of rows is checked at its end."""
    header = _HEADER.fullmatch(source.peek(_HEADER_BYTES, has_line).partition(b"\n")[0])
    if header is None:
        return Contents(_pieces(source, Bounds(), None), is_text=False, labels_are_int=True)
    rows, features, labels = (_count(source.path, digits) for digits in header.groups())
    for number, what in ((features, "features"), (labels, "labels")):
        if number > MAX_ID + 1:
            raise FileFormatError(
                source.path,
                1,
                f"the header declares {number} {what}; expected at most {MAX_ID + 1}",
            )
    return Contents(
        _pieces(source, Bounds(features, labels), rows),
        is_text=False,
        labels_are_int=True,
        declared_rows=rows,
        declared_features=features,
        declared_labels=labels,
    )


def split_row(line: bytes) -> tuple[bytes, bytes]:
    """Return the label field and the feature part; raises RowError if the line is empty."""
    if not line:
        raise RowError(
            "the line is empty; expected an example (one without labels and features is a line of "
            "one blank)"
        )
    field, _, row = line.partition(b" ")
    return field, row


DIALECT = Dialect(values_required=False, split=split_row)


def _count(path: str, digits: bytes) -> int:
    if len(digits) > _MAX_DIGITS:
        raise FileFormatError(
            path,
            1,
            f"the header holds {shown(digits)}; expected a number of at most {_MAX_DIGITS} digits",
        )
    return int(digits)


def _pieces(source: LineSource, bounds: Bounds, declared_rows: int | None) -> Iterator[Piece]:
    rows = last_line = 0
    empty: Lines = []  # the first trailing empty line, an error as soon as another row follows
    for first_line, data in source.blocks():
        lines = numbered(first_line, data)
        last_line = lines[-1][0]
        if first_line == 1 and declared_rows is not None:
            del lines[0]
        trailing = sum(1 for _ in takewhile(lambda row: not row[1], reversed(lines)))  # empty ones
        if empty and trailing < len(lines):
            lines, trailing = empty[:1], 0  # parse the empty line to raise its error
        for piece in parse_lines(lines[: len(lines) - trailing], DIALECT, bounds, source.path):
            rows += piece.n_rows
            yield piece
        empty += lines[len(lines) - trailing :][: 1 - len(empty)]
    if declared_rows is not None and rows != declared_rows:
        raise FileFormatError(
            source.path,
            last_line,
            f"the file ends after {rows} examples; expected the {declared_rows} that its header "
            "declares",
        )
