"""From a text file to a saved model: the programs of `benchmarks.batch`, one tree, one thread.

Every run is a process of its own, and programs run in turns. PECOS reads no such text; its reading
is that of arrays. Without ``--peers`` LabelGrove alone is measured, and the earlier results of the
others are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks._data import arrays_of, is_there, label_count, text_of
from benchmarks._environments import run
from benchmarks._measure import about
from benchmarks._results import command_line, earlier, write
from benchmarks.batch import DATASETS, OURS, SUBJECTS

STEPS = ("reading", "learning", "saving")


def run_once(dataset: str, key: str) -> dict[str, Any]:
    """Let one program read, learn and save in a new process; processor seconds of each step."""
    subject = SUBJECTS[key]
    train = {
        "arrays": str(arrays_of(dataset, "train")),
        "text": str(text_of(dataset, "train")),
        "labels": str(label_count(dataset)),
    }
    options = subject.options
    found = run(subject.environment, subject.module, train=train, options=options, using=1)
    return {"about": about(), **{step: found[step]["cpu"] for step in STEPS}}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``whole-<dataset>.json``."""
    parser = command_line(__doc__ or "", DATASETS)
    parser.add_argument("--repetitions", type=int, default=1, help="runs per program")
    parser.add_argument("--peers", action="store_true", help="measure the peers (installs them)")
    single = [key for key, subject in SUBJECTS.items() if subject.trees == 1]
    parser.add_argument("--programs", nargs="*", choices=single, help="programs to measure")
    chosen = parser.parse_args(arguments)
    keys = chosen.programs or [key for key in single if chosen.peers or key in OURS]
    for dataset in filter(is_there, chosen.subjects):
        runs: dict[str, list[dict[str, Any]]] = {key: [] for key in keys}
        for _ in range(chosen.repetitions):
            for key in keys:
                runs[key].append(run_once(dataset, key))
                print(f"{dataset}: {key}: {runs[key][-1]}", flush=True)
        before = earlier(chosen.output, "whole", dataset).get("runs", {})
        write(chosen.output, "whole", dataset, {"runs": before | runs})


if __name__ == "__main__":
    main()
