"""Vectorised parsing of ``id:value id:value ...`` lines: the fast path for nearly all input.

Numbers are located by the edges between number and separator characters. All numbers of a block
are read at once, one digit place after another, from the last digit to the first. Up to 15 digits,
both the digits as an integer and the power of ten to divide by are exact in float64, so the single
division rounds correctly: the result equals `float()` to the last bit. Anything unusual raises
`NotPlainError`; the caller then parses the block again, slowly, to find out which line is wrong
and how.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelgrove.data._chunks import SparseRows
from labelgrove.data._limits import MAX_ID

_DIGIT, _DOT, _SIGN_OR_EXPONENT, _BLANK, _COLON, _NEWLINE, _OTHER = range(7)
_ZERO = ord("0")
_MAX_ID_DIGITS = len(str(MAX_ID))
_EXACT_DIGITS = 15

Bytes = NDArray[np.uint8]
Positions = NDArray[np.int64]


class NotPlainError(Exception):
    """The block contains something that the vectorised parser does not handle."""


def _classes() -> bytes:
    table = bytearray([_OTHER]) * 256
    groups = {_DIGIT: b"0123456789", _DOT: b".", _SIGN_OR_EXPONENT: b"+-eE", _BLANK: b" "}
    for kind, characters in (groups | {_COLON: b":", _NEWLINE: b"\n"}).items():
        for character in characters:
            table[character] = kind
    return bytes(table)


_CLASS_OF_BYTE = _classes()


def parse_features(rows: list[bytes], id_limit: int, values_required: bool) -> SparseRows:
    """Parse the features of many rows at once, and sort the ids of each row.

    `rows` are separated by blanks only, without line breaks. Ids must be below `id_limit`; an
    ``id`` without ``:value`` means a value of 1, unless `values_required`. Raises NotPlainError if
    anything is malformed or merely unusual.
    """
    text = b"\n".join([b"", *rows, b""])
    characters = np.frombuffer(text, np.uint8)
    kinds = np.frombuffer(text.translate(_CLASS_OF_BYTE), np.uint8)
    if kinds.max() == _OTHER:
        raise NotPlainError
    in_number = kinds <= _SIGN_OR_EXPONENT
    edges = np.flatnonzero(in_number[1:] != in_number[:-1]) + 1
    starts, ends = edges[0::2], edges[1::2]
    is_value = kinds[starts - 1] == _COLON
    is_id = ~is_value
    value_of = _values_follow_ids(starts, ends, is_value, text.count(b":"))

    id_starts, id_ends = starts[is_id], ends[is_id]
    ids = _integers(characters, id_starts, id_ends)
    if len(ids) and ids.max() >= id_limit:
        raise NotPlainError
    values = _float32(decimals(text, starts[is_value], ends[is_value]))
    if len(values) < len(ids):
        if values_required:
            raise NotPlainError
        explicit, values = values, np.ones(len(ids), np.float32)
        values[(np.cumsum(is_id) - 1)[value_of - 1]] = explicit
    row_ends = np.flatnonzero(kinds == _NEWLINE)
    indptr = np.searchsorted(id_starts, row_ends)
    return _sorted_rows(indptr, ids.astype(np.int32), values)


def _values_follow_ids(
    starts: Positions, ends: Positions, is_value: NDArray[np.bool_], colons: int
) -> Positions:
    """Return the indices of the value tokens; a colon must tie each of them to an id."""
    value_of = np.flatnonzero(is_value)
    if len(value_of) != colons or (colons and value_of[0] == 0):
        raise NotPlainError
    before = value_of - 1
    if is_value[before].any() or (ends[before] + 1 != starts[value_of]).any():
        raise NotPlainError
    return value_of


def _integers(characters: Bytes, starts: Positions, ends: Positions) -> NDArray[np.int64]:
    """Parse unsigned decimal integers, which must consist only of digits."""
    lengths = ends - starts
    longest = int(lengths.max(initial=0))
    if longest > _MAX_ID_DIGITS:
        raise NotPlainError
    result = np.zeros(len(starts), np.int64)
    for place in range(longest):
        digits = characters[ends - 1 - place] - np.uint8(_ZERO)
        if place:
            digits[lengths <= place] = 0
        if digits.max() > 9:
            raise NotPlainError
        result += digits.astype(np.int64) * 10**place
    return result


def decimals(text: bytes, starts: Positions, ends: Positions) -> NDArray[np.float64]:
    """Parse the decimal numbers at these places of `text`, with the same result as `float`.

    Only the characters ``0123456789.+-eE`` may occur there; raises NotPlainError if they do not
    form a number.
    """
    characters = np.frombuffer(text, np.uint8)
    first = characters[starts]
    negative = first == ord("-")
    unsigned = starts + (negative | (first == ord("+")))
    lengths = ends - unsigned
    longest = min(int(lengths.max(initial=0)), _EXACT_DIGITS + 1)
    mantissa = np.zeros(len(starts))
    scale = np.ones(len(starts))
    power = np.ones(len(starts))
    dots = np.zeros(len(starts), np.uint8)
    unusual = np.zeros(len(starts), bool)
    for place in range(longest):
        character = characters[ends - 1 - place]
        digits = character - np.uint8(_ZERO)
        is_digit = digits < 10
        is_dot = character == ord(".")
        if place:
            inside = lengths > place
            is_digit &= inside
            is_dot &= inside
            unusual |= inside & ~is_digit & ~is_dot
        else:
            unusual |= ~is_digit & ~is_dot
        mantissa += np.where(is_digit, digits, 0) * power
        scale = np.where(is_dot, power, scale)
        power = np.where(is_digit, power * 10.0, power)
        dots += is_dot
    unusual |= (dots > 1) | (lengths - dots < 1) | (lengths - dots > _EXACT_DIGITS)
    result = mantissa / scale
    np.negative(result, out=result, where=negative)
    for place in np.flatnonzero(unusual).tolist():  # exponents, and too many digits to be exact
        try:
            result[place] = float(text[starts[place] : ends[place]])
        except ValueError:
            raise NotPlainError from None
    return result


def _float32(numbers: NDArray[np.float64]) -> NDArray[np.float32]:
    """Round numbers to float32; those beyond its range are refused."""
    with np.errstate(over="ignore", under="ignore"):
        values = numbers.astype(np.float32)
    if not np.isfinite(values).all():
        raise NotPlainError
    return values


def _sorted_rows(
    indptr: Positions, ids: NDArray[np.int32], values: NDArray[np.float32]
) -> SparseRows:
    """Sort the ids of each row; a repeated id in a row is refused."""
    disorder = steps(indptr, ids) <= 0
    if disorder.any():
        row_of = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        order = np.lexsort((ids, row_of))
        ids, values = ids[order], values[order]
        if (steps(indptr, ids) <= 0).any():
            raise NotPlainError
    return SparseRows(indptr, ids, values)


def steps(indptr: Positions, ids: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the differences of neighbouring ids, or 1 between rows, where any order is valid.

    They overflow if an id is negative.
    """
    found = np.diff(ids)
    borders = indptr[1:-1]
    found[borders[(borders > 0) & (borders < len(ids))] - 1] = 1
    return found
