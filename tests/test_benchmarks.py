"""Benchmarks that need no data set still run, and pages show what was measured."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from benchmarks import pieces, render
from benchmarks._multiclass_tables import classes
from benchmarks._results import kept
from benchmarks._tables import measured
from benchmarks.classes import learn_ours

from labelgrove import distributed
from labelgrove.data import convert


def test_time_against_classes() -> None:
    found = learn_ours(20, "LOMtree", learnt=400, tested=100)
    assert min(found.values()) > 0
    names = {"learning_cpu": "learning_us", "predicting_cpu": "predicting_us"}
    point = {"classes": 20, "model_mb": found["model_bytes"] / 2**20}
    point |= {name: 1e6 * found[key] / 100 for key, name in names.items()}
    shown = classes([{"subject": "LOMtree", "points": [point]}])
    assert all(title in shown for title in ("learning, µs", "prediction, µs", "model MB", "k = 20"))


def test_tasks_of_pieces_are_timed_by_stage(tmp_path: Path) -> None:
    (tmp_path / "three.svm").write_text("3,1 1:0.5 8:1.25\n1 3:2\n3 1:0.25 8:1\n")
    convert([tmp_path / "three.svm"], tmp_path / "rows")
    found = pieces.measure(tmp_path, distributed.LEAST_MEMORY)
    assert {stage: count for stage, (count, _) in found["tasks"].items()} == {
        "embed": 1,
        "build_tree": 1,
        "learn": 1,
    }


@pytest.mark.parametrize("name", render.TABLES)
def test_the_page_has_the_tables_of_the_results(name: str) -> None:
    page = render.PAGE.parent / render.ELSEWHERE.get(name, render.PAGE.name)
    tables = render.section(name, render.RESULTS)
    assert tables in page.read_text(encoding="utf-8")
    assert len(re.findall("^Measured ", tables, re.MULTILINE)) == 1


def test_the_precisions_of_the_readme_are_in_the_tables() -> None:
    number = r"(\d+\.\d)"
    readme = Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8")
    told = {"/".join(three) for three in re.findall(" / ".join([number] * 3), readme)}
    shown = re.findall("/".join([number] * 3), render.PAGE.read_text(encoding="utf-8"))
    assert len(told) > 10
    assert told <= {"/".join(three) for three in shown}


def test_figures_that_are_kept_keep_their_date_and_machine() -> None:
    def about(date: str, processor: str) -> dict[str, Any]:
        return {"date": date, "processors": 2, "processor": processor, "labelgrove": "1.0"}

    old = {"about": about("2030-01-01", "A"), "models": [{"title": "PLT"}]}
    again = kept({"about": about("2030-01-02", "B")}, kept(old, old["models"][0]))
    new = {"about": about("2030-01-03", "C"), "models": [again, {"title": "LdSM"}]}
    assert measured([new]) == (
        "Measured 2030-01-01 to 2030-01-03, 2 processors A, 2 processors C, LabelGrove 1.0."
    )
