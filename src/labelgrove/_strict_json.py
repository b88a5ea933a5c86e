"""Strict JSON: no key twice in an object, and finite numbers only."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from labelgrove._errors import brief


def strict_json(text: str) -> Any:
    """Parse JSON.

    Raises ValueError if the text is not JSON, repeats a key, or holds NaN or infinity;
    RecursionError if it is nested too deeply.
    """
    return json.loads(
        text,
        object_pairs_hook=_unique_keys,
        parse_constant=_refuse_constant,
        parse_float=_finite_float,
    )


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {brief(key)} occurs twice")
            seen.add(key)
    return result


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite_float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {brief(text)} is too large")
    return value
