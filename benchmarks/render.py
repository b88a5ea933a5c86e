"""Write the results' tables and plots into ``docs/benchmarks.md`` and some other pages.

The content between the lines ``<!-- begin NAME -->`` and ``<!-- end NAME -->`` is replaced; the
prose around it stays.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import (
    _batch_tables,
    _calibration,
    _embedding_table,
    _models_table,
    _multiclass_tables,
    _plots,
    _service_table,
    _tables,
    _text_table,
    _thresholds_tables,
    _tree_tables,
)
from benchmarks._data import ROOT
from benchmarks._results import RESULTS, read
from benchmarks._tables import Results
from benchmarks.accuracy import DATASETS

PAGE = ROOT / "docs" / "benchmarks.md"
FIGURES = "figures"

TABLES: dict[str, Callable[[Results], str]] = {
    "learning": _tables.learning,
    "prediction": _tables.prediction,
    "sharing": _tables.sharing,
    "memory": _tables.memory,
    "budget": _tables.budget,
    "files": _tables.files,
    "accuracy": _tables.accuracy,
    "progress": _tables.progress,
    "growth": _tables.growth,
    "thresholds": _thresholds_tables.thresholds,
    "batch": _batch_tables.batch,
    "whole": _batch_tables.whole,
    "schedule": _tables.schedule,
    "calibration": _calibration.calibration,
    "one_versus_rest": _tree_tables.one_versus_rest,
    "regularization": _tree_tables.regularization,
    "knob": _tree_tables.knob,
    "warm_start": _tree_tables.warm_start,
    "multiclass": _multiclass_tables.multiclass,
    "classes": _multiclass_tables.classes,
    "river": _multiclass_tables.river,
    "drift": _tables.drift,
    "late": _tables.late,
    "ldsm": _tree_tables.ldsm,
    "fastxml": _tree_tables.fastxml,
    "splits": _tree_tables.splits,
    "models": _models_table.models,
    "second_stage": _tables.second_stage,
    "exclusive": _tables.exclusive,
    "names": _tables.names,
    "text": _text_table.text,
    "service": _service_table.service,
    "folds": _text_table.folds,
    "text_speed": _text_table.text_speed,
    "training": _text_table.training,
    "embedding": _embedding_table.embedding,
}
ELSEWHERE = {
    "models": "which-model.md",
    "exclusive": "decisions/calibration.md",
    "drift": "how-to/streams.md",
    "late": "how-to/labels.md",
}
"""Tables that are on another page below the same folder."""

PLOTS: dict[str, tuple[Callable[[Results, Path], None], str]] = {
    "progress": (_plots.progress, "P@1 along every stream, by its order"),
    "growth": (_plots.growth, "Microseconds per example against the number of labels"),
    "knob": (_plots.knob, "P@1 against depth, and against the time of a search"),
    "calibration": (
        _calibration.reliability,
        "Share of right labels against their estimated probability",
    ),
    "embedding": (_plots.embedding, "P@1 of learnt vectors against depth, and against time"),
    "classes": (_plots.classes, "Microseconds per example against the number of classes"),
}
_MADE = ("onet-tasks", "onet-ten", "gutenberg-classes", "aloi-like", "100000", "300000", "1000000")
_ORDER = (*DATASETS, *_MADE, "paper", "default")


def section(name: str, results: Path) -> str:
    """Return the tables of a benchmark, without its plot."""
    found = read(results, name, _ORDER)
    if not found:
        return f"There are no results yet; `python -m benchmarks.{name}` measures them."
    return f"{TABLES[name](found)}\n\n{_tables.measured(found)}"


def render(results: Path, page: Path) -> None:
    """Update a page and those of ``ELSEWHERE``, and draw the plots next to it."""
    texts: dict[Path, str] = {}
    for name in TABLES:
        target = page.parent / ELSEWHERE.get(name, page.name)
        text = texts.get(target) or target.read_text(encoding="utf-8")
        content = section(name, results)
        found = read(results, name, _ORDER)
        if name in PLOTS and found:
            draw, says = PLOTS[name]
            draw(found, page.parent / FIGURES / f"{name}.svg")
            content = f"![{says}]({FIGURES}/{name}.svg)\n\n{content}"
        texts[target] = replaced(text, name, content)
    for target, text in texts.items():
        target.write_text(text, encoding="utf-8")
        print(f"wrote {target}")


def replaced(text: str, name: str, content: str) -> str:
    """Replace the content between a benchmark's two markers."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    text, n = pattern.subn(lambda _: f"{begin}\n{content}\n{end}", text)
    if n != 1:
        raise ValueError(f"found {n} pairs of {begin!r} and {end!r} in the page, expected one")
    return text


def main(arguments: Sequence[str] | None = None) -> None:
    """Render the page, or print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(TABLES), help="tables to --show")
    parser.add_argument("--results", type=Path, default=RESULTS, help="directory of the results")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page to update")
    parser.add_argument("--show", action="store_true", help="print the tables, write nothing")
    chosen = parser.parse_args(arguments)
    if not chosen.show:
        render(chosen.results, chosen.page)
        return
    for name in chosen.names:
        print(f"\n## {name}\n\n{section(name, chosen.results)}")


if __name__ == "__main__":
    main()
