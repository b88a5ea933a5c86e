"""Examples get the names that their labels have by now, however many changes there were."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import count
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from labelgrove.service._events import (
    Deprecation,
    Learnt,
    Merging,
    Removal,
    Renaming,
    Row,
    aliased,
    aliases_after,
    body_of,
    encoded,
    named_now,
)

NAMES = st.sampled_from(["a", "b", "c", "d", "e", " "])
SOME = st.lists(NAMES, min_size=1, max_size=3)
EVENTS = st.one_of(
    st.builds(lambda labels: ("learn", Learnt("text", labels)), SOME),
    st.builds(lambda names: ("rename", Renaming(names)), st.dictionaries(NAMES, NAMES, min_size=1)),
    st.builds(lambda labels, into: ("merge", Merging(labels, into)), SOME, NAMES),
    st.builds(lambda labels: ("remove", Removal(labels)), SOME),
    st.builds(lambda labels: ("deprecate", Deprecation(labels)), SOME),
)


def rows_of(events: Sequence[tuple[str, Any]]) -> list[Row]:
    return [Row(i, kind, None, encoded(body), 0) for i, (kind, body) in enumerate(events, 1)]


def changes_among(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.kind not in {"learn", "deprecate"}]


def one_change_after_another(rows: Sequence[Row], changes: Sequence[Row]) -> list[tuple[Any, ...]]:
    """Apply every later change to every example, one after another."""
    found = []
    for row in rows:
        if row.kind != "learn":
            continue
        aliases: dict[str, str] = {}
        for earlier in changes:
            if earlier.sequence < row.sequence:
                aliases = aliases_after(aliases, body_of(earlier))
        labels = aliased(body_of(row).labels, aliases)
        for later in changes:
            if later.sequence > row.sequence:
                labels = changed(labels, body_of(later))
        if labels:
            found.append((row.sequence, "text", labels))
    return found


def changed(labels: list[str], change: Any) -> list[str]:
    if isinstance(change, Renaming):
        return aliased(labels, change.names)
    if isinstance(change, Merging):
        return aliased(labels, dict.fromkeys(change.labels, change.into))
    return [label for label in labels if label not in change.labels]


@given(st.lists(EVENTS, max_size=12))
def test_names_are_as_after_one_change_after_another(events: list[tuple[str, Any]]) -> None:
    rows = rows_of(events)
    changes = changes_among(rows)
    expected = one_change_after_another(rows, changes)
    assert list(named_now(rows, changes)) == expected


def test_the_work_for_an_example_does_not_grow_with_all_changes() -> None:
    events: list[tuple[str, Any]] = []
    for i in range(300):
        events.append(("learn", Learnt("text", [f"label {i}"])))
        events.append(("rename", Renaming({f"label {i}": f"name {i}"})))
    rows, calls = rows_of(events), count()

    def note(frame: object, event: str, argument: object) -> None:
        next(calls)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        found = list(named_now(rows, changes_among(rows)))
    finally:
        sys.setprofile(before)
    assert [one.labels for one in found] == [[f"name {i}"] for i in range(300)]
    assert next(calls) < 100 * len(events)
