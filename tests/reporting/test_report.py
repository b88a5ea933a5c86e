"""The page as a file: complete, safe, and refused if it cannot be written."""

from __future__ import annotations

import copy
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelgrove import DataError, MissingDependencyError, OnlinePLTClassifier
from labelgrove.reporting import write_report
from labelgrove.reporting._page import vega_script
from reporting.kit import HOSTILE, examples

pytestmark = pytest.mark.slow  # charts use a JavaScript engine, which conflicts with sanitizers


def content(page: Path) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text())
    assert found is not None
    return json.loads(found[1])


def test_everything_is_in_the_page(report: Path) -> None:
    data = content(report)
    assert HOSTILE in data["labels"]["label"] and "never learnt" in data["labels"]["label"]
    assert set(data["charts"]) == {*data["data"], "rings"} - {"frequency_mean"}
    n = len(data["labels"]["label"])
    assert {len(column) for column in data["labels"].values()} == {n}
    assert len(data["tree"]["parents"]) == len(data["tree"]["lost"])
    html = report.read_text()
    assert html.count("</script>") == 3  # the data's, Vega's and the page's own
    markup = re.sub(r"(?s)(<script[^>]*>).*?</script>", r"\1", html)
    assert not re.search(r"\ssrc=|<link|href=\"[^#]", markup)
    assert report.stat().st_size < 1_300_000


def test_one_example_is_not_some_examples(tmp_path: Path) -> None:
    page = tmp_path / "one.html"
    write_report(OnlinePLTClassifier().fit([[1.0]], [["a"]]), [[1.0]], [["a"]], page)
    html = page.read_text()
    assert html.count("1 example<") == 2 and "1 examples" not in html
    assert "100.0 – 100.0" not in html and "same in all examples" in html  # no spread, no interval


def test_a_model_compared_with_itself_has_not_changed(models: Any, tmp_path: Path) -> None:
    X, labels = examples(30, 5)
    page = tmp_path / "same.html"
    write_report(models[0], X, labels, page, compare=models[0])
    data = content(page)
    assert {row["verdict"] for row in data["data"]["differences"]} == {"undecided"}
    assert data["changes"]["label"] == []
    html = page.read_text()
    assert "both models predict the same labels" in html
    assert 'data-table="changes"' not in html


def test_changes_are_differences(tmp_path: Path) -> None:
    X, labels = examples(400, 5)
    short, long = (OnlinePLTClassifier().fit(X[:n], labels[:n]) for n in (40, 400))
    write_report(short, X, labels, tmp_path / "page.html", compare=long)
    rows = content(tmp_path / "page.html")["data"]["differences"]
    assert "PSP@5" in {row["metric"] for row in rows}
    for row in rows:
        assert row["after"] - row["before"] == pytest.approx(row["change"], abs=2e-4)  # rounded


def test_intervals_are_called_by_their_level(models: Any, tmp_path: Path) -> None:
    X, labels = examples(30, 5)
    page = tmp_path / "page.html"
    write_report(models[0], X, labels, page, compare=models[1], level=0.8)
    html = re.sub(r"(?s)<(script|style)[^>]*>.*?</\1>", "", page.read_text())
    assert html.count("80% interval") > 3 and "95% interval" not in html
    assert "Below each figure: its 80% interval" in html
    assert "80% interval" in content(page)["charts"]["differences"]["description"]


def test_infinite_thresholds_are_drawn_at_the_ends_of_the_scale(
    models: Any, tmp_path: Path
) -> None:
    X, labels = examples(30, 5)
    model = copy.deepcopy(models[0])
    n = model.n_classes_
    model.set_thresholds([-np.inf, np.inf, 2.0, *[0.3] * (n - 3)])
    write_report(model, X, labels, tmp_path / "page.html")
    bins = content(tmp_path / "page.html")["data"]["chosen"]
    assert (bins[0]["low"], bins[-1]["high"]) == (0, 1)
    assert [one["count"] for one in bins if one["count"]] == [1, n - 3, 2]


def test_what_cannot_be_reported_is_refused(models: Any, tmp_path: Path) -> None:
    X, labels = examples(3, 6)
    with pytest.raises(DataError, match="X has 3 rows and Y has 2"):
        write_report(models[0], X, labels[:2], tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("module", ["jinja2", "vl_convert"])
def test_without_the_optional_packages(
    models: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:

    vega_script.cache_clear()
    monkeypatch.setitem(sys.modules, module, None)
    X, labels = examples(3, 6)
    with pytest.raises(
        MissingDependencyError,
        match=rf'needs the package {module}; install it with: pip install "labelgrove\[report\]"',
    ):
        write_report(models[0], X, labels, tmp_path / "page.html")
