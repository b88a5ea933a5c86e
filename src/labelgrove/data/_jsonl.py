"""JSON lines: ``{"text": "...", "labels": ["a", "b"]}``, one object a line.

``title`` may stand beside ``text`` or in its place, and ``content`` in place of ``text``; where
there are two the text is the title, a line break, and the text. Labels are strings or integers and
become strings; one of them in place of the array is the one label of its line. Other keys are
ignored, or others chosen by `labelgrove.data.Columns`. Empty lines are skipped.

These are the raw files of the Extreme Classification Repository too, whose ``target_ind`` counts
the lines of lbl.json from 0, and Annif's, whose ``subjects`` are objects with a ``uri``.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from labelgrove.data._chunks import Contents
from labelgrove.data._columns import Columns, kind_of
from labelgrove.data._lines import LineSource
from labelgrove.data._rows import RowError, shown
from labelgrove.data._text_rows import text_pieces

_read = msgspec.json.Decoder().decode


def read_jsonl(
    source: LineSource, columns: Columns | None = None, *, labels_required: bool = True
) -> Contents:
    """Open a file of JSON lines; without `labels_required`, labels may be absent.

    Raises
    ------
    FileFormatError
        While reading, at a line that is no JSON object, lacks a key or has a value of the wrong
        type.
    """
    chosen = Columns() if columns is None else columns

    def parse(line: bytes) -> tuple[tuple[str, ...], str]:
        return parse_line(line, chosen, labels_required)

    return Contents(text_pieces(source, parse), is_text=True, labels_are_int=False)


def parse_line(
    line: bytes, columns: Columns, labels_required: bool = True
) -> tuple[tuple[str, ...], str]:
    """Labels and text of a line; raises RowError, or UnicodeDecodeError where it is no UTF-8."""
    try:
        row = _read(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _parse_oddity(line.decode("utf-8"), columns, labels_required)
    if not isinstance(row, dict):
        return _parse_oddity(line.decode("utf-8"), columns, labels_required)
    return columns.read(row, labels_required)


def _parse_oddity(
    line: str, columns: Columns, labels_required: bool
) -> tuple[tuple[str, ...], str]:
    """As `parse_line`, for what is no object or hardly JSON: NaN in a column that nobody reads."""
    labels, text = columns.read(json_object(line), labels_required)
    _refuse_half_characters(text, labels)
    return labels, text


def json_object(line: str) -> dict[str, Any]:
    """Read the object of a line; raises RowError if it is none."""
    if line.lstrip().startswith("["):
        raise RowError("found an array; expected an object a line, as jq -c '.[]' writes them")
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise RowError(
            f"not JSON ({error.msg}, column {error.colno}); expected an object such as "
            '{"text": "...", "labels": ["..."]}'
        ) from None
    except (RecursionError, ValueError) as error:  # nested too deeply; an integer too long
        raise RowError(f"JSON that cannot be read ({error}); expected a plain object") from None
    if not isinstance(row, dict):
        raise RowError(f"found {kind_of(row)}; expected a JSON object")
    return row


def _refuse_half_characters(text: str, labels: tuple[str, ...]) -> None:
    """Refuse half of a surrogate pair, written as an escape: it could never be stored."""
    for part in (text, *labels):
        try:
            part.encode("utf-8")
        except UnicodeEncodeError as error:
            half = shown(part[error.start])
            raise RowError(f"{half} is half of a surrogate pair; expected characters") from None
