"""Changed arrays are refused by name, or harmless.

The changed files have valid checksums. (tests/persistence covers accidental damage and the
container.)
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import labelgrove
from engine.changed import KINDS, Arrays, check, data, model
from engine.driver import halves
from fuzz.extremes import examples
from labelgrove import ModelFileError
from labelgrove.persistence import write_model

SPECIAL = [0, 1, 2, 3, 0xFFFFFFFF, 0xFFFFFFFE, 0x7FFFFFFF, 2**63, 2**64 - 1]
SPECIAL_FLOATS = [np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-45, 0.0, -1.0]


@st.composite
def damages(draw: st.DrawFn) -> tuple[str, Callable[[Arrays], None]]:
    """One change to one array, and its description."""
    which = draw(st.integers(0, 99))
    at = draw(st.floats(0, 1, exclude_max=True))
    kind = draw(
        st.sampled_from(
            ["bit", "bit", "special", "special", "copy", "cut", "grow", "drop", "roll", "cast"]
        )
    )
    number = draw(st.integers(0, 2**16))

    def change(arrays: Arrays) -> None:
        name = sorted(arrays)[which % len(arrays)]
        array = arrays[name].copy()
        place, other = int(at * len(array)), number % max(len(array), 1)
        if kind == "bit" and array.nbytes:
            array.view(np.uint8)[int(at * array.nbytes)] ^= 1 << (number % 8)
        elif kind == "special" and len(array):
            special = SPECIAL_FLOATS if array.dtype.kind == "f" else SPECIAL
            value = special[number % len(special)]
            array[place] = value if array.dtype.kind == "f" else value & np.iinfo(array.dtype).max
        elif kind == "copy" and len(array):
            array[place] = array[other]
        elif kind == "roll":
            array = np.roll(array, 1 + other)
        elif kind == "cut":
            array = array[:place]
        elif kind == "grow":
            array = np.concatenate([array, array[: 1 + other], array[:0]])
        elif kind == "cast":
            array = array.astype(np.uint32 if array.dtype != np.uint32 else np.uint64)
        arrays[name] = array
        if kind == "drop":
            del arrays[name]

    return f"{kind} {which} {at} {number}", change


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.fuzz
@settings(max_examples=examples(30), deadline=None)
@given(changes=st.lists(damages(), min_size=1, max_size=3))
def test_changed_arrays(
    kind: str,
    changes: list[tuple[str, Callable[[Arrays], None]]],
    folder: Path,
) -> None:
    header, arrays = model(kind, folder)
    arrays = dict(arrays)
    with np.errstate(all="ignore"):
        for _, change in changes:
            change(arrays)
    check(header, arrays, folder)


def test_an_unchanged_model_passes(tmp_path: Path) -> None:
    for kind in KINDS:
        assert check(*model(kind, tmp_path), tmp_path)


@pytest.mark.parametrize(
    ("name", "at", "value", "message"),
    [
        ("tree.parent", 3, 10**6, "parent that does not exist"),
        ("tree.parent", 1, 2, "root"),
        ("tree.parent", 2, 2, "cycle"),
        ("tree.label", -1, 10**6, "label that does not exist"),
        ("block.node", 1, 10**6, "nodes must exist and increase"),
        ("block.features", 0, 10**6, "too short"),
        ("weights.feature", 1, 0xFFFFFFF0, "out of range"),
        ("weights.value16", 5, 0x7FC0, "finite"),  # NaN
        ("memory.example", 0, 10**6, "does not exist"),
        ("memory.child", 0, 10**6, "does not exist"),
        ("memory.reached", 0, 1, "remembered examples is wrong"),
        ("memory.reached", 0, 2**64 - 1, "remembered examples is wrong"),
        ("example.value", 0, np.nan, "finite"),
        ("example.features", 0, 10**6, "too short"),
        ("counters", 0, 2**31, "more labels than names"),
        ("counters", 1, 2**64 - 1, "counter"),
        ("block.updates", 0, 2**64 - 1, "updates"),
        ("label.count", 0, -1, "one count for every label"),
        ("label.count", 0, 10**6, "more examples than the model has seen"),
        ("labels.retired", 0, 2, "retired"),
    ],
)
def test_what_is_wrong_is_named(
    name: str, at: int, value: float, message: str, tmp_path: Path
) -> None:
    header, arrays = model("all", tmp_path)
    changed = arrays[name].copy()
    changed[at] = value
    path = tmp_path / "changed.lg"
    write_model(path, header, {**arrays, name: changed})
    with pytest.raises(ModelFileError, match=message) as caught:
        labelgrove.load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("label.count", lambda array: array.astype(np.uint64), "one count for every label"),
        ("label.count", lambda array: array[:-1], "one count for every label"),
        ("counters", lambda array: array.astype(np.int64), "must begin with the counts"),
        ("counters", lambda array: np.stack([array, array]), "must begin with the counts"),
        ("counters", lambda array: array[:1], "must begin with the counts"),
    ],
)
def test_counts_of_another_type_or_shape_are_named(
    name: str, change: Callable[[np.ndarray], np.ndarray], message: str, tmp_path: Path
) -> None:
    header, arrays = model("all", tmp_path)
    write_model(tmp_path / "changed.lg", header, {**arrays, name: change(arrays[name])})
    with pytest.raises(ModelFileError, match=message):
        labelgrove.load(tmp_path / "changed.lg")


def test_a_feature_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    header, arrays = model("all", tmp_path)
    features = arrays["weights.feature"].copy()
    features[1] = features[0]
    write_model(tmp_path / "changed.lg", header, {**arrays, "weights.feature": features})
    with pytest.raises(ModelFileError, match="twice"):
        labelgrove.load(tmp_path / "changed.lg")


def test_features_share_rows_with_arow_only(tmp_path: Path) -> None:
    """The rows of other learners have no room for what taking a feature out reads."""
    header, arrays = model("sgd", tmp_path)
    sizes = arrays["block.features"]
    places = np.concatenate([np.arange(1, size + 1, dtype=np.uint32) for size in sizes])
    arrays |= {
        "block.rows": sizes + np.uint32(1),
        "weights.place": places,
        "weights.share": np.ones(len(places), np.float32),
    }
    assert check(header, arrays, tmp_path)
    places[0] |= 1 << 31
    write_model(tmp_path / "changed.lg", header, arrays)
    with pytest.raises(ModelFileError, match="which only AROW lets them do"):
        labelgrove.load(tmp_path / "changed.lg")


def test_counters_at_their_end_do_not_overflow(tmp_path: Path) -> None:
    """The number of examples that have reached a node is a divisor."""
    header, arrays = model("bounded", tmp_path)
    for reached in (2**64 - 1, 2**64 - 2, 2**63):
        changed = np.where(arrays["memory.reached"] >= 3, np.uint64(reached), 0).astype(np.uint64)
        check(header, {**arrays, "memory.reached": changed}, tmp_path)


@pytest.mark.parametrize("kind", ["lean", "lean sgd"])
@pytest.mark.parametrize(("value", "loads"), [(np.nan, 0), (np.inf, 0), (3e38, 0), (-1e24, 1)])
def test_weights_for_prediction_are_those_that_learning_can_reach(
    kind: str, value: float, loads: int, tmp_path: Path
) -> None:
    header, arrays = model(kind, tmp_path)
    name = "weights.value16" if kind == "lean" else "weights.value"
    weights = arrays[name].copy()
    weights[::3] = halves(np.float32(value)) if kind == "lean" else value
    assert check(header, {**arrays, name: weights}, tmp_path) == loads


def test_a_very_deep_tree_is_no_trouble(tmp_path: Path) -> None:
    """A chain of 100 000 nodes: nothing may recurse over it."""
    header = model("lean sgd", tmp_path)[0]
    n = 100_000
    none = np.uint32(0xFFFFFFFF)
    parents = np.arange(-1, n - 1).astype(np.uint32)
    labels = np.full(n, none)
    labels[-1] = 0
    names = {"labels.retired": np.zeros(1, np.uint8), "labels.ints": np.array([7])}
    chain = {
        "tree.parent": parents,
        "tree.label": labels,
        "tree.silent": np.zeros(n, np.uint8),
        "counters": np.array([1, 0, 0], np.uint64),
        "block.node": np.arange(n - 1, dtype=np.uint32),
        "block.features": np.zeros(n - 1, np.uint32),
        "block.theta": np.zeros(n - 1, np.uint8),
        "block.updates": np.zeros(n - 1, np.uint64),
        "weights.feature": np.empty(0, np.uint32),
        "weights.value": np.full(n - 1, 1000.0, np.float32),
        "label.count": np.zeros(1, np.int64),
        **names,
    }
    path = tmp_path / "deep.lg"
    write_model(path, header, chain)
    clf = labelgrove.load(path)
    assert clf.predict_topk(data(0)[0], 2)[0][0].tolist() == [7, -1]
