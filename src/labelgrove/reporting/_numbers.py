"""Arrays as lists of numbers that are short in JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def plain(values: npt.ArrayLike, digits: int = 4) -> list[Any]:
    """Whole numbers as they are, others rounded; None for what is not finite."""
    array = np.asarray(values)
    if array.dtype.kind != "f":
        return list(array.tolist())
    rounded = np.round(array.astype(np.float64), digits).tolist()
    return [value if np.isfinite(value) else None for value in rounded]


def records(**columns: npt.ArrayLike) -> list[dict[str, Any]]:
    """Columns as one dict a row, as Vega takes them."""
    lists = [plain(values) for values in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]
