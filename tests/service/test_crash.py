"""A few rounds of benchmarks/crash.py, which kills the service hundreds of times."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the harness needs /proc and LD_PRELOAD"),
]


def killed(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.crash", *words]
    root = Path(__file__).parents[2]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)


def told(run: subprocess.CompletedProcess[str]) -> Any:
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_nothing_acknowledged_is_lost_when_the_service_is_killed() -> None:
    found = told(killed("--kills=3", "--seed=3"))
    assert found["kills"] == 3 and found["acknowledged"] > 0


@pytest.mark.skipif(shutil.which("cc") is None, reason="writes are lost by a library made by cc")
def test_nothing_acknowledged_is_lost_with_all_that_was_not_flushed() -> None:
    found = told(killed("--kills=3", "--lost-writes"))
    assert found["lost writes"] and found["acknowledged"] > 0
    without_flushing = killed("--kills=60", "--lost-writes", "--unsafe")
    assert without_flushing.returncode != 0
    assert "damaged" in without_flushing.stderr or "lost" in without_flushing.stderr
