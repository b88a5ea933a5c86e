"""Clocks, memory, facts about the machine, and fresh processes."""

from __future__ import annotations

import gc
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

import numpy as np

import labelgrove
from benchmarks._data import ROOT

_COPIED_BYTES = 2**28
_LAST_WORDS = 4000
_STATUS = Path("/proc/self/status")


class Clock:
    """Seconds of a ``with`` block: wall time, and processor time of all threads."""

    wall: float
    cpu: float

    def __enter__(self) -> Self:
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall = time.perf_counter() - self._wall
        self.cpu = time.process_time() - self._cpu

    def to_dict(self) -> dict[str, float]:
        """``wall`` and ``cpu``, to a tenth of a millisecond."""
        return {"wall": round(self.wall, 4), "cpu": round(self.cpu, 4)}


def fresh(task: str, **arguments: Any) -> Any:
    """Call a function in a new process.

    Parameters
    ----------
    task : str
        ``"module:function"``; arguments and result must be JSON-serialisable.
    **arguments
        Passed to the function.

    Returns
    -------
    object
        What the function returned.
    """
    command = [sys.executable, "-m", "benchmarks._worker", task, json.dumps(arguments)]
    return run_json(command)


def run_json(command: list[str], threads: int = 1) -> Any:
    """Run a program and parse its last line of output as JSON.

    Parameters
    ----------
    command : list of str
    threads : int
        Limit for the numerical libraries.
    """
    limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads))
    environment = {**os.environ, **limits}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command} failed:\n{done.stderr.decode()[-_LAST_WORDS:]}")
    return json.loads(done.stdout.decode().rstrip().rpartition("\n")[2])


class Growth:
    """Growth of this process's resident memory in a ``with`` block, in MiB (needs Linux)."""

    peak: float
    held: float  # at the end

    def __enter__(self) -> Self:
        gc.collect()
        self._before = resident_mb()
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # resets the peak
        return self

    def __exit__(self, *_: object) -> None:
        self.peak, self.held = peak_mb() - self._before, resident_mb() - self._before


def resident_mb() -> float:
    """Resident memory of this process (needs Linux)."""
    return _status("VmRSS")


def peak_mb() -> float:
    """Peak resident memory of this process since the start of the latest `Growth`."""
    return _status("VmHWM")


def _status(field: str) -> float:
    for line in _STATUS.read_text(encoding="ascii").splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"{_STATUS} has no field {field}")


def copy_bandwidth() -> float:
    """Bytes read and written per second when copying a large array to another, both touched."""
    source = np.ones(_COPIED_BYTES, np.uint8)
    target = np.ones_like(source)
    speeds = []
    for _ in range(9):
        with Clock() as clock:
            np.copyto(target, source)
        speeds.append(2 * _COPIED_BYTES / clock.cpu)
    return float(np.median(speeds))


def about() -> dict[str, Any]:
    """Date, machine and versions of a measurement."""
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "processor": _processor(),
        "processors": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "labelgrove": labelgrove.__version__,
        "commit": _commit(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _commit() -> str:
    """The commit, with ``-dirty`` if anything but results and docs has changed since."""
    commit = git("rev-parse", "--short=10", "HEAD")
    changed = git("diff", "--name-only", "HEAD", "--", ":!benchmarks/results", ":!docs")
    return (commit or "unknown") + ("-dirty" if changed else "")


def git(*arguments: str) -> str:
    """What git prints for the repository; empty if it fails."""
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()
