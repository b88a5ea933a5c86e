from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelgrove import _numbers


@given(st.integers(0, 10**14))
def test_a_short_count_never_takes_more_than_five_characters(number: int) -> None:
    assert len(_numbers.short_count(number)) <= 5


@given(st.integers(0, 10**14))
def test_a_short_count_is_right_to_its_last_digit(number: int) -> None:
    written = _numbers.short_count(number)
    factor = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}.get(written[-1], 1.0)
    value = float(written.rstrip("kMGT")) * factor
    assert value == pytest.approx(number, rel=0.0051)


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (0, "0 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.0 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 00 s"),
        (3599.4, "59 min 59 s"),
        (3599.6, "1 h 00 min"),
        (90_000, "25 h 00 min"),
    ],
)
def test_durations_never_show_sixty_of_a_unit(seconds: float, written: str) -> None:
    assert _numbers.duration(seconds) == written


@pytest.mark.parametrize(
    ("number", "written"),
    [(999, "999 bytes"), (1000, "1.00 kB"), (999_600, "1.00 MB"), (2**63, "9223 PB")],
)
def test_sizes_change_their_unit_in_time(number: int, written: str) -> None:
    assert _numbers.size(number) == written
