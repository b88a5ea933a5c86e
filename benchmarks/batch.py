"""Batch label trees against omikuji, PECOS XR-Linear and napkinXC: accuracy, time, memory, size.

Every run is a process of its own, and every program goes through the same steps
(`benchmarks.programs._side`). Without ``--peers`` LabelGrove alone is measured, and the earlier
results of the others are kept.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._data import arrays_of, is_there, label_count, load, precisions, text_of
from benchmarks._environments import NAPKINXC, OMIKUJI, PECOS, Environment, run
from benchmarks._measure import about
from benchmarks._results import command_line, earlier, write
from benchmarks._scores import propensity_scored

DATASETS = (
    "eurlex57k-tfidf",
    "stackexchange-tfidf",
    "gutenberg-tfidf",
    "bibtex",
    "delicious",
    "synth4k",
)
BATCHES = 3
"""How often a process predicts all rows at once."""

SINGLE_ROWS = 1000


@dataclass(frozen=True)
class Subject:
    """One program with one set of options.

    Attributes
    ----------
    title : str
    trees : int
        Size of the ensemble; programs are compared at equal sizes.
    module : str
        A module of ``benchmarks.programs``.
    environment : Environment or None
        None for LabelGrove.
    options : dict
    """

    title: str
    trees: int
    module: str
    environment: Environment | None = None
    options: dict[str, Any] = field(default_factory=dict)


def _omikuji(title: str, trees: int, **options: Any) -> Subject:
    return Subject(title, trees, "omikuji_trees", OMIKUJI, {"n_trees": trees, **options})


def _napkinxc(trees: int) -> Subject:
    ensemble = {"ensemble": trees} if trees > 1 else {}
    return Subject("napkinXC PLT", trees, "napkinxc_plt", NAPKINXC, ensemble)


def _labelgrove(trees: int) -> Subject:
    options: dict[str, Any] = {"estimator": "PLTClassifier", "n_trees": trees, "random_state": 1}
    options["compact"] = {}  # the smallest encoding, without changing weights
    return Subject("**LabelGrove**", trees, "labelgrove_models", None, options)


_BONSAI = {"cluster_balanced": False, "cluster_k": 100}

PEERS = {
    "omikuji-parabel-1": _omikuji("omikuji, Parabel-like", 1),
    "omikuji-bonsai-1": _omikuji("omikuji, Bonsai-like", 1, **_BONSAI),
    "pecos": Subject("PECOS XR-Linear", 1, "pecos_xrlinear", PECOS),
    "napkinxc-1": _napkinxc(1),
    "omikuji-parabel-3": _omikuji("omikuji, Parabel-like", 3),
    "omikuji-bonsai-3": _omikuji("omikuji, Bonsai-like", 3, **_BONSAI),
    "napkinxc-3": _napkinxc(3),
}
OURS = {f"labelgrove-{trees}": _labelgrove(trees) for trees in (1, 3)}
SUBJECTS = {**PEERS, **OURS}


def run_once(dataset: str, subject: Subject, threads: int) -> dict[str, Any]:
    """Let one program learn and predict one data set in a new process."""
    train = arrays_of(dataset, "train")
    paths = {"arrays": str(train), "labels": str(label_count(dataset))}
    if subject.environment is OMIKUJI:
        paths["text"] = str(text_of(dataset, "train"))
    with tempfile.TemporaryDirectory() as folder:
        predicted = Path(folder, "predicted.npy")
        found = run(
            subject.environment,
            subject.module,
            threads,
            train=paths,
            test=str(arrays_of(dataset, "test")),
            options=subject.options,
            using=threads,
            batches=BATCHES,
            single_rows=SINGLE_ROWS if threads == 1 else 0,
            predicted=str(predicted),
        )
        best = np.load(predicted)
    test, known = load(dataset, "test").labels, load(dataset, "train").labels
    found["precision"] = precisions(best, test)
    found["psp"] = propensity_scored(best, test, known)
    return {**found, "about": about()}


def measure(
    dataset: str, keys: Sequence[str], threads: Sequence[int], repetitions: int
) -> dict[str, list[dict[str, Any]]]:
    """Run all programs in turns on one data set; runs by program and number of threads."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for _ in range(repetitions):
        for using in threads:
            for key in keys:
                found = run_once(dataset, SUBJECTS[key], using)
                runs.setdefault(f"{key}/{using}", []).append(found)
                learning, batch = found["learning"], found["batch"][0]["cpu"]
                says = f"learns in {learning['cpu']:.2f} s of processor time"
                says += f" ({learning['wall']:.2f} s elapsed), predicts in {batch:.2f} s"
                says += f", {found['precision']}"
                print(f"{dataset}: {key}, {using} threads: {says}", flush=True)
    return runs


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``batch-<dataset>.json``."""
    parser = command_line(__doc__ or "", DATASETS)
    parser.add_argument("--repetitions", type=int, default=3, help="runs per program")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--peers", action="store_true", help="measure the peers (installs them)")
    parser.add_argument("--programs", nargs="*", choices=SUBJECTS, help="programs to measure")
    chosen = parser.parse_args(arguments)
    keys = chosen.programs or list(SUBJECTS if chosen.peers else OURS)
    for dataset in filter(is_there, chosen.subjects):
        runs = earlier(chosen.output, "batch", dataset).get("runs", {})
        runs |= measure(dataset, keys, chosen.threads, chosen.repetitions)
        rows = len(load(dataset, "test").labels)
        write(chosen.output, "batch", dataset, {"rows": rows, "runs": runs})


if __name__ == "__main__":
    main()
