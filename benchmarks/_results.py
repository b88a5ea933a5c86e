"""Reading and writing results: one JSON file per benchmark and subject."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks._measure import about, fresh

RESULTS = Path(__file__).resolve().parent / "results"


def write(folder: Path, benchmark: str, subject: str, found: dict[str, Any]) -> None:
    """Write results with date, machine and version to ``<benchmark>-<subject>.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{benchmark}-{subject}.json"
    content = {"subject": subject, "about": about(), **found}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {path}", flush=True)


def compare(
    folder: Path, benchmark: str, subject: str, task: str, **choices: Sequence[Any]
) -> None:
    """Call a function of the benchmark with every combination of choices and write the results.

    Parameters
    ----------
    folder : Path
    benchmark, subject : str
        As for `write`; the subject is also passed to the function as ``dataset``.
    task : str
        The function's name; it takes one value per choice and returns a dict of figures.
    **choices : sequence
        The values of each parameter.
    """
    rows = []
    for values in product(*choices.values()):
        chosen = dict(zip(choices, values, strict=True))
        found = fresh(f"benchmarks.{benchmark}:{task}", dataset=subject, **chosen)
        rows.append({**chosen, **found})
        figures = {name: value for name, value in found.items() if not isinstance(value, list)}
        print(f"{subject}: {chosen}: {figures}", flush=True)
    write(folder, benchmark, subject, {"rows": rows})


def earlier(folder: Path, benchmark: str, subject: str) -> dict[str, Any]:
    """Read the previous results under these names; empty if there are none."""
    path = folder / f"{benchmark}-{subject}.json"
    found: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return found


def kept(before: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    """A row of earlier results that is not measured again, with its own date and machine."""
    return {"about": before["about"], **row}


def read(folder: Path, benchmark: str, order: tuple[str, ...]) -> list[dict[str, Any]]:
    """Read all results of a benchmark: subjects in the given order, then the others."""
    found = [json.loads(path.read_text("utf-8")) for path in folder.glob(f"{benchmark}-*.json")]
    rank = {name: i for i, name in enumerate(order)}
    return sorted(found, key=lambda one: (rank.get(one["subject"], len(rank)), one["subject"]))


def command_line(
    description: str, subjects: tuple[str, ...], what: str = "data sets"
) -> argparse.ArgumentParser:
    """A parser with the arguments of all benchmarks: subjects and output directory."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("subjects", nargs="*", default=list(subjects), help=what)
    parser.add_argument("--output", type=Path, default=RESULTS, help="directory of the results")
    return parser
