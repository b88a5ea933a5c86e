"""Validated rows, and parts of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from labelgrove import DataError, DataTypeError
from labelgrove._validation import check_rows


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


class Table:
    """A table like Arrow's, whose `columns` are not names."""

    column_names = ("a", "b")
    columns = ([1.0, 2.0], ["x", "y"])
    shape = (2, 2)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.columns, object).T.astype(dtype or object)

    def __getitem__(self, name: str) -> Any:
        return self.columns[self.column_names.index(name)]


class Unread:
    """A table like a lazy frame of polars: it knows its names only."""

    columns = ("a", "b")

    def __getitem__(self, name: str) -> Any:
        raise TypeError("not subscriptable")


def test_a_column_without_numbers_is_named() -> None:
    with pytest.raises(
        DataTypeError, match=r"X: column 'b': could not convert .*; expected numbers"
    ):
        check_rows(Table())
    with pytest.raises(DataError, match=r"^X is of type Unread: expected an array"):
        check_rows(Unread())
