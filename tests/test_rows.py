"""Validated rows, and parts of them."""

from __future__ import annotations

import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from labelgrove import DataError, DataTypeError
from labelgrove._features import FeatureNames
from labelgrove._validation import check_rows, check_weights


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_a_part_is_what_is_checked_of_these_rows_alone(container: Any) -> None:
    X = np.array([[0, 1, 2], [3, 0, 0], [0, 0, 0], [4, 5, 0], [0, 6, 0]], np.float32)
    part, alone = check_rows(container(X)).part(1, 4), check_rows(container(X[1:4]))
    assert part[3:] == alone[3:]
    for mine, theirs in zip(part.arrays, alone.arrays, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("container", [sp.csr_array, sp.coo_array])
def test_more_columns_than_there_are_ids_are_refused(container: Any) -> None:
    assert check_rows(container((1, 2**31 - 1))).n_features == 2**31 - 1
    with pytest.raises(DataError, match="X has 2147483648 columns: expected at most 2147483647"):
        check_rows(container((1, 2**31)))


@pytest.mark.parametrize(
    "rows",
    [[sp.csr_array([[1, 0]]), sp.csr_array([[0, 1]])], [[1, [2]], [3, [4, 5]]]],
    ids=["sparse", "ragged"],
)
def test_rows_of_no_length_are_refused(rows: list[Any]) -> None:
    with pytest.raises(DataError, match=r"X: (Expected 2D array|setting an array element)"):
        check_rows(rows)


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([{1, 2}, {3}], "row 0 is a set"),
        ([frozenset({"milk"})], "row 0 is a frozenset"),
        ([["milk", "bread"], ["milk", "tea"]], "row 0 is a list of texts"),
        ([[], ("milk", "bread"), ("tea",)], "row 1 is a tuple of texts"),
    ],
)
def test_baskets_are_to_be_dicts(rows: list[Any], found: str) -> None:
    with pytest.raises(DataError, match=rf"^X: {found}: expected numbers, or a .* dict such as "):
        check_rows(rows)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_missing_value_of_a_frame_is_found_by_the_name_of_its_column(library: str) -> None:
    table = pytest.importorskip(library)
    make = table.table if library == "pyarrow" else table.DataFrame
    frame = make({"column_names": [40.0, 41.0], "weight": [80.0, float("nan")]})
    with pytest.raises(DataError, match=r"^X: row 1, column 'weight': found NaN; .* rows as dicts"):
        check_rows(frame)
    unnamed = pytest.importorskip("pandas").DataFrame([[1.0], [np.nan]], columns=[7])
    with pytest.raises(DataError, match=r"^X: row 1, column 0: found NaN"):
        check_rows(unnamed)


class Table:
    """A table like Arrow's, whose `columns` are not names."""

    column_names = ("a", "b")
    columns = ([1.0, 2.0], ["a long text " * 99, "y"])
    shape = (2, 2)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.columns, object).T.astype(dtype or object)

    def __getitem__(self, name: str) -> Any:
        return self.columns[self.column_names.index(name)]


class Unread:
    """A table like a lazy frame of polars, which warns whoever asks for its columns."""

    @property
    def columns(self) -> list[str]:
        warnings.warn("resolving the schema may be expensive", UserWarning, stacklevel=2)
        return ["a", "b"]

    def __getitem__(self, name: str) -> Any:
        raise TypeError("not subscriptable")


