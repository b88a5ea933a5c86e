"""The words of a text: their positions, and the columns that come from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from labelgrove import _core
from labelgrove.text._checked import checked_texts

T = TypeVar("T")


class Span(NamedTuple):
    """A word of a text, or a run of several: characters from ``begin`` to ``end``.

    In a script without spaces, every two neighbouring letters are a word, and all letters between
    two separators are a run. ``name`` is the one that `sources` uses.
    """

    begin: int
    end: int
    name: str
    is_run: bool


def words_and_runs(text: str, longest: int, symbols: bool) -> list[Span]:
    """Return the words of a text, then its runs: of up to `longest` words, and without spaces.

    With `symbols`, these are words, too.
    """
    [checked] = checked_texts([text])
    raw = checked.encode("utf-8", "replace")
    ends = _core.words_of(checked, symbols).reshape(-1, 2)
    # Every character has exactly one byte in UTF-8 that is not a continuation byte.
    before = np.cumsum(np.frombuffer(raw, np.uint8) & 0xC0 != 0x80)
    places = [(int(before[a]) - 1, int(before[b - 1])) for a, b in ends.tolist()]
    # Without lone surrogates, since an explanation that holds any could not be printed.
    whole = raw.decode()
    spans = [Span(a, b, whole[a:b], is_run=False) for a, b in places]
    runs = [
        (a, b)
        for length in range(2, longest + 1)
        for (a, _), (_, b) in zip(places, places[length - 1 :], strict=False)
    ]
    runs += _joined(places)
    spans += [Span(a, b, whole[a:b], is_run=True) for a, b in dict.fromkeys(runs)]
    return spans


def _joined(places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join words that overlap, as those of a script without spaces do, and omit all others."""
    found: list[tuple[int, int]] = []
    words = set(places)
    for begin, end in places:
        if found and begin < found[-1][1]:
            found[-1] = found[-1][0], end
        else:
            found.append((begin, end))
    return [place for place in found if place not in words]


def names_by_column(engine: _core.TextFeatures, spans: list[Span]) -> dict[int, list[str]]:
    """Return the words that each column comes from; runs only if none of their words does."""
    indptr, columns, _ = engine.count([span.name for span in spans], 1)
    found: dict[int, dict[str, None]] = {}  # ordered sets
    for i, span in enumerate(spans):
        for column in columns[indptr[i] : indptr[i + 1]].tolist():
            listed = found.setdefault(column, {})
            # The features of a run include those of its words, which came earlier in the list.
            if not span.is_run or not listed:
                listed[span.name] = None
    return {column: list(listed) for column, listed in found.items()}


def values_by_column(options: Mapping[str, Any], by_word: Mapping[str, T]) -> dict[int, T]:
    """Map the values of words to their columns; if words share a column, the first wins."""
    others = dict.fromkeys(("shortest_piece", "longest_piece", "short_words"), 0)
    width = options["columns"] // (2 if any(options[name] for name in others) else 1)
    single = {**options, **others, "longest_run": 1, "columns": width}
    indptr, columns, _ = _core.TextFeatures(single).count(list(by_word), 1)
    found: dict[int, T] = {}
    for value, begin, end in zip(by_word.values(), indptr, indptr[1:], strict=False):
        if end - begin == 1:
            found.setdefault(int(columns[begin]), value)
    return found
