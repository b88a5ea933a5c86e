"""Written models are read back, and the safetensors package can read the file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors import safe_open

from labelgrove import ModelFileError, __version__
from labelgrove.persistence import FORMAT_VERSION, read_model, write_model
from persistence.conftest import HEADER, small_arrays

FILES = Path(__file__).parent / "files"
DTYPES = [np.uint8, np.uint16, np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64]
ARRAYS = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter("__metadata__".__ne__),
    st.sampled_from(DTYPES).flatmap(
        lambda dtype: hnp.arrays(dtype, hnp.array_shapes(max_dims=2, min_side=0, max_side=9))
    ),
    max_size=6,
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3)
    ),
    max_leaves=8,
)


def assert_same(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    assert found.tobytes() == np.ascontiguousarray(expected).tobytes()  # NaN, -0.0 and all


@pytest.mark.parametrize("mapped", [True, False])
@pytest.mark.parametrize("verify", [True, False])
def test_everything_comes_back(model: Path, mapped: bool, verify: bool) -> None:
    stored = read_model(model, mapped=mapped, verify=verify)
    assert stored.header == {"format": FORMAT_VERSION, **HEADER}
    assert stored.path == str(model)
    assert set(stored.arrays) == set(small_arrays())
    assert len(stored.arrays) == len(small_arrays())
    for name, expected in small_arrays().items():
        assert_same(stored.arrays[name], expected)


@given(arrays=ARRAYS, extra=st.dictionaries(st.just("parameters"), JSON))
def test_any_model_comes_back(
    arrays: dict[str, np.ndarray], extra: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.lg"
    write_model(path, {"algorithm": "any", **extra}, arrays)
    stored = read_model(path)
    expected = {"format": FORMAT_VERSION, "library": __version__, "algorithm": "any", **extra}
    assert stored.header == expected
    assert set(stored.arrays) == set(arrays)
    for name, array in arrays.items():
        assert_same(stored.arrays[name], array)
    with safe_open(path, "numpy") as file:
        assert set(file.keys()) == set(arrays)
        for name, array in arrays.items():
            assert_same(file.get_tensor(name), array)


def test_the_safetensors_package_reads_our_metadata(model: Path) -> None:
    with safe_open(model, "numpy") as file:
        assert set(file.metadata()) == {"labelgrove", "labelgrove.crc32"}
        assert '"algorithm":"démo"' in file.metadata()["labelgrove"]


def test_equal_input_gives_equal_bytes(model: Path, tmp_path: Path) -> None:
    twin = tmp_path / "twin.lg"
    header = dict(reversed(HEADER.items()))
    write_model(twin, header, dict(reversed(small_arrays().items())))
    assert twin.read_bytes() == model.read_bytes()


def test_arrays_are_aligned_and_read_only(model: Path) -> None:
    content = model.read_bytes()
    assert (8 + int.from_bytes(content[:8], "little")) % 64 == 0
    for mapped in (True, False):
        for array in read_model(model, mapped=mapped).arrays.values():
            assert array.flags.aligned
            assert array.flags.c_contiguous
            assert not array.flags.writeable
            with pytest.raises(ValueError, match="WRITEABLE"):
                array.flags.writeable = True


@pytest.mark.parametrize(
    "array",
    [
        np.asfortranarray(np.arange(12, dtype=np.float32).reshape(3, 4)),
        np.arange(40, dtype=np.int64)[::3],
        np.arange(40, dtype=np.int64).reshape(8, 5)[:, 1:3],
        np.arange(6, dtype=">f8").reshape(2, 3),
        np.broadcast_to(np.arange(3, dtype=np.uint32), (5, 3)),
    ],
)
def test_arrays_of_any_layout_are_stored_in_c_order(array: np.ndarray, tmp_path: Path) -> None:
    write_model(tmp_path / "m", {"algorithm": "x"}, {"a": array})
    found = read_model(tmp_path / "m").arrays["a"]
    np.testing.assert_array_equal(found, array)
    assert found.dtype == array.dtype.newbyteorder("=")


def test_a_large_array_of_another_layout_is_stored_in_pieces(tmp_path: Path) -> None:
    array = np.arange(3_000_001, dtype=np.float64)[::2]
    write_model(tmp_path / "m", {"algorithm": "x"}, {"a": array})
    assert_same(read_model(tmp_path / "m").arrays["a"], array)


def test_arrays_outlive_the_model_and_its_file(model: Path) -> None:
    array = read_model(model).take("sum", np.float64, (2, 1))
    if os.name == "posix":
        model.unlink()
    assert_same(array, small_arrays()["sum"])


def test_take_says_what_differs(model: Path) -> None:
    stored = read_model(model)
    assert_same(stored.take("child", "i4", (None, 2)), small_arrays()["child"])
    assert_same(stored.take("row", np.uint32), small_arrays()["row"])
    for arguments, message in [
        (("gone", "i4"), "holds no array 'gone'"),
        (("row", "i4"), "'row' has dtype uint32: expected int32"),
        (("row", "u4", (4,)), r"'row' has shape \(3,\): expected 1-D, 4"),
        (("row", "u4", (None, 1)), r"'row' has shape \(3,\): expected 2-D, any x 1"),
        (("child", "i4"), r"'child' has shape \(3, 2\): expected 1-D, any"),
    ]:
        with pytest.raises(ModelFileError, match=message) as caught:
            stored.take(*arguments)
        assert str(caught.value).startswith(f"{model}: ")


@pytest.mark.parametrize("error", [ValueError, IndexError, KeyError, TypeError, OverflowError])
def test_checking_turns_complaints_into_model_file_errors(
    model: Path, error: type[Exception]
) -> None:
    stored = read_model(model)
    with pytest.raises(ModelFileError, match=f"^{model}: .*what is wrong"), stored.checking():
        raise error("what is wrong")
    with pytest.raises(ModelFileError, match="no array 'gone'") as caught, stored.checking():
        stored.take("gone", "i4")
    assert str(caught.value).count(str(model)) == 1


@pytest.mark.parametrize("version", range(1, FORMAT_VERSION + 1))
def test_a_file_of_every_format_reads_the_same_for_ever(version: int) -> None:
    stored = read_model(FILES / f"format-{version}.lg")
    assert stored.header == {"format": version, **HEADER}
    expected = small_arrays()
    if version == 1:  # had no numbers of 16 bits
        del expected["half"]
    assert stored.arrays.keys() == expected.keys()
    for name, array in expected.items():
        assert_same(stored.arrays[name], array)


def test_equal_models_give_equal_bytes_for_ever(tmp_path: Path) -> None:
    write_model(tmp_path / "new.lg", HEADER, small_arrays())
    kept = FILES / f"format-{FORMAT_VERSION}.lg"
    assert (tmp_path / "new.lg").read_bytes() == kept.read_bytes()


@pytest.mark.parametrize(
    ("header", "arrays", "message"),
    [
        ({}, {}, "algorithm"),
        ({"algorithm": ""}, {}, "algorithm"),
        ({"algorithm": "x", "format": 3}, {}, "format version 3"),
        ({"algorithm": "x", "rate": float("nan")}, {}, "JSON"),
        ({"algorithm": "x", "rate": float("inf")}, {}, "JSON"),
        ({"algorithm": "x", "rate": np.float32(1)}, {}, "JSON"),
        ({"algorithm": "x", "name": "\udc80"}, {}, "JSON"),
        ({"algorithm": "x", "much": "a" * 2**22}, {}, "the header would take"),
        ({"algorithm": "x"}, {"": np.zeros(1)}, "under the name ''"),
        ({"algorithm": "x"}, {"__metadata__": np.zeros(1)}, "under the name '__metadata__'"),
        ({"algorithm": "x"}, {1: np.zeros(1)}, "under the name 1"),
        ({"algorithm": "x"}, {"\udc80": np.zeros(1)}, "under the name"),
        ({"algorithm": "x"}, {"a": [1, 2]}, "array 'a' is list"),
        ({"algorithm": "x"}, {"a": np.float64(1)}, "array 'a' is float64"),
        ({"algorithm": "x"}, {"a": np.array(1.0)}, "array 'a' is 0-D"),
        ({"algorithm": "x"}, {"a": np.zeros((1, 1, 1))}, "array 'a' is 3-D"),
        ({"algorithm": "x"}, {"a": np.zeros(1, bool)}, "array 'a' has dtype bool"),
        ({"algorithm": "x"}, {"a": np.zeros(1, np.int16)}, "array 'a' has dtype int16"),
        ({"algorithm": "x"}, {"a": np.zeros(1, object)}, "array 'a' has dtype object"),
        ({"algorithm": "x"}, {"a": np.zeros(1, "M8[s]")}, "array 'a' has dtype datetime64"),
    ],
)
def test_what_cannot_be_stored_is_refused_and_the_old_file_stands(
    model: Path, header: Any, arrays: Any, message: str
) -> None:
    before = model.read_bytes()
    with pytest.raises(ModelFileError, match=message) as caught:
        write_model(model, header, arrays)
    assert str(caught.value).startswith(f"{model}: ")
    assert model.read_bytes() == before
    assert list(model.parent.iterdir()) == [model]


class Pieces:
    """An array that is generated while iterating, and counts its iterations."""

    def __init__(self, whole: np.ndarray[Any, Any]) -> None:
        self.whole, self.made = whole, 0
        self.dtype, self.ndim, self.shape = whole.dtype, whole.ndim, whole.shape
        self.nbytes = whole.nbytes

    def __iter__(self) -> Iterator[np.ndarray[Any, Any]]:
        self.made += 1
        yield from np.array_split(self.whole, 3)


def test_a_streamed_array_is_made_once_and_written_as_a_whole_one(tmp_path: Path) -> None:
    whole = np.arange(1000, dtype=np.uint32)
    streamed = Pieces(whole)
    for name, array in (("whole.lg", whole), ("streamed.lg", streamed)):
        write_model(tmp_path / name, {"algorithm": "demo"}, {"numbers": array})
    assert streamed.made == 1
    assert (tmp_path / "streamed.lg").read_bytes() == (tmp_path / "whole.lg").read_bytes()
