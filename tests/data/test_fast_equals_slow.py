"""The parser of the core returns the same as the careful one, or gives up."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelgrove.data import _pair, _svmlight, _xmlc
from labelgrove.data._chunks import Piece
from labelgrove.data._rows import Bounds
from labelgrove.data._sparse_text import Dialect, Lines, parse_fast, parse_slow

DIALECTS = st.sampled_from([_xmlc.DIALECT, _svmlight.DIALECT, _pair.DIALECT])
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
    lines = Lines.of_block(5, "\n".join(rows).encode())
    slow, problem = parse_slow(lines, dialect, bounds)
    fast = parse_fast(lines, dialect, bounds)
    if fast is not None:
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
    block = Lines.of_block(1, "\n".join(lines).encode())
    slow, problem = parse_slow(block, _svmlight.DIALECT, Bounds(1000, 1000))
    assert problem is None
    assert_equal(parse_fast(block, _svmlight.DIALECT, Bounds(1000, 1000)), slow)


def parsed(text: str, n_ids: int = 2**31 - 1) -> Any:
    lines = Lines.of_block(1, text.encode())
    return parse_fast(lines, _svmlight.DIALECT, Bounds(n_ids, n_ids))


def as_float32(number: str) -> Any:
    return np.float64(float(number)).astype(np.float32)


@settings(max_examples=250)
@given(
    st.lists(st.floats(-1e38, 1e38) | st.floats(-1e9, 1e9) | st.floats(-1e-36, 1e-36), min_size=1)
)
def test_values_are_those_of_python(values: list[float]) -> None:
    forms = ("{!r}", "{:.15g}", "{:.16g}", "{:.17g}", "{:.5f}", "{:+.14f}", "{:.6e}", "{:.18E}")
    texts = [form.format(value) for value in [*values, -0.0] for form in forms]
    with np.errstate(under="ignore"):
        expected = np.array([as_float32(text) for text in texts])
    found = parsed(" ".join(f"{i}:{text}" for i, text in enumerate(texts, 1)))
    assert found.features.values.view(np.uint32).tolist() == expected.view(np.uint32).tolist()


@given(st.floats(2.0**-30, 2.0**60, width=32), st.integers(-1000, 1000))
def test_values_near_the_middle_of_two_float32(value: float, digits: int) -> None:
    """Where the last of many digits decides."""
    above = float(np.nextafter(np.float32(value), np.float32(np.inf)))
    middle = Decimal((value + above) / 2)
    with localcontext() as context:
        context.prec = 19
        texts = [str(+middle), str(middle.next_plus()), str(middle.next_minus())]
        texts.append(str(middle * (1 + Decimal(digits).scaleb(-18))))
    found = parsed(" ".join(f"{i}:{text}" for i, text in enumerate(texts)))
    assert found.features.values.tolist() == [as_float32(text) for text in texts]


def test_long_numbers_stay_with_their_features() -> None:
    """Even if the row has to be sorted."""
    long = "1234567890.1234567890123"
    found = parsed(f"3 7:1 5:{long} 6:-{long}\n1 2:{long} 1:3")
    assert found.features.indices.tolist() == [5, 6, 7, 1, 2]
    number = as_float32(long)
    assert found.features.values.tolist() == [number, -number, 1, 3, number]


def test_the_first_of_repeated_labels_stays() -> None:
    assert parsed("3,1,3,2,1 1:1\n4,4 1:1\n 1:1").labels == [(3, 1, 2), (4,), ()]


@pytest.mark.parametrize(
    "row",
    [
        *("1 2:3 2:4", "1 5", "x 1:1", "1 1:nan", "1 1:1e39", "1 1:-", "1 1:.", "1 1:1.2.3"),
        *("1 -1:1", "1 1:1e", "1 1:1e+", "1 1:", "1 :1", "1, 1:1", ",1 1:1", "1 1:1:1"),
        *("1 12345678901:1", "1 1:3.4028235677973366e38", "1 1:1e400", "1 1:1_0"),
    ],
)
def test_the_fast_path_refuses(row: str) -> None:
    assert parsed(row) is None
    assert parsed(f"1 1:1\n{row}") is None


@pytest.mark.parametrize("row", ["10 1:1", "1 10:1"])
def test_the_fast_path_refuses_the_first_id_beyond_the_bounds(row: str) -> None:
    assert parsed(row, 10) is None
    assert parsed("9 9:1", 10) is not None


def test_the_largest_float32() -> None:
    assert parsed("1 1:3.4028235e38").features.values.tolist() == [np.finfo(np.float32).max]
