"""The Extreme Classification Repository's format of two files, for features and labels.

    N D                         numbers of rows and features        N L     and of labels
    0:0.5 21:1.25               features id:value                   3:1 17:1
                                an empty line: none                 4:1

``trn_X_Xf.txt`` and ``trn_X_Y.txt``: either name stands for both. Non-zero entries of Y are labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from labelgrove import _core
from labelgrove._errors import FileFormatError
from labelgrove.data._chunks import Contents, Piece, nonzero_ids
from labelgrove.data._limits import MAX_ID
from labelgrove.data._lines import LineSource
from labelgrove.data._open import open_pieces
from labelgrove.data._rows import Bounds, shown
from labelgrove.data._sparse_text import Dialect, Lines, parse_lines

_SIDE = re.compile(r"_X_(?:Xf|Y)(?=\.txt(?:\.gz|\.bz2|\.xz|\.zst)?$)")
_HEADER = re.compile(rb"(\d{1,10})[ \t]+(\d{1,10})[ \t]*")
_HEADER_BYTES = 4096
DIALECT = Dialect(_core.FirstField.feature, values_required=True, split=lambda line: (b"", line))


def is_pair(path: str) -> bool:
    """Return whether this is the name of one of the two files."""
    return _SIDE.search(Path(path).name) is not None


def sides_of(path: str) -> tuple[str, str]:
    """Return the paths of features and labels for the name of either file."""
    features, labels = (
        str(Path(path).with_name(_SIDE.sub(f"_X_{side}", Path(path).name))) for side in ("Xf", "Y")
    )
    return features, labels


def read_pair(path: str, resources: ExitStack, *, labels_required: bool = True) -> Contents:
    """Open the two files; without `labels_required`, the label file may be missing.

    The numbers of rows in the headers must agree, and are checked at the ends of the files.
    """
    x_path, y_path = sides_of(path)
    rows, features, X = _open(x_path, "features", resources)
    if not labels_required and not Path(y_path).exists():
        return Contents(
            X, is_text=False, labels_are_int=True, declared_rows=rows, declared_features=features
        )
    y_rows, labels, Y = _open(y_path, "labels", resources)
    if y_rows != rows:
        raise FileFormatError(
            y_path, 1, f"the header declares {y_rows} rows; expected the {rows} of {shown(x_path)}"
        )
    return Contents(
        _joined(X, Y),
        is_text=False,
        labels_are_int=True,
        declared_rows=rows,
        declared_features=features,
        declared_labels=labels,
    )


def _open(path: str, what: str, resources: ExitStack) -> tuple[int, int, Iterator[Piece]]:
    """Return the numbers of rows and columns of one side, and its rows."""
    source = LineSource(path, open_pieces(path, resources))
    found = _HEADER.fullmatch(source.peek(_HEADER_BYTES).partition(b"\n")[0].rstrip(b"\r"))
    if found is None:
        raise FileFormatError(
            path, 1, f"expected a header, the numbers of rows and {what}, such as 1000 250"
        )
    rows, width = int(found[1]), int(found[2])
    if width > MAX_ID + 1:
        raise FileFormatError(
            path, 1, f"the header declares {width} {what}; expected at most {MAX_ID + 1}"
        )
    return rows, width, _pieces(source, rows, width)


def _pieces(source: LineSource, declared: int, width: int) -> Iterator[Piece]:
    rows = last_line = 0
    for first_line, data in source.blocks():
        lines = Lines.of_block(first_line, data)
        last_line = int(lines.numbers[-1])
        if first_line == 1:
            lines = lines.without_first()
        for piece in parse_lines(lines, DIALECT, Bounds(width), source.path):
            rows += piece.n_rows
            yield piece
    if rows != declared:
        raise FileFormatError(
            source.path,
            last_line,
            f"the file ends after {rows} rows; expected the {declared} that its header declares",
        )


def _joined(X: Iterator[Piece], Y: Iterator[Piece]) -> Iterator[Piece]:
    """Join the rows of both sides, whose headers declare equal numbers."""
    x = y = None
    while True:
        x = x if x is not None and x.n_rows else next(X, None)
        y = y if y is not None and y.n_rows else next(Y, None)
        if x is None or y is None:
            break
        rows = min(x.n_rows, y.n_rows)
        Y_rows = y.slice(0, rows).features
        assert Y_rows is not None
        labels = nonzero_ids(Y_rows.indptr, Y_rows.indices, Y_rows.values)
        yield Piece(labels, x.lines[:rows], x.slice(0, rows).features)
        x, y = x.slice(rows, x.n_rows), y.slice(rows, y.n_rows)
    for _ in (*X, *Y):  # read to the end, which raises an error if a side is longer than declared
        pass
