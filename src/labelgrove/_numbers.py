"""Numbers formatted for people: with thousands separators, durations, sizes, percentages."""

from __future__ import annotations

import math
from pathlib import Path

_LETTERS = ("", "k", "M", "G", "T")
_SIZES = ("bytes", "kB", "MB", "GB", "TB", "PB")


def counted(number: int, noun: str) -> str:
    """Format a count with its noun, whose plural ends in s.

    >>> counted(1, "label"), counted(2500, "label")
    ('1 label', '2,500 labels')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"


def short_count(number: float) -> str:
    """Format a number from 0 up to 10**15 in at most five characters.

    >>> short_count(987), short_count(12404), short_count(999_999), short_count(4_200_000)
    ('987', '12.4k', '1.00M', '4.20M')
    """
    return "".join(_scaled(number, _LETTERS))


def duration(seconds: float) -> str:
    """Format a duration in a suitable unit.

    >>> duration(0.0123), duration(3.21), duration(75), duration(3 * 3600 + 65)
    ('12 ms', '3.2 s', '1 min 15 s', '3 h 01 min')
    """
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes:02d} min"


def size(number_of_bytes: int) -> str:
    """Format a number of bytes in decimal units, as file managers do.

    >>> size(512), size(31_400), size(31_415_926)
    ('512 bytes', '31.4 kB', '31.4 MB')
    """
    return " ".join(_scaled(number_of_bytes, _SIZES))


def _scaled(number: float, units: tuple[str, ...]) -> tuple[str, str]:
    """Return the number in the unit that leaves at most three digits, each 1000 times the last."""
    step = 0
    # 999.5 would round up to four digits, so it takes the next unit.
    while number >= 999.5 and step < len(units) - 1:
        number /= 1000
        step += 1
    digits = 0 if step == 0 or number >= 99.95 else 1 if number >= 9.995 else 2
    return f"{number:.{digits}f}", units[step]


def sized(path: str) -> str:
    """Return the path of a file, with its size."""
    return f"{path} ({size(Path(path).stat().st_size)})"


def percent(fraction: float) -> str:
    """Format a fraction as a percentage with one decimal, NaN as a dash.

    >>> percent(0.6361), percent(float("nan"))
    ('63.6%', '–')
    """
    return "–" if math.isnan(fraction) else f"{fraction * 100:.1f}%"
