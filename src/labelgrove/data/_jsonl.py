"""JSON lines: ``{"text": "...", "labels": ["a", "b"]}``, one object a line.

``title`` may stand in place of ``text``; where both are there the text is the title, a line break,
and the text. Labels are strings or integers and become strings; a string in place of the array is
the one label of its line. Other keys are ignored.
Empty lines are skipped.
"""

from __future__ import annotations

import json
from typing import Any

from labelgrove.data._chunks import Contents
from labelgrove.data._lines import LineSource
from labelgrove.data._rows import RowError, shown
from labelgrove.data._text_rows import text_pieces

_TEXT_KEYS = ("title", "text")
_NAMES = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "null",
}


def read_jsonl(source: LineSource, *, labels_required: bool = True) -> Contents:
    """Open a file of JSON lines; without `labels_required`, ``labels`` may be absent.

    Raises
    ------
    FileFormatError
        While reading, at a line that is no JSON object, lacks a key or has a value of the wrong
        type.
    """

    def parse(line: str) -> tuple[tuple[str, ...], str]:
        return parse_line(line, labels_required)

    return Contents(text_pieces(source, parse), is_text=True, labels_are_int=False)


def parse_line(line: str, labels_required: bool = True) -> tuple[tuple[str, ...], str]:
    """Labels and text of a line; raises RowError."""
    row = _object(line)
    text = _text(row)
    labels = _labels(row) if labels_required or "labels" in row else ()
    if "\\u" in line:
        _refuse_half_characters(text, labels)
    return labels, text


def _object(line: str) -> dict[str, Any]:
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
        raise RowError(f"found {_NAMES[type(row)]}; expected a JSON object")
    return row


def _text(row: dict[str, Any]) -> str:
    parts = []
    for key in _TEXT_KEYS:
        if key in row:
            if not isinstance(row[key], str):
                raise RowError(f"{key!r} is {_NAMES[type(row[key])]}; expected a string")
            parts.append(row[key])
    if not parts:
        raise RowError("there is no 'text' (and no 'title'); expected one of them")
    return "\n".join(parts)


def _labels(row: dict[str, Any]) -> tuple[str, ...]:
    if "labels" not in row:
        raise RowError("there is no 'labels'; expected an array of strings or integers")
    labels = row["labels"]
    if isinstance(labels, str):
        labels = [labels]
    if not isinstance(labels, list):
        raise RowError(
            f"'labels' is {_NAMES[type(labels)]}; expected an array of strings or integers, or one "
            "string"
        )
    found: dict[str, None] = {}
    for place, label in enumerate(labels, 1):
        if isinstance(label, bool) or not isinstance(label, str | int):
            kind = "not whole" if isinstance(label, float) else _NAMES[type(label)]
            raise RowError(f"label {place} is {kind}; expected a string or an integer")
        if label == "":
            raise RowError(f"label {place} is an empty string; expected a name")
        found[str(label)] = None
    return tuple(found)


def _refuse_half_characters(text: str, labels: tuple[str, ...]) -> None:
    """Refuse half of a surrogate pair, written as an escape: it could never be stored."""
    for part in (text, *labels):
        try:
            part.encode("utf-8")
        except UnicodeEncodeError as error:
            half = shown(part[error.start])
            raise RowError(f"{half} is half of a surrogate pair; expected characters") from None
