"""The whole command ``labelgrove train``, from JSON lines to a saved model.

Settings run in turns, each run in a new process; the fastest run is reported. ``--before`` names
the Python of an environment with an earlier version, whose ``train`` joins the turns.
"""

from __future__ import annotations

import lzma
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import labelgrove
from benchmarks._data import DATA
from benchmarks._measure import fresh
from benchmarks._results import command_line, write
from labelgrove.data import read_examples

DATASETS = ("eurlex57k-text",)

SETTINGS: dict[str, tuple[str, ...]] = {
    "words": ("--set", "text.preset=words"),
    "words, the 100 heaviest": (
        *("--set", "text.preset=words"),
        *("--set", "text.most_features=100"),
    ),
    "default": (),
    "words+subwords": ("--set", "text.preset=words+subwords"),
}
BEFORE = "before"
"""The setting of the earlier version, which has words only."""

ALGORITHMS = ("plt", "online-plt")
_JOBS = 2


def train(python: Sequence[str], lines: Path, model: Path, *arguments: str) -> dict[str, float]:
    """Run the command: wall time, processor time, peak memory and file size."""
    main = "from labelgrove.cli import main; main()"
    command = [*python, "-c", main, "train", str(lines), "-o", str(model)]
    command += ["--jobs", str(_JOBS), *arguments]
    with tempfile.TemporaryFile() as output:
        begin = time.perf_counter()
        running = subprocess.Popen(command, stdout=output, stderr=output)
        _, status, used = os.wait4(running.pid, 0)
        wall = time.perf_counter() - begin
        running.returncode = os.waitstatus_to_exitcode(status)
        if running.returncode != 0:
            output.seek(0)
            raise RuntimeError(f"{command} failed:\n{output.read().decode()}")
    return {
        "wall": round(wall, 2),
        "cpu": round(used.ru_utime + used.ru_stime, 2),
        "peak_mb": round(used.ru_maxrss / 1024),
        "file_mb": round(model.stat().st_size / 1e6, 1),
    }


def test(dataset: str, model: str) -> list[float]:
    """P@1/3/5 of a saved model."""
    rows = read_examples(DATA / dataset / "test.jsonl.xz")
    found = labelgrove.evaluate(labelgrove.load(model), rows.text, rows.labels)
    return [round(100 * float(found[f"p@{k}"]), 2) for k in (1, 3, 5)]


def measure(dataset: str, repetitions: int, before: str | None) -> dict[str, Any]:
    """Run everything on one data set, by algorithm and setting."""
    rows: list[dict[str, Any]] = [
        {"algorithm": algorithm, "setting": setting, "runs": []}
        for algorithm in ALGORITHMS
        for setting in (*SETTINGS, *([BEFORE] if before else []))
    ]
    with tempfile.TemporaryDirectory() as folder:
        lines, model = Path(folder, "train.jsonl"), Path(folder, "model.lg")
        with lzma.open(DATA / dataset / "train.jsonl.xz") as packed, lines.open("wb") as plain:
            shutil.copyfileobj(packed, plain)
        for turn in range(repetitions):
            for row in rows:
                old = row["setting"] == BEFORE
                python = [before, "-I"] if old and before else [sys.executable]
                chosen = () if old else SETTINGS[row["setting"]]
                row["runs"].append(
                    train(python, lines, model, "--algorithm", row["algorithm"], *chosen)
                )
                if turn == 0 and not old:
                    # In a new process: a child's peak memory starts at that of its parent.
                    task = "benchmarks.training:test"
                    row["precision"] = fresh(task, dataset=dataset, model=str(model))
                summary = f"{row['algorithm']}, {row['setting']}: {row['runs'][-1]}"
                print(f"{dataset}: {summary}", flush=True)
        size = lines.stat().st_size
    return {"bytes": size, "threads": _JOBS, "rows": rows}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``training-<dataset>.json``."""
    parser = command_line(__doc__ or "", DATASETS)
    parser.add_argument("--repetitions", type=int, default=3, help="runs per setting")
    parser.add_argument("--before", metavar="PYTHON", help="Python that has an earlier version")
    chosen = parser.parse_args(arguments)
    for dataset in chosen.subjects:
        if not (DATA / dataset / "train.jsonl.xz").exists():
            print(f"{dataset}: skipped, it is not in {DATA}")
            continue
        found = measure(dataset, chosen.repetitions, chosen.before)
        write(chosen.output, "training", dataset, found)


if __name__ == "__main__":
    main()
