"""Settings for all tests, including doctests."""

from __future__ import annotations

import gc
import os
import signal
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

# Modules that need an optional package to be imported.
collect_ignore = [] if find_spec("river") else ["src/labelgrove/river.py"]
collect_ignore += (
    []
    if find_spec("starlette")
    else ["src/labelgrove/client.py", "src/labelgrove/service", "tests/service"]
)

# OpenBLAS's threads spin while they wait for more work, which takes more processor time than the
# small matrices of the tests. NumPy reads the variable when it is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# No deadlines: a slow example only means a busy machine, and pytest's timeout catches hangs.
# The suite tries the same examples every time; scripts/fuzz tries new ones.
settings.register_profile("labelgrove", deadline=None, derandomize=True)
settings.register_profile("fuzz", deadline=None, database=None, print_blob=True)
settings.load_profile("labelgrove")

# A shell starts background jobs with SIGINT ignored, and Python inherits that. The tests that
# interrupt something would fail there.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Collecting the tests creates millions of objects and no garbage to speak of.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--skips", type=Path, help="file listing the tests that may be skipped")


class SkipsInBounds:
    """Fails the run if a test is skipped that the file does not list."""

    def __init__(self, path: Path) -> None:
        lines = path.read_text(encoding="utf-8").splitlines()
        self.allowed = [line for line in lines if line and not line.startswith("#")]
        self.others: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self._note(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self._note(report.nodeid)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for test in self.others:
            terminalreporter.write_line(f"SKIPPED but not allowed to be: {test}", red=True)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.others and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _note(self, test: str) -> None:
        if not any(fnmatch(test, pattern.replace("[", "[[]")) for pattern in self.allowed):
            self.others.append(test)


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--skips")
    if path is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(SkipsInBounds(path))
