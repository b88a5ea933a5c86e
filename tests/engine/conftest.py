"""A folder for files that successive tests overwrite."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.register_assert_rewrite("engine")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("changed")
