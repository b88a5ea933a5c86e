"""The fastText format: ``__label__a __label__b text``.

Every word that begins with ``__label__`` is a label, even after the text; blanks around the text
are dropped. Empty lines are skipped. A row without labels consists of its text, and a line of one
blank is a row without either.
"""

from __future__ import annotations

import re

from labelgrove.data._chunks import Contents
from labelgrove.data._lines import LineSource
from labelgrove.data._rows import RowError, shown
from labelgrove.data._text_rows import decoded, text_pieces

PREFIX = "__label__"

#: The characters that separate words in fastText itself; other Unicode blanks do not.
BLANKS = " \t\v\f\r\0"
_WORD = re.compile(f"[^{BLANKS}]+")
_LEADING = re.compile(f"[{BLANKS}]*{PREFIX}([^{BLANKS}]*)")


def read_fasttext(source: LineSource) -> Contents:
    """Open a fastText file."""
    return Contents(text_pieces(source, decoded(parse_line)), is_text=True, labels_are_int=False)


def parse_line(line: str) -> tuple[tuple[str, ...], str]:
    """Return the labels and the text of a line; raises RowError at a malformed label."""
    labels: list[str] = []
    end = 0
    while found := _LEADING.match(line, end):
        labels.append(found[1])
        end = found.end()
    text = line[end:]
    if PREFIX in text:
        words = _WORD.findall(text)
        behind = [word for word in words if word.startswith(PREFIX)]
        if behind:
            labels += [word.removeprefix(PREFIX) for word in behind]
            text = " ".join(word for word in words if not word.startswith(PREFIX))
    if "" in labels:
        raise RowError(f"'{PREFIX}' has no name after it; expected {PREFIX}name")
    for name in labels:
        if PREFIX in name:
            raise RowError(f"{shown(PREFIX + name)} is not one label; expected blanks between two")
    return tuple(dict.fromkeys(labels)), text.strip(BLANKS)
