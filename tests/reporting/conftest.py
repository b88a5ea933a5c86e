"""Models and their reports, created once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from labelgrove import OnlinePLTClassifier
from labelgrove.reporting import write_report
from reporting.browser import Screen, Show
from reporting.kit import examples


@pytest.fixture(scope="session")
def models() -> tuple[OnlinePLTClassifier, OnlinePLTClassifier]:
    """Two models, one of which has learnt less."""
    X, labels = examples(500, 0)
    shape = {"arity": 4, "max_leaves": 4}
    little = OnlinePLTClassifier(**shape).fit(X[:80], labels[:80])
    return OnlinePLTClassifier(**shape).fit(X, labels), little


@pytest.fixture(scope="session")
def report(models: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the first model, compared with the second."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    X, labels = examples(150, 1)
    labels[0] = [*labels[0], "never learnt"]
    write_report(
        models[0], X, labels, path, compare=models[1], names=("new", "old"), data_name="a test"
    )
    return path


@pytest.fixture
def show(browser: Browser) -> Iterator[Show]:
    """Open a page in a window of its own."""
    with ExitStack() as opened:

        def show_page(path: Path, *, width: int = 1280, dark: bool = False) -> Screen:
            screen = Screen(browser, width, dark)
            opened.callback(screen.page.context.close)
            screen.show(path)
            return screen

        yield show_page
