"""A file of the small model, and a way to write files by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from labelgrove.persistence import write_model
from persistence.small_model import HEADER, small_arrays


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.lg"
    write_model(path, HEADER, small_arrays())
    return path


RawWriter = Callable[..., Path]


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
