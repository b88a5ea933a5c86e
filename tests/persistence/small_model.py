"""A small model with one of everything."""

from __future__ import annotations

import numpy as np

HEADER = {
    "algorithm": "démo",
    "library": "0.1.0",
    "parameters": {"alpha": 0.75, "name": 'a "b" \\ ü', "none": None, "on": True, "list": [1, [2]]},
}


def small_arrays() -> dict[str, np.ndarray]:
    """One array of every type, 1-D and 2-D, empty ones too."""
    return {
        "blob": np.frombuffer("Größe".encode(), np.uint8),
        "half": np.array([0, 0x3F80, 2**16 - 1], np.uint16),
        "child": np.array([[1, -2], [3, 4], [5, 2**31 - 1]], np.int32),
        "row": np.array([0, 2**32 - 1, 7], np.uint32),
        "seen": np.array([-(2**63), 2**63 - 1], np.int64),
        "key": np.array([[0, 2**64 - 1]], np.uint64),
        "weight": np.array([0.5, -0.0, np.inf, np.nan, 1e-45], np.float32),
        "sum": np.array([[1.5], [np.pi]], np.float64),
        "none": np.empty(0, np.float32),
        "no_rows": np.empty((0, 3), np.uint32),
    }
