"""The single rule for when a probability reaches a threshold."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Cut = float | npt.NDArray[np.float64]
"""One threshold for all labels, or one for each class, in the order of ``classes_``."""


def reaches(scores: npt.ArrayLike, threshold: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Return which scores are at least their threshold; the shapes are broadcast.

    Scores are 32-bit numbers and thresholds 64-bit ones, and neither is rounded: the score
    float32(0.7), which is 0.699999988, does not reach 0.7. NaN reaches no threshold.

    Examples
    --------
    >>> reaches(np.array([0.7, 0.75], np.float32), 0.7).tolist()
    [False, True]
    """
    # Compared with a 32-bit array, NumPy would round a plain Python number to 32 bits.
    found: Any = np.asarray(scores, np.float64) >= np.asarray(threshold, np.float64)
    return np.asarray(found)


def least_scores(threshold: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """Return the smallest 32-bit number that reaches each threshold.

    With it, code that compares 32-bit numbers, such as the engine, agrees with `reaches`.

    Examples
    --------
    >>> bool(least_scores(0.7) > np.float32(0.7)), float(least_scores(0.5))
    (True, 0.5)
    """
    values = np.asarray(threshold, np.float64)
    with np.errstate(over="ignore"):
        least = values.astype(np.float32)
    return np.where(least < values, np.nextafter(least, np.float32(np.inf)), least)
