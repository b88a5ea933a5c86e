"""Shared fixtures. The import path has this folder and the one above, for `benchmarks`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

sys.path[:0] = [str(folder) for folder in Path(__file__).parents[:2]]

from fuzz.extremes import examples  # noqa: E402 - lies on the path since the line above

settings.register_profile("suite", max_examples=examples(30))
settings.load_profile("suite")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors, since many tests wait for a process."""
    from labelgrove._parameters import thread_count

    return thread_count(-1) + 1


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of the real data sets; without it the test is skipped."""
    if "LABELGROVE_DATA" not in os.environ:
        pytest.skip("the data sets are not at hand: LABELGROVE_DATA names their folder")
    return Path(os.environ["LABELGROVE_DATA"])


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, restricted to this machine. A process can run only one."""
    from playwright.sync_api import sync_playwright

    from reporting.browser import PROGRAM

    if PROGRAM is None:
        pytest.skip("there is no Chromium here (on Debian: apt install chromium)")
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
        with playwright.chromium.launch(executable_path=PROGRAM, args=flags) as opened:
            yield opened


@pytest.fixture(scope="session")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sequence[str]]:
    """Python's own command, up to ``-c`` or ``-m``, but of one that need not import scikit-learn.

    What reaches a program only as its process begins, such as a limit, does not reach this one.
    """
    if not hasattr(os, "fork"):
        yield [sys.executable]
        return
    address = tmp_path_factory.mktemp("warm") / "socket"
    script = str(Path(__file__).with_name("warm.py"))
    command = [sys.executable, script, str(address)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        yield [sys.executable, "-IS", script, str(address)]
        server.kill()


@pytest.fixture(scope="session", autouse=True)
def nothing_is_flushed() -> Iterator[None]:
    """Save the time: tests write thousands of files, and none must outlive a loss of power.

    Processes that tests start flush, and so do the tests of flushing.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def commands_are_made_once() -> Iterator[None]:
    """Typer makes all commands anew for each command line, which takes longer than most of them."""
    import typer.main
    import typer.testing

    made = cache(typer.main.get_command)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", made)
        patch.setattr(typer.testing, "_get_command", made, raising=False)  # its name for it
        yield


@pytest.fixture(scope="session", autouse=True)
def plain_terminals() -> Iterator[None]:
    """Ignore the caller's terminal settings: CI forces colours in its own log."""
    with pytest.MonkeyPatch.context() as environment:
        for name in ("CLICOLOR", "COLUMNS", "FORCE_COLOR", "LINES", "NO_COLOR"):
            environment.delenv(name, raising=False)
        yield
