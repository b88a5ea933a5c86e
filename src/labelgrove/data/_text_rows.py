"""What the formats of one labelled text a line have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from labelgrove._errors import FileFormatError
from labelgrove.data._chunks import Piece
from labelgrove.data._lines import Block, LineSource
from labelgrove.data._rows import RowError

#: Labels and text of one line; raises RowError.
ParseLine = Callable[[str], tuple[tuple[str, ...], str]]


def text_pieces(source: LineSource, parse: ParseLine) -> Iterator[Piece]:
    """Rows of all lines that are not empty, a piece for every block.

    Raises
    ------
    FileFormatError
        At the first malformed line, after a piece of all rows before it.
    """
    for block in source.blocks():
        piece, problem = _parse_block(block, parse)
        yield piece
        if problem is not None:
            line, reason = problem
            raise FileFormatError(source.path, line, reason)


def _parse_block(block: Block, parse: ParseLine) -> tuple[Piece, tuple[int, str] | None]:
    labels: list[tuple[str, ...]] = []
    texts: list[str] = []
    numbers: list[int] = []
    problem = None
    for number, line in enumerate(block.data.split(b"\n"), block.first_line):
        if not line:
            continue
        try:
            found, text = parse(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            problem = (
                number,
                f"byte {error.start + 1} of the line is not UTF-8; expected UTF-8 text",
            )
            break
        except RowError as error:
            problem = number, str(error)
            break
        labels.append(found)
        texts.append(text)
        numbers.append(number)
    return Piece(labels, np.array(numbers, np.int64), text=texts), problem
