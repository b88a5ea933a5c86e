"""Models and their reports, made once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from labelgrove import OnlinePLTClassifier
from labelgrove.reporting import write_report
from reporting.browser import PROGRAM, Browser
from reporting.kit import examples


@pytest.fixture(scope="session")
def models() -> tuple[OnlinePLTClassifier, OnlinePLTClassifier]:
    """A model, and one that has learnt less."""
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


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if PROGRAM is None:
        pytest.skip("there is no Chromium here (on Debian: apt install chromium)")
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened
