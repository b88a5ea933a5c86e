"""A few rounds of benchmarks/crash.py, which kills the service hundreds of times."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from benchmarks import crash

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the harness needs /proc and LD_PRELOAD"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="cc makes the library that is preloaded"),
]


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness starts itself again, as a module."""
    monkeypatch.chdir(Path(__file__).parents[2])


def status(*words: str) -> object:
    with pytest.raises(SystemExit) as end:
        crash.main([*words, "--lost-writes"])
    return end.value.code


def test_nothing_acknowledged_is_lost_when_the_service_is_killed(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Not even what was not flushed, which is lost with it."""
    assert status("--kills=3", "--seed=3") == 0
    found = json.loads(capfd.readouterr().out)
    assert found["kills"] == 3 and found["acknowledged"] > 0
    assert found["lost writes"]


def test_what_is_not_flushed_is_missed(capfd: pytest.CaptureFixture[str]) -> None:
    assert status("--kills=60", "--unsafe") != 0
    told = capfd.readouterr().err
    assert "damaged" in told or "lost" in told
