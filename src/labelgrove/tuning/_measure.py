"""The F-measure from counts, and the three ways to average it."""

from __future__ import annotations

from typing import Any, Literal, cast, get_args

import numpy as np

from labelgrove._errors import ParameterError, brief
from labelgrove._parameters import choice
from labelgrove.tuning._pairs import FloatArray, IntArray

Average = Literal["macro", "micro", "instance"]


def f_from_counts(hits: Any, positives: Any, predicted: Any, zero_division: float) -> FloatArray:
    """Return F = 2 · hits / (positives + predicted) (Equation 1); 0/0 gives `zero_division`."""
    below = np.asarray(positives + predicted, np.float64)
    above = np.broadcast_to(2.0 * np.asarray(hits, np.float64), below.shape)
    value = np.full(below.shape, zero_division)
    np.divide(above, below, out=value, where=below > 0)
    return value


def reaching(counts: IntArray) -> IntArray:
    """Return how many of each row reach each candidate, from those between two candidates."""
    return np.cumsum(counts[:, :0:-1], axis=1)[:, ::-1]


def last_best(values: FloatArray) -> Any:
    """Return the index of the last greatest value along the last axis."""
    return values.shape[-1] - 1 - np.argmax(values[..., ::-1], axis=-1)


def check_average(average: Any) -> Average:
    """Return `average` after checking it."""
    return cast(Average, choice("average", average, get_args(Average)))


def check_zero_division(zero_division: Any) -> float:
    """Return `zero_division` as a float after checking that it is 0 or 1."""
    if zero_division not in (0, 1):
        raise ParameterError(f"zero_division={brief(zero_division)}: expected 0 or 1")
    return float(zero_division)


def check_common(common: bool | None, average: Average, default: bool) -> bool:
    """Return whether all labels share a threshold; None selects the default for the average."""
    if average == "macro":
        return default if common is None else bool(common)
    if common is False:
        raise ParameterError(
            f"common=False: the {average}-averaged F-measure is tuned with a common threshold, "
            "which is optimal for it; expected common=True or average='macro'"
        )
    return True
