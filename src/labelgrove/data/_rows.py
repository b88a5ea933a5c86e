"""The slow path: parsing of single sparse rows, with a reason for every refusal."""

from __future__ import annotations

import re
from dataclasses import dataclass

from labelgrove.data._limits import FLOAT32_OVERFLOW, MAX_ID

_NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_NOT_FINITE = re.compile(rb"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_SHOWN = 40


class RowError(Exception):
    """A defect of a row; the reader adds the place."""


@dataclass(frozen=True)
class Bounds:
    """Numbers of features and labels: those that the header declares, or else the most possible."""

    features: int = MAX_ID + 1
    labels: int = MAX_ID + 1


def shown(token: bytes | str) -> str:
    """Quote a token for a message, truncated if it is long."""
    text = token.decode("utf-8", "backslashreplace") if isinstance(token, bytes) else token
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "...")


def parse_labels(field: bytes, bounds: Bounds) -> tuple[int, ...]:
    """Parse labels such as ``1,5,3``, dropping repetitions; raises RowError."""
    if not field:
        return ()
    if b":" in field:
        raise RowError(
            f"found {shown(field)} where the labels should be; expected labels such as 3,17, or a "
            "blank at the start of a row without labels"
        )
    labels = [_identifier(token, "label", bounds.labels) for token in field.split(b",")]
    return tuple(dict.fromkeys(labels))


def parse_feature_row(
    row: bytes, bounds: Bounds, values_required: bool
) -> tuple[list[int], list[float]]:
    """Parse features ``id:value id:value`` and sort them by id; raises RowError."""
    features: dict[int, float] = {}
    for token in row.split(b" "):
        if not token:
            continue
        name, colon, number = token.partition(b":")
        if not colon and values_required:
            raise RowError(f"feature {shown(token)} has no value; expected id:value")
        feature = _identifier(name, "feature", bounds.features, token)
        if feature in features:
            raise RowError(
                f"feature {feature} occurs twice; expected every feature at most once in a row"
            )
        features[feature] = _value(number, feature) if colon else 1.0
    ids = sorted(features)
    return ids, [features[feature] for feature in ids]


def _identifier(token: bytes, what: str, declared: int, context: bytes = b"") -> int:
    """Parse a feature or label id below the declared number."""
    if not token.isdigit():
        raise RowError(
            f"{shown(context or token)} is not a {what}; expected an integer from 0 to {MAX_ID}"
        )
    digits = token.lstrip(b"0") or b"0"
    number = int(digits) if len(digits) <= len(str(MAX_ID)) else MAX_ID + 1
    if number > MAX_ID:
        raise RowError(f"{what} {shown(digits)} is too large; expected at most {MAX_ID}")
    if number >= declared:
        largest = f"0 to {declared - 1}" if declared else "none at all"
        raise RowError(
            f"{what} {number} is beyond the {declared} {what}s that the header declares ({largest})"
        )
    return number


def _value(token: bytes, feature: int) -> float:
    """Parse a finite number within the range of float32."""
    if not _NUMBER.fullmatch(token):
        if _NOT_FINITE.fullmatch(token):
            raise RowError(f"feature {feature} has the value {shown(token)}; expected a finite one")
        raise RowError(f"feature {feature} has the value {shown(token)}; expected a number")
    value = float(token)
    if abs(value) >= FLOAT32_OVERFLOW:
        raise RowError(
            f"feature {feature} has the value {shown(token)}; expected one that a float32 can hold "
            "(below 3.4e38)"
        )
    return value
