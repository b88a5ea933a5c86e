"""The vectorised parser returns the same as the careful one, or gives up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelgrove.data import _svmlight, _xmlc
from labelgrove.data._chunks import Piece
from labelgrove.data._numbers import NotPlainError, decimals
from labelgrove.data._rows import Bounds, RowError
from labelgrove.data._sparse_text import Dialect, numbered, parse_fast, parse_slow

DIALECTS = st.sampled_from([_xmlc.DIALECT, _svmlight.DIALECT])
BOUNDS = st.sampled_from([Bounds(), Bounds(), Bounds(10, 10), Bounds(0, 0)])

digits = st.integers(0, 12).map(str) | st.integers(0, 2**31).map(str) | st.just("007")
numbers = (
    st.floats(width=32).map(repr)
    | st.just("-0")
    | st.floats(allow_nan=False, allow_infinity=False).map(repr)
    | st.decimals(-1000, 1000, places=5).map(str)
    | st.integers(-(10**20), 10**20).map(str)
    | st.from_regex(r"\A[+-]?[0-9]{0,9}\.?[0-9]{0,9}([eE][+-]?[0-9]{1,2})?\Z")
)
features = st.builds("{}:{}".format, digits, numbers)
clean_rows = st.builds(
    lambda labels, row: f"{','.join(labels)} {' '.join(row)}",
    st.lists(digits, max_size=3),
    st.lists(features | digits, max_size=5),
)
noise = st.text("0123456789:,.+-eE \tnaif_\r\v#", max_size=12)
any_rows = clean_rows | noise | st.builds("{}{}".format, clean_rows, noise)


def assert_equal(fast: Piece, slow: Piece) -> None:
    assert fast.labels == slow.labels
    assert fast.lines.tolist() == slow.lines.tolist()
    assert fast.features.indptr.tolist() == slow.features.indptr.tolist()
    assert fast.features.indices.tolist() == slow.features.indices.tolist()
    assert fast.features.values.view(np.uint32).tolist() == (
        slow.features.values.view(np.uint32).tolist()
    )


@settings(max_examples=250)
@given(
    st.lists(clean_rows, min_size=1, max_size=3) | st.lists(any_rows, min_size=1), DIALECTS, BOUNDS
)
def test_equal_wherever_the_fast_one_answers(
    rows: list[str], dialect: Dialect, bounds: Bounds
) -> None:
    lines = numbered(5, "\n".join(rows).encode())
    slow, problem = parse_slow(lines, dialect, bounds)
    try:
        fast = parse_fast(lines, dialect, bounds)
    except (NotPlainError, RowError):
        return
    assert problem is None
    assert_equal(fast, slow)


plain_values = (
    st.floats(0, 1e6, width=32).map(lambda value: f"{value:.6g}")
    | st.decimals(-1000, 1000, places=5).map(str)
    | st.integers(-(10**20), 10**20).map(str)
    | st.from_regex(r"\A[+-]?[0-9]{0,9}\.?[0-9]{1,9}\Z")
)


@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 999), max_size=3),
            st.dictionaries(st.integers(0, 999), plain_values, max_size=6),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_plain_rows_take_the_fast_path(rows: list) -> None:
    lines = [
        ",".join(map(str, labels)) + " " + " ".join(f"{i}:{v}" for i, v in row.items())
        for labels, row in rows
    ]
    block = numbered(1, "\n".join(lines).encode())
    slow, problem = parse_slow(block, _svmlight.DIALECT, Bounds(1000, 1000))
    assert problem is None
    assert_equal(parse_fast(block, _svmlight.DIALECT, Bounds(1000, 1000)), slow)


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.floats(-1e9, 1e9), min_size=1)
)
def test_decimals_equal_float(values: list[float]) -> None:
    formats = ("{!r}", "{:.15g}", "{:.16g}", "{:.17g}", "{:.5f}", "{:+.14f}")
    texts = [form.format(value) for value in [*values, -0.0] for form in formats]
    text = " ".join(texts).encode()
    ends = np.cumsum([len(text) + 1 for text in texts]) - 1
    starts = ends - [len(text) for text in texts]
    expected = np.array([float(text) for text in texts])
    np.testing.assert_array_equal(
        decimals(text, starts, ends).view(np.uint64), expected.view(np.uint64)
    )


@pytest.mark.parametrize(
    "row",
    ["1 2:3 2:4", "1 5", "x 1:1", "1 1:nan", "1 1:1e39", "1 1:-", "1 1:.", "1 1:1.2.3", "1 -1:1"],
)
def test_the_fast_path_refuses(row: str) -> None:
    with pytest.raises(NotPlainError):
        parse_fast([(1, row.encode())], _svmlight.DIALECT, Bounds())


@pytest.mark.parametrize("row", ["10 1:1", "1 10:1"])
def test_the_fast_path_refuses_the_first_id_beyond_the_bounds(row: str) -> None:
    with pytest.raises(NotPlainError):
        parse_fast([(1, row.encode())], _svmlight.DIALECT, Bounds(10, 10))
    parse_fast([(1, b"9 9:1")], _svmlight.DIALECT, Bounds(10, 10))
