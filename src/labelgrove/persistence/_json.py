"""JSON for headers: an object without lone surrogates."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from labelgrove._errors import ModelFileError, brief
from labelgrove._strict_json import strict_json


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Prefix errors about a file's content with its name."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error


def dump_json(value: Mapping[str, Any]) -> str:
    """Return a mapping as JSON, with sorted keys and no blanks, so that equal input is equal text.

    Raises ModelFileError at NaN, infinity, a NumPy scalar or a lone surrogate.
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
    """Parse an untrusted JSON object in UTF-8, of a length that the caller has bounded.

    Raises ModelFileError, whose message begins with ``what``, if the text is not a JSON object, is
    nested too deeply, repeats a key, or holds NaN, infinity or a lone surrogate.
    """
    try:
        value = strict_json(text.decode())
        # Escapes can spell a lone surrogate, which cannot be printed or saved again.
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{what} cannot be read as JSON: {error}") from error
    if not isinstance(value, dict):
        raise ModelFileError(f"{what} must be a JSON object, not {brief(value)}")
    return value
