"""JSON lines: ``{"text": "...", "labels": ["a", "b"]}``, one object per line.

There may be a ``title`` in addition to ``text`` or instead of it, and ``content`` instead of
``text``; a title and a text are joined by a line break. Labels are strings or integers and become
strings; a single one may replace the array. `labelgrove.data.Columns` selects other keys;
unselected keys are ignored. Empty lines are skipped.

This also covers the raw files of the Extreme Classification Repository, whose ``target_ind`` counts
the lines of lbl.json from 0, and Annif's files, whose ``subjects`` are objects with a ``uri``.
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


def read_jsonl(source: LineSource, columns: Columns, *, labels_required: bool = True) -> Contents:
    """Open a file of JSON lines; without `labels_required`, labels may be missing."""

    def parse(line: bytes) -> tuple[tuple[str, ...], str]:
        try:
            row = _read(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            row = None
        if isinstance(row, dict):
            return columns.read(row, labels_required)
        # Not an object, or not strict JSON, such as an unused NaN.
        labels, text = columns.read(json_object(line.decode("utf-8")), labels_required)
        refuse_half_characters(text, *labels)
        return labels, text

    return Contents(text_pieces(source, parse), is_text=True, labels_are_int=False)


def json_object(line: str, example: str = '{"text": "...", "labels": ["..."]}') -> dict[str, Any]:
    """Parse the JSON object of a line; raises RowError, with the example, if it is not one."""
    if line.lstrip().startswith("["):
        raise RowError("found an array; expected one object per line, as written by jq -c '.[]'")
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        found, more = f"not JSON ({error.msg}, column {error.colno})", ""
        begun = line.rstrip()
        if begun and (error.pos >= len(begun) or error.msg.startswith("Unterminated string")):
            found, more = (
                "the JSON does not end in this line",
                " in every line, as jq -c . writes it",
            )
        raise RowError(f"{found}; expected an object such as {example}{more}") from None
    except RecursionError:
        raise RowError("the JSON is nested too deeply; expected a plain object") from None
    except ValueError:  # Python limits the digits that it converts
        raise RowError("the JSON has an integer of thousands of digits") from None
    if not isinstance(row, dict):
        raise RowError(f"found {kind_of(row)}; expected a JSON object")
    return row


def refuse_half_characters(*parts: str) -> None:
    """Raise RowError at a lone surrogate, written as an escape, which UTF-8 cannot encode."""
    for part in parts:
        try:
            part.encode("utf-8")
        except UnicodeEncodeError as error:
            half = shown(part[error.start])
            raise RowError(f"{half} is a lone surrogate; expected characters") from None
