"""Functions with the same bits on every machine; NumPy's differ between processors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove import _core

FloatArray = npt.NDArray[np.float64]


def exp(x: npt.ArrayLike) -> FloatArray:
    """Return exponentials."""
    return _each(_core.exp, x)


def log(x: npt.ArrayLike) -> FloatArray:
    """Return natural logarithms."""
    return _each(_core.log, x)


def power(x: npt.ArrayLike, y: npt.ArrayLike) -> FloatArray:
    """Return positive numbers to some power."""
    return exp(np.multiply(y, log(x)))


def geometric(first: float, last: float, n: int) -> FloatArray:
    """Return n numbers in geometric progression from the first to the last, like np.geomspace."""
    found = first * power(last / first, np.arange(n) / max(n - 1, 1))
    found[-1] = last
    return found


def _each(function: Callable[[FloatArray], FloatArray], x: npt.ArrayLike) -> FloatArray:
    given: Any = np.ascontiguousarray(x, np.float64)
    return function(given.reshape(-1)).reshape(np.shape(x))
