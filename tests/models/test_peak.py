"""Saving and loading take memory for pieces of the model, never for a copy of it."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import labelgrove

pytestmark = pytest.mark.slow  # sanitizers keep what is freed

MODEL_MB = 50
ALLOWED_MB = 35


def megabytes(field: str) -> int:
    """What this process holds (``VmRSS``), or held at most (``VmHWM``)."""
    found = re.search(rf"{field}:\s*(\d+) kB", Path("/proc/self/status").read_text("ascii"))
    assert found is not None
    return int(found[1]) >> 10


def megabytes_more(call: Callable[[], object]) -> int:
    """How much more than before the process held at most meanwhile."""
    try:
        Path("/proc/self/clear_refs").write_text("5", "ascii")  # the peak begins anew
    except OSError:
        pytest.skip("only Linux lets a process reset its peak")
    before = megabytes("VmRSS")
    call()
    return megabytes("VmHWM") - before


def test_files_are_streamed(tmp_path: Path) -> None:
    path = tmp_path / "model.lg"
    X, Y = np.random.default_rng(0).random((2, 20_000)), np.ones((2, 600), np.int8)
    model = labelgrove.OnlinePLTClassifier().partial_fit(X, Y)
    saving = megabytes_more(lambda: model.save(path))
    assert path.stat().st_size > MODEL_MB << 20
    assert saving < ALLOWED_MB
    loading = megabytes_more(lambda: labelgrove.load(path))
    assert loading < path.stat().st_size / (1 << 20) + ALLOWED_MB
