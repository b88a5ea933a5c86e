"""A header that somebody has changed: refused by name, or harmless."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import labelgrove
from engine.changed import KINDS, data, exercise, model
from labelgrove import ModelFileError
from labelgrove.persistence import write_model

junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["tree", "tree__a", "seed", "alpha"]) | st.text(), inner)
    ),
    max_leaves=6,
).filter(lambda value: not _has_infinity(value))


def _has_infinity(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_infinity, value.values()))
    if isinstance(value, list):
        return any(map(_has_infinity, value))
    return isinstance(value, float) and abs(value) == float("inf")


@settings(max_examples=300, deadline=None)
@given(
    kind=st.sampled_from(sorted(KINDS)),
    which=st.integers(0, 99),
    inner=st.integers(0, 99),
    value=junk,
    drop=st.booleans(),
)
def test_changed_header(
    kind: str,
    which: int,
    inner: int,
    value: Any,
    drop: bool,
    folder: Path,
) -> None:
    header, arrays = model(kind, folder)
    header = copy.deepcopy(header)
    own = sorted(header.keys() - {"format", "library", "algorithm"})
    name = own[which % len(own)]
    if isinstance(header[name], dict) and inner % 3:
        part = header[name]
        key = sorted(part)[inner % len(part)]
        part[key] = value
        if drop:
            del part[key]
    else:
        header[name] = value
        if drop:
            del header[name]
    path = folder / "changed.lg"
    write_model(path, header, arrays)
    try:
        clf = labelgrove.load(path)
    except ModelFileError:
        return
    try:
        exercise(clf, data(2)[0])
    except labelgrove.LabelGroveError:
        assert name == "parameters"  # such as n_jobs: checked when it is used
