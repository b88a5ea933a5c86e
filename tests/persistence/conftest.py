"""A small model with one of everything, and a way to write files by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelgrove.persistence import write_model

RawWriter = Callable[..., Path]

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


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.lg"
    write_model(path, HEADER, small_arrays())
    return path


@pytest.fixture
def raw(tmp_path: Path) -> RawWriter:
    """Write any text as the header of a container, followed by any bytes."""

    def write(outer: Any, data: bytes = b"", *, length: int | None = None) -> Path:
        body = outer if isinstance(outer, bytes) else json.dumps(outer).encode()
        length = len(body) if length is None else length
        path = tmp_path / "raw.lg"
        path.write_bytes(length.to_bytes(8, "little") + body + data)
        return path

    return write
