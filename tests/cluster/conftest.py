"""Limits so low that small data are cut into pieces."""

from __future__ import annotations

import pytest

from labelgrove.distributed import _fit, _plan, _tasks


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, value in (
        (_fit, "LEAST_MEMORY", 0),
        (_fit, "_ALONE", 0),
        (_fit, "RUN", 64),
        (_plan, "_LEAST", 1),
        (_tasks, "RUN", 64),
    ):
        monkeypatch.setattr(module, name, value)
