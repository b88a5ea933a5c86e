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

from labelgrove import _core
from labelgrove._errors import FileFormatError
from labelgrove.data._chunks import Contents, Piece
from labelgrove.data._limits import MAX_ID
from labelgrove.data._lines import LineSource, has_line
from labelgrove.data._rows import Bounds, RowError, shown
from labelgrove.data._sparse_text import Dialect, Lines, parse_lines

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


DIALECT = Dialect(_core.FirstField.labels, values_required=False, split=split_row)


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
    empty: Lines | None = None  # a trailing empty line, an error as soon as another row follows
    for first_line, data in source.blocks():
        lines = Lines.of_block(first_line, data)
        last_line = int(lines.numbers[-1])
        if first_line == 1 and declared_rows is not None:
            lines = lines.without_first()
        text = lines.text.rstrip(b"\n")
        n_rows = text.count(b"\n") + 1 if text else 0
        if n_rows:
            lines_of_rows = empty or Lines(text, lines.numbers[:n_rows])  # the empty one is refused
            for piece in parse_lines(lines_of_rows, DIALECT, bounds, source.path):
                rows += piece.n_rows
                yield piece
        if empty is None and n_rows < len(lines.numbers):
            empty = Lines(b"", lines.numbers[n_rows : n_rows + 1])
    if declared_rows is not None and rows != declared_rows:
        raise FileFormatError(
            source.path,
            last_line,
            f"the file ends after {rows} examples; expected the {declared_rows} that its header "
            "declares",
        )
