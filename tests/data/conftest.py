"""Files to read, written on the spot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from labelgrove.data import Examples, read_examples

Read = Callable[..., Examples]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Read a file of this content, given as str or bytes, and of this format or name."""

    def read_content(content: str | bytes, format: str | None = None, name: str = "f") -> Examples:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_examples(path, format)

    return read_content
