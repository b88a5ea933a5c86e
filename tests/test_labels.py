"""Labels by name and id, against a plain list of names."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from scipy.sparse import csr_array

from labelgrove import DataError, ModelFileError, ParameterError
from labelgrove._labels import LabelRegistry
from labelgrove._targets import parse_targets

STRINGS = st.sampled_from(["a", "b", "ab", "é", "日本", "🌳", "a\0", "\0"])
INTS = st.sampled_from([3, 4, 2, -1, 7, 2**63 - 1, -(2**63)])


def rows_of(registry: LabelRegistry, Y: Any, *, add: bool = True) -> list[list[int]]:
    indptr, ids = registry.ids_for(Y, add=add)
    assert indptr.dtype == np.int64
    assert ids.dtype == np.int32
    return [ids[a:b].tolist() for a, b in pairwise(indptr)]


def registry_of(*names: Any) -> LabelRegistry:
    registry = LabelRegistry()
    for name in names:
        registry.ids_of([name], add=True)
    return registry


def same(first: LabelRegistry, second: LabelRegistry) -> bool:
    return (
        first.names.dtype == second.names.dtype
        and first.names.tolist() == second.names.tolist()
        and first.active.tolist() == second.active.tolist()
        and first._index == second._index
    )


class Registry(RuleBasedStateMachine):
    """The registry next to a list of names and a list of flags for use."""

    @initialize(strings=st.booleans())
    def start(self, strings: bool) -> None:
        self.alphabet = STRINGS if strings else INTS
        self.registry = LabelRegistry()
        self.names: list[Any] = []
        self.in_use: list[bool] = []
        self.seen: list[tuple[np.ndarray, list[Any]]] = []

    def id_of(self, name: Any) -> int:
        ids = [i for i, other in enumerate(self.names) if other == name and self.in_use[i]]
        assert len(ids) <= 1
        return ids[0] if ids else -1

    def arrive(self, name: Any) -> int:
        if self.id_of(name) < 0:
            self.names.append(name)
            self.in_use.append(True)
        return self.id_of(name)

    @rule(data=st.data())
    def add_one(self, data: st.DataObject) -> None:
        name = data.draw(self.alphabet)
        assert self.registry.ids_of([name], add=True) == [self.arrive(name)]

    @rule(data=st.data())
    def add_rows(self, data: st.DataObject) -> None:
        rows = data.draw(st.lists(st.lists(self.alphabet, max_size=4), max_size=4))
        expected = [sorted({self.arrive(name) for name in row}) for row in rows]
        assert rows_of(self.registry, [tuple(row) for row in rows]) == expected

    @rule(data=st.data())
    def look_up(self, data: st.DataObject) -> None:
        row = data.draw(st.lists(self.alphabet, max_size=4, unique=True))
        expected = [self.id_of(name) for name in row]
        assert self.registry.ids_of(row).tolist() == expected
        assert rows_of(self.registry, [row], add=False) == [sorted(expected)]

    @rule(data=st.data())
    def add_and_take_back(self, data: st.DataObject) -> None:
        before = len(self.registry)
        self.registry.ids_for([data.draw(st.lists(self.alphabet, max_size=4))])
        self.registry.truncate(before)

    @rule(data=st.data())
    def retire(self, data: st.DataObject) -> None:
        ids = [i for i, in_use in enumerate(self.in_use) if in_use]
        if ids:
            chosen = data.draw(st.lists(st.sampled_from(ids), max_size=2))
            self.registry.retire(chosen)
            for i in chosen:
                self.in_use[i] = False

    @rule(data=st.data())
    def rename(self, data: st.DataObject) -> None:
        old, new = data.draw(self.alphabet), data.draw(self.alphabet)
        i, holder = self.id_of(old), self.id_of(new)
        if i >= 0 and holder in {-1, i}:
            self.registry.rename({old: new})
            self.names[i] = new
        else:
            with pytest.raises(DataError, match="no label has this name|is in use"):
                self.registry.rename({old: new})

    @rule()
    def store_and_read(self) -> None:
        self.registry = LabelRegistry.from_arrays(self.registry.to_arrays())

    @rule(how=st.sampled_from([LabelRegistry.copy, copy.deepcopy, copy.copy]))
    def copy(self, how: Any) -> None:
        original, self.registry = self.registry, how(self.registry)
        original.ids_of(["new"] if original.label_type == "str" else [99], add=True)

    @invariant()
    def agrees(self) -> None:
        registry = self.registry
        assert len(registry) == len(self.names)
        assert registry.names.tolist() == self.names
        assert registry.active.tolist() == self.in_use
        assert registry.n_active == sum(self.in_use)
        in_use = sorted(name for name, used in zip(self.names, self.in_use, strict=True) if used)
        assert registry.sorted_names.tolist() == in_use
        assert registry.places.tolist() == [
            in_use.index(name) if used else -1
            for name, used in zip(self.names, self.in_use, strict=True)
        ]
        assert registry.names.dtype == (
            np.int64 if self.alphabet is INTS and self.names else object
        )
        for array, expected in self.seen:  # a returned array never changes
            assert array.tolist() == expected
            assert not array.flags.writeable
        self.seen += [(registry.names, list(self.names)), (registry.active, list(self.in_use))]


def test_labels_are_sorted_once_and_what_was_handed_out_stays() -> None:
    registry = registry_of("oak", "elm")
    names, places = registry.sorted_names, registry.places
    assert registry.sorted_names.base is names.base and registry.places.base is places.base
    registry.ids_of(["fir"], add=True)
    assert registry.sorted_names.tolist() == ["elm", "fir", "oak"]
    assert registry.places.tolist() == [2, 0, 1]
    assert names.tolist() == ["elm", "oak"] and places.tolist() == [1, 0]
    assert not names.flags.writeable and not places.flags.writeable


Registry.TestCase.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)
test_a_registry_is_a_list_of_names = Registry.TestCase


def test_a_label_that_cannot_be_saved_is_named_with_the_place_where_it_first_stands() -> None:
    half = "a\ud800"
    with pytest.raises(DataError, match=r"^Y, row 2: label 'a\\ud800' holds a lone surrogate"):
        LabelRegistry().ids_for([["a"], [], ["b", half], [half]])
    announced = np.array(["a", half], object)
    with pytest.raises(DataError, match=r"^classes: label 1 of the list: label"):
        LabelRegistry().foresee(parse_targets([["a"], ["a"]]), announced)


def test_columns_of_an_indicator_are_labels_even_when_empty() -> None:
    registry = LabelRegistry()
    Y = csr_array(np.array([[0, 0, 1, 0], [1, 0, 1, 0]]))
    assert rows_of(registry, Y) == [[2], [0, 2]]
    assert registry.names.tolist() == [0, 1, 2, 3]
    registry.retire([1, 2])
    assert rows_of(registry, Y) == [[4], [0, 4]]
    assert registry.names.tolist() == [0, 1, 2, 3, 2]  # 1 is empty and stays retired
    assert rows_of(registry, np.array([[1, 0, 0, 0, 0, 1]])) == [[0, 6]]
    assert registry.names.tolist() == [0, 1, 2, 3, 2, 4, 5]
    assert rows_of(registry, np.array([[1, 1, 1] + 7 * [1]]), add=False)[0].count(-1) == 5


def test_columns_arrive_the_same_after_saving() -> None:
    registry = registry_of()
    registry.ids_for(np.eye(4))
    registry.rename({1: 100})
    registry.retire([2])
    for twin in (registry, LabelRegistry.from_arrays(registry.to_arrays())):
        assert rows_of(twin, np.array([[1, 0, 0, 0]])) == [[0]]
        assert twin.names.tolist() == [0, 100, 2, 3, 1]


def test_labels_of_two_types_are_refused_with_their_row() -> None:
    registry = registry_of("law")
    for Y in ([[], [3]], [1, 2], [(np.int64(3),)]):
        for add in (True, False):
            with pytest.raises(DataError, match=r"Y, row [01]: label \d is an integer.*'law'"):
                registry.ids_for(Y, add=add)
    with pytest.raises(DataError, match="label 0 of the list: label 3 is an integer"):
        registry.ids_of([3], add=True)
    with pytest.raises(DataError, match="Y, an indicator: label 0 is an integer"):
        registry.ids_for(np.eye(2))
    assert same(registry, registry_of("law"))
    with pytest.raises(DataError, match="label 0 of the list: label '3' is a string"):
        registry_of(3).ids_of(["3"])


class InterruptedIndex(dict[Any, int]):
    """Ctrl-C right after the names were written and before their ids."""

    def update(self, *_: Any) -> None:
        raise KeyboardInterrupt


def test_an_interruption_adds_nothing() -> None:
    registry = registry_of("a")
    registry._index = InterruptedIndex(registry._index)
    with pytest.raises(KeyboardInterrupt):
        registry.ids_for([["b"]])
    registry._index = dict(registry._index)
    assert same(registry, registry_of("a"))
    assert registry.ids_of(["c"], add=True) == [1]


def test_truncate_to_nothing_forgets_the_type() -> None:
    registry = registry_of("a", "b")
    names = registry.names
    registry.truncate(0)
    assert registry.label_type is None
    assert registry.ids_of([7], add=True) == [0]
    assert names.tolist() == ["a", "b"]


@pytest.mark.parametrize("n", [-1, 3])
def test_truncate_beyond_the_labels_is_refused(n: int) -> None:
    with pytest.raises(ParameterError, match=f"n is {n}: expected 0 to 2"):
        registry_of("a", "b").truncate(n)


@pytest.mark.parametrize("ids", [[0, 2], [-1], [1], [2**40]])
def test_only_labels_in_use_can_be_retired(ids: list[int]) -> None:
    registry = registry_of("a", "b")
    registry.retire([1])
    before = registry.copy()
    with pytest.raises(DataError, match="is not in use"):
        registry.retire(ids)
    assert same(registry, before)


@pytest.mark.parametrize(
    ("new_names", "message"),
    [
        ({"gone": "x"}, "'gone' cannot be renamed: no label has this name"),
        ({"old": "x"}, "'old' cannot be renamed: no label has this name"),
        ({"a": "b"}, "'b' is in use"),
        ({"a": "x", "b": "x"}, "both be renamed to 'x'"),
        ({"a": "x", "b": "c"}, "'c' is in use"),
        ({"a": 3}, "label 3 is an integer"),
        ({"a": None}, "label 0 of the list: the label is missing"),
        ({"a": "\udfff"}, "lone surrogate"),
        ({1: "x"}, "label 1 is an integer"),
    ],
)
def test_a_renaming_that_cannot_be_changes_nothing(
    new_names: Mapping[Any, Any], message: str
) -> None:
    registry = registry_of("a", "b", "c", "old")
    registry.retire([3])
    before = registry.copy()
    with pytest.raises(DataError, match=message):
        registry.rename(new_names)
    assert same(registry, before)


@pytest.mark.parametrize("names", ["abc", b"abc", 5, None, {"a"}, np.array([["a"]]), object()])
def test_a_list_of_labels_is_never_something_else(names: Any) -> None:
    with pytest.raises(DataError, match="expected a list of labels"):
        registry_of("a").ids_of(names)


def test_pickles_hold_the_labels_and_no_room_to_grow() -> None:
    registry = registry_of(*map(str, range(1000)))
    registry.retire(range(500))
    twin = pickle.loads(pickle.dumps(registry))
    assert same(twin, registry)
    assert len(pickle.dumps(registry)) < 20_000


@given(
    st.lists(
        STRINGS | st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"]), min_size=1),
        unique=True,
    )
)
def test_any_names_come_back(names: list[str]) -> None:
    registry = LabelRegistry()
    registry.ids_of(names, add=True)
    registry.retire(range(len(names) // 2))
    arrays = registry.to_arrays()
    assert all(a.dtype in (np.uint8, np.uint64) and a.ndim == 1 for a in arrays.values())
    assert same(LabelRegistry.from_arrays(arrays), registry)


def damaged(registry: LabelRegistry, **changes: Any) -> dict[str, Any]:
    arrays: dict[str, Any] = dict(registry.to_arrays())
    for name, value in changes.items():
        arrays[f"labels.{name}"] = value
    return {name: value for name, value in arrays.items() if value is not None}


def u8(*values: int) -> np.ndarray:
    return np.array(values, np.uint8)


def u64(*values: int) -> np.ndarray:
    return np.array(values, np.uint64)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"retired": None}, "no array labels.retired"),
        ({"retired": u8(0, 2)}, r"labels.retired\[1\] is 2"),
        ({"retired": u8(0)}, "there are 2 labels, but labels.retired has 1"),
        ({"retired": u8(0, 0, 0)}, "there are 2 labels, but labels.retired has 3"),
        ({"retired": np.zeros(2, bool)}, "labels.retired is 1-D of bool"),
        ({"retired": np.zeros((2, 1), np.uint8)}, "labels.retired is 2-D"),
        ({"text": None}, "no array labels.text"),
        ({"text": None, "offsets": None}, "there are 0 labels, but labels.retired has 2"),
        ({"offsets": None}, "no array labels.offsets"),
        ({"ints": np.zeros(2, np.int64)}, "both labels.ints and labels.text"),
        ({"offsets": u64()}, "labels.offsets must begin with 0"),
        ({"offsets": u64(1, 1, 3)}, "labels.offsets must begin with 0"),
        ({"offsets": u64(0, 1, 2)}, "labels.offsets must begin with 0 and end with 3"),
        ({"offsets": u64(0, 2**63, 3)}, r"labels.offsets\[2\] is 3, less than the 9223"),
        ({"offsets": np.array([0, -1, 3])}, "labels.offsets is 1-D of int64"),
        ({"offsets": u64(0, 2, 3)}, "the name of label 0 is not UTF-8"),
        ({"text": u8(97, 0xC3, 0x28)}, "the name of label 1 is not UTF-8"),
        ({"text": u8(97, 97, 97), "offsets": u64(0, 1, 2, 3), "retired": u8(0, 1, 0)}, "named 'a'"),
        ({"text": None, "offsets": None, "ints": np.array([7, 7])}, "in use are named 7"),
        ({"text": None, "offsets": None, "ints": np.array([7.0, 8.0])}, "labels.ints is 1-D of fl"),
    ],
)
def test_damaged_arrays_are_refused(changes: dict[str, Any], message: str) -> None:
    registry = registry_of("a", "é")
    assert same(LabelRegistry.from_arrays(damaged(registry)), registry)
    with pytest.raises(ModelFileError, match=message):
        LabelRegistry.from_arrays(damaged(registry, **changes))


def test_read_only_arrays_of_a_file_do_not_make_labels_read_only() -> None:
    arrays = registry_of(3, 4).to_arrays()
    for array in arrays.values():
        array.flags.writeable = False
    registry = LabelRegistry.from_arrays(arrays)
    registry.retire([0])
    assert registry.ids_of([3], add=True) == [2]
    assert registry.ids_of([5], add=True) == [3]
