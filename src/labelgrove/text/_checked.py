"""Validation of texts, common to all front ends."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from labelgrove._errors import DataError


def checked_texts(texts: Any) -> list[str]:
    """Return the texts as a list.

    Raises DataError if `texts` is a single string, a table or a dict, or an item is not a string;
    the message names the row.
    """
    found = list(_items(texts))
    # Much faster than one by one: a million texts have few types.
    if all(issubclass(kind, str) for kind in set(map(type, found))):
        return found
    return list(_strings(found))


def each_checked_text(texts: Any) -> Iterator[str]:
    """Yield the texts one by one; as `checked_texts`, without holding them all in memory."""
    return _strings(_items(texts))


def _items(texts: Any) -> Iterable[Any]:
    one = isinstance(texts, str | bytes | Mapping) or not isinstance(texts, Iterable)
    dimensions = len(getattr(texts, "shape", (1,)))
    if one or dimensions != 1:
        hint = "" if one else f" of {dimensions} dimensions"
        column = ", such as one of its columns" if hasattr(texts, "columns") else ""
        raise DataError(
            f"texts is a {type(texts).__name__}{hint}: expected a list of strings, one per "
            f"row{column}"
        )
    items: Iterable[Any] = texts.to_pylist() if hasattr(texts, "to_pylist") else texts  # Arrow's
    return items


def _strings(texts: Iterable[Any]) -> Iterator[str]:
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(
                f"texts, row {row}: {reprlib.repr(text)} found where a string was "
                "expected ('' for a missing text)"
            )
        yield text
