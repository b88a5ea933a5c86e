"""A changed header is refused by name, or harmless."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import labelgrove
from engine.changed import KINDS, Arrays, Header, data, exercise, model
from fuzz.extremes import examples
from labelgrove import ModelFileError
from labelgrove.persistence import read_model, write_model

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


@pytest.mark.fuzz
@settings(max_examples=examples(50), deadline=None)
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
    exercise(clf, data(2)[0])
    clf.save(path)
    exercise(labelgrove.load(path), data(2)[0])


def named_model(folder: Path) -> tuple[Header, Arrays]:
    rows = [{"x": 1.0}, {"y": 1.0}, {"z": 1.0}] * 3
    path = folder / "named.lg"
    labelgrove.OnlinePLTClassifier().fit(rows, [["a"], ["b"], ["c"]] * 3).save(path)
    stored = read_model(path)
    return dict(stored.header), {name: np.array(array) for name, array in stored.arrays.items()}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text": b"xyx", "retired": [0, 0, 1]}, "all must be in use"),
        ({"retired": [1, 1, 1]}, "all must be in use"),
        ({"text": b"xxz"}, "two labels in use are named 'x'"),
        ({"text": b"x", "offsets": [0, 1], "retired": [0]}, "1 names for 3 features"),
        ({"text": None, "offsets": None, "ints": [0, 1, 2]}, "must be text"),
        ({"text": None, "offsets": None, "retired": []}, "0 names for 3 features"),
    ],
)
def test_names_of_features_are_all_there(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    header, arrays = named_model(tmp_path)
    dtypes = {"text": np.uint8, "offsets": np.uint64, "retired": np.uint8, "ints": np.int64}
    for part, value in changes.items():
        plain = list(value) if isinstance(value, bytes) else value
        arrays.pop(f"feature.labels.{part}", None)
        if plain is not None:
            arrays[f"feature.labels.{part}"] = np.array(plain, dtypes[part])
    path = tmp_path / "changed.lg"
    write_model(path, header, arrays)
    with pytest.raises(ModelFileError, match=message):
        labelgrove.load(path)


@pytest.mark.parametrize(
    ("place", "name", "value"),
    [
        ("parameters", "ofo_b", 0),
        ("parameters", "epochs", 0),
        ("parameters", "threshold", "high"),
        ("parameters", "arity", -1),
        ("parameters", "warm_start_size", 0),
        ("parameters", "learner", "best"),
        ("compact", "bytes_after", 0),
        ("compact", "threshold", -1),
        ("compact", "precision_before", [0.5]),
        ("compact", "precision_after", [0.1, 0.2, 7]),
        (None, "columns", 2**31 - 1),
        (None, "named_features", 0),
    ],
)
def test_what_is_out_of_its_range_is_refused(
    place: str | None, name: str, value: Any, tmp_path: Path
) -> None:
    header, arrays = model("compact int8" if place == "compact" else "all", tmp_path)
    header = copy.deepcopy(header)
    (header if place is None else header[place])[name] = value
    write_model(tmp_path / "changed.lg", header, arrays)
    with pytest.raises(ModelFileError):
        labelgrove.load(tmp_path / "changed.lg")


@pytest.mark.parametrize(
    ("place", "name", "value", "message"),
    [
        (None, "targets", None, "lacks 'targets'"),
        (None, "engine", 7, "a value or size is wrong"),
        ("engine", "sums_bytes", "all", "a value or size is wrong"),
        ("parameters", "arity", "a" * 10_000, "arity='aaa"),
        ("parameters", "colour", 1, "parameters that the estimator does not have"),
        (None, "targets", "ranking", "unknown kind of targets 'ranking'"),
        (None, "columns", 1, "'columns' exceed the number of labels"),
        (None, "features", True, "'features' must be a count of at most 2147483647"),
        (None, "features", 2**31, "'features' must be a count"),
        (None, "repeated", 10**9, "'repeated' must be a count"),
        (None, "compact", {}, "a compact model that cannot exist for this algorithm, or that"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(
    place: str | None, name: str, value: Any, message: str, tmp_path: Path
) -> None:
    header, arrays = model("all", tmp_path)
    header = copy.deepcopy(header)
    part = header if place is None else header[place]
    if value is None:
        del part[name]
    else:
        part[name] = value
    path = tmp_path / "changed.lg"
    write_model(path, header, arrays)
    with pytest.raises(ModelFileError, match=message) as caught:
        labelgrove.load(path)
    assert len(str(caught.value)) < 600 + len(str(path))
