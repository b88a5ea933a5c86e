"""Conversion of a model's labels to arrays of its file, and back with all checks."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import compress, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove._errors import ModelFileError
from labelgrove._names import Names, object_array

RETIRED = "labels.retired"
INTS = "labels.ints"
TEXT = "labels.text"
OFFSETS = "labels.offsets"

MAX_LABELS = 2**31 - 1
"""Ids fit into 32 bits."""


def names_to_arrays(names: Names) -> dict[str, Names]:
    """Return names, in order, as arrays for a model file; str must be encodable as UTF-8."""
    if not names.size:
        return {}
    if names.dtype != object:
        return {INTS: names}
    encoded = [name.encode() for name in names.tolist()]
    offsets = np.zeros(len(encoded) + 1, np.uint64)
    np.cumsum(np.fromiter(map(len, encoded), np.uint64, len(encoded)), out=offsets[1:])
    return {TEXT: np.frombuffer(b"".join(encoded), np.uint8), OFFSETS: offsets}


def labels_from_arrays(
    arrays: Mapping[str, Names], *, check_only: bool = False
) -> tuple[Names, npt.NDArray[np.bool_], dict[Any, int]]:
    """Return the name of every id, whether it is in use, and the id of every name in use.

    With `check_only` the ids, which take far more memory than the rest, may be omitted. Raises
    ModelFileError if an array is missing, or has the wrong type, shape or content.
    """
    retired = _take(arrays, RETIRED, np.uint8)
    if retired.size > MAX_LABELS:
        raise ModelFileError(f"{RETIRED} has {retired.size} labels: expected at most {MAX_LABELS}")
    if retired.size and retired.max() > 1:
        wrong = int(np.argmax(retired > 1))
        raise ModelFileError(f"{RETIRED}[{wrong}] is {retired[wrong]}: expected 0 or 1")
    names = names_from_arrays(arrays)
    if len(names) != len(retired):
        raise ModelFileError(f"there are {len(names)} labels, but {RETIRED} has {len(retired)}")
    active = retired == 0
    if check_only and _certainly_differ(names[active]):
        return names, active, {}
    flags: list[bool] = active.tolist()
    in_use = list(compress(names.tolist(), flags))
    index = dict(zip(in_use, compress(range(len(names)), flags), strict=True))
    if len(index) != len(in_use):
        # The index has the last id of a repeated name, so the first id differs from it.
        ids = compress(range(len(names)), flags)
        twice = next(name for name, i in zip(in_use, ids, strict=True) if index[name] != i)
        raise ModelFileError(f"two labels in use are named {twice!r}")
    return names, active, index


def _certainly_differ(names: Names) -> bool:
    keys = names.copy()
    if names.dtype == object:
        keys = np.fromiter(map(hash, names), np.int64, len(names))
    keys.sort()
    return not (keys[1:] == keys[:-1]).any()


def names_from_arrays(arrays: Mapping[str, Names]) -> Names:
    """Return the argument of `names_to_arrays`.

    Raises ModelFileError if an array has the wrong type, shape or content.
    """
    if INTS in arrays:
        if TEXT in arrays or OFFSETS in arrays:
            raise ModelFileError(f"there are both {INTS} and {TEXT}: expected one of them")
        return _take(arrays, INTS, np.int64).copy()
    if TEXT not in arrays and OFFSETS not in arrays:
        return np.empty(0, object)
    text, offsets = _take(arrays, TEXT, np.uint8), _take(arrays, OFFSETS, np.uint64)
    if not offsets.size or offsets[0] != 0 or offsets[-1] != text.size:
        raise ModelFileError(f"{OFFSETS} must begin with 0 and end with {text.size}")
    falls = offsets[1:] < offsets[:-1]
    if falls.any():
        wrong = int(np.argmax(falls))
        raise ModelFileError(
            f"{OFFSETS}[{wrong + 1}] is {offsets[wrong + 1]}, less than the {offsets[wrong]} "
            "before it"
        )
    return object_array(_decode(text.tobytes(), offsets.tolist()))


def _decode(text: bytes, offsets: list[int]) -> list[str]:
    if text.isascii():  # bytes equal characters, so decode once and slice the text
        whole = text.decode()
        return [whole[first:last] for first, last in pairwise(offsets)]
    names: list[str] = []
    try:
        for first, last in pairwise(offsets):
            names.append(text[first:last].decode())
    except UnicodeDecodeError as error:
        raise ModelFileError(f"{TEXT}: the name of label {len(names)} is not UTF-8") from error
    return names


def _take(arrays: Mapping[str, Names], name: str, dtype: npt.DTypeLike) -> Names:
    if name not in arrays:
        raise ModelFileError(f"there is no array {name}")
    array = arrays[name]
    if array.dtype != np.dtype(dtype) or array.ndim != 1:
        raise ModelFileError(
            f"{name} is {array.ndim}-D of {array.dtype}: expected 1-D of {np.dtype(dtype)}"
        )
    return array
