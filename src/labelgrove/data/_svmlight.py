"""The multi-label svmlight (libsvm) format.

    3,17 1:0.5 21:1.25          labels, then features id:value
    4:1 9:2                     no labels (as written by some programs)
     4:1 9:2                    no labels (as written by others, including this one)
    # comment                   skipped from # to the end of the line, like empty lines

Ids are used as they are, whether counted from 0 or from 1. A line that begins with a blank is a row
without labels, even if nothing follows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from labelgrove import _core
from labelgrove.data._chunks import Contents, Piece
from labelgrove.data._lines import LineSource
from labelgrove.data._rows import Bounds
from labelgrove.data._sparse_text import Dialect, Lines, parse_lines


def read_svmlight(source: LineSource) -> Contents:
    """Open a svmlight file."""
    return Contents(_pieces(source), is_text=False, labels_are_int=True)


def split_row(line: bytes) -> tuple[bytes, bytes]:
    """Return the label field and the feature part."""
    field, _, row = line.partition(b" ")
    return (b"", line) if b":" in field else (field, row)


DIALECT = Dialect(_core.FirstField.labels_or_feature, values_required=True, split=split_row)


def _pieces(source: LineSource) -> Iterator[Piece]:
    for first_line, data in source.blocks():
        lines = Lines.of_block(first_line, data)
        if b"#" in data or b"\n\n" in b"\n" + data + b"\n":
            lines = _without_remarks(lines)
        yield from parse_lines(lines, DIALECT, Bounds(), source.path)


def _without_remarks(lines: Lines) -> Lines:
    """Return the lines without their comments, and without those of which nothing is left."""
    rows = [_without_remark(line) for line in lines.each()]
    return Lines(b"\n".join(filter(None, rows)), lines.numbers[np.array(list(map(bool, rows)))])


def _without_remark(line: bytes) -> bytes:
    """Return the line up to ``#``; empty if there is only a comment."""
    row, mark, _ = line.partition(b"#")
    return b"" if mark and not row.strip() else row
