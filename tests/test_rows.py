"""Validated rows, and parts of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from labelgrove import DataError
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