def test_a_column_without_numbers_is_named() -> None:
    with pytest.raises(
        DataTypeError,
        match=r"X: column 'b': could not convert .{101}…; expected numbers, or rows as dicts",
    ):
        check_rows(Table())
    with pytest.raises(DataError, match=r"^X is of type Unread: expected an array"):
        check_rows(Unread())


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_column_of_dicts_holds_rows(library: str) -> None:
    series = pytest.importorskip(library).Series([{"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 0.5}])
    rows = check_rows(series, names=FeatureNames(), grow=True)
    assert rows.indptr.tolist() == [0, 2, 4] and rows.values.tolist() == [1.0, 2.0, 3.0, 0.5]


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_dates_are_no_numbers(zone: str | None) -> None:
    pandas = pytest.importorskip("pandas")
    dates = pandas.Series(pandas.date_range("2026-01-01", periods=2, tz=zone))
    with pytest.raises(DataError, match="^sample_weight holds complex numbers, dates or times: "):
        check_weights(dates, 2)
    with pytest.raises(DataTypeError, match=r"^X: column 'b' holds dates or times: expected"):
        check_rows(pandas.DataFrame({"a": [1.0, 2.0], "b": dates}))


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int8, np.bool_, np.int64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_columns_become_rows_in_little_memory(kind: Any, index: Any) -> None:
    rng = np.random.default_rng(0)
    rows = sp.random_array((900, 300), density=0.2, rng=rng, format="csr").astype(kind)
    columns = rows.tocsc()
    columns.indices, columns.indptr = columns.indices.astype(index), columns.indptr.astype(index)
    tracemalloc.start()
    found = check_rows(columns)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    for ours, theirs in zip(found.arrays, check_rows(rows).arrays, strict=True):
        assert np.array_equal(ours, theirs)
    assert peak < 33 * columns.nnz  # the matrix itself takes 5 to 16


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int8])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_entries_in_any_order_become_rows_in_little_memory(kind: Any, index: Any) -> None:
    rng = np.random.default_rng(0)
    rows = sp.random_array((900, 300), density=0.2, rng=rng, format="csr")
    rows.data = rng.integers(1, 100, rows.nnz).astype(kind)
    entries = rows.tocoo()
    order = np.concatenate([rng.permutation(rows.nnz), [0, 0, 7]])  # some of them repeated
    parts = [part[order] for part in (entries.data, entries.row, entries.col)]
    entries = sp.coo_array((parts[0], (parts[1], parts[2])), shape=rows.shape)
    entries.coords = tuple(part.astype(index) for part in entries.coords)
    tracemalloc.start()
    found = check_rows(entries)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    rows = rows.astype(np.float32)
    rows.data[[0, 7]] *= [3, 2]
    for ours, theirs in zip(found.arrays, check_rows(rows).arrays, strict=True):
        assert np.array_equal(ours, theirs)
    assert peak < 31 * rows.nnz  # 8 of them for the rows


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_a_value_that_single_precision_cannot_hold_is_told_as_given(kind: str) -> None:
    X = sp.csr_array([[1.0, 0.0], [2.0, 1e60]]).asformat(kind)
    with pytest.raises(DataError, match=r"^X: row 1, column 1: found 1e\+60, which is infinity in"):
        check_rows(X)


def test_dicts_become_rows_in_little_memory() -> None:
    values = np.random.default_rng(0).random((300, 100))
    dicts = [{str(i): value for i, value in enumerate(row)} for row in values.tolist()]
    names = FeatureNames(map(str, range(100)))
    tracemalloc.start()
    found = check_rows(dicts, names=names)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.array_equal(found.values, values.astype(np.float32).ravel())
    assert found.ids.tolist() == list(range(100)) * 300
    assert peak < 36 * values.size  # 8 of them for the rows


@pytest.mark.parametrize(
    ("indices", "indptr", "message"),
    [
        ([0, 2], [0, 1, 2], "it stores an entry in row 2 and has 2"),
        ([0, -1], [0, 1, 2], "it stores an entry in row -1 and has 2"),
        ([0, 1], [0, 2, 1], "its indptr falls at 1"),
        ([0, 1], [0, 1, 9], "its indptr does not fit"),
    ],
)
def test_damaged_columns_are_refused(indices: Any, indptr: Any, message: str) -> None:
    columns = sp.csc_array(np.eye(2))
    columns.indices, columns.indptr = np.array(indices), np.array(indptr)
    with pytest.raises(DataError, match=f"X is damaged: {message}"):
        check_rows(columns)
