"""Validation of texts, common to all front ends."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from labelgrove._errors import DataError


def checked_texts(texts: Any) -> Iterator[str]:
    """Yield the texts one by one.

    Raises
    ------
    DataError
        If `texts` is a single string, a table or a dict, or an item is not a string; the message
        names the row.
    """
    one = isinstance(texts, str | bytes | Mapping) or not isinstance(texts, Iterable)
    dimensions = len(getattr(texts, "shape", (1,)))
    if one or dimensions != 1:
        hint = "" if one else f" of {dimensions} dimensions"
        column = ", such as one of its columns" if hasattr(texts, "columns") else ""
        raise DataError(
            f"texts is a {type(texts).__name__}{hint}: expected a list of strings, one per "
            f"row{column}"
        )
    return _strings(
        texts.to_pylist() if hasattr(texts, "to_pylist") else texts
    )  # a column of Arrow


def _strings(texts: Iterable[Any]) -> Iterator[str]:
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(
                f"texts, row {row}: {reprlib.repr(text)} found where a string was expected"
            )
        yield text
