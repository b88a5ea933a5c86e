"""Strict JSON for headers: an object, keys only once, finite numbers, whole characters."""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

from labelgrove._errors import ModelFileError

_clip = reprlib.Repr()
_clip.maxstring = _clip.maxother = _clip.maxlong = 100


def clip(value: Any) -> str:
    """Return the `repr` of a value from a file, cut so that a message stays one sentence."""
    return _clip.repr(value)


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Put the file's name before what is found wrong with its content."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error


def dump_json(value: Mapping[str, Any]) -> str:
    """Return a mapping as JSON: keys sorted and no blanks, so that equal input is equal text.

    Raises
    ------
    ModelFileError
        A value that JSON does not have: NaN and infinities, NumPy scalars, half characters.
    """
    try:
        text = json.dumps(
            value, allow_nan=False, ensure_ascii=False, separators=(",", ":"), sort_keys=True
        )
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"the header cannot be written as JSON: {error}") from error
    return text


def load_json(text: bytes, what: str) -> dict[str, Any]:
    """Parse a JSON object that may come from a stranger.

    Parameters
    ----------
    text : bytes
        UTF-8; the caller bounds its length.
    what : str
        What the text is, to begin a message with.

    Raises
    ------
    ModelFileError
        The text is no JSON object, nests too deep, repeats a key, or holds NaN, an infinity or
        half of a surrogate pair.
    """
    try:
        value = json.loads(
            text.decode(),
            object_pairs_hook=_unique_keys,
            parse_constant=_refuse_constant,
            parse_float=_finite_float,
        )
        # Escapes can spell half of a surrogate pair, which nothing could print or save again.
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{what} cannot be read as JSON: {error}") from error
    if not isinstance(value, dict):
        raise ModelFileError(f"{what} must be a JSON object, not {clip(value)}")
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {clip(key)} stands there twice")
            seen.add(key)
    return result


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite_float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {clip(text)} is too large")
    return value
