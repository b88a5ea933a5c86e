"""What models take that learn on: from a batch model, and within `max_bytes` (needs Linux)."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks._data import is_there, load, precisions
from benchmarks._measure import fresh, peak_mb, reset_peak, resident_mb
from benchmarks._models import DEFAULT, learn
from benchmarks._results import command_line, write
from labelgrove import ModelStateError, OnlinePLTClassifier, PLTClassifier

DATASETS = ("stackexchange-tfidf", "gutenberg-tfidf", "eurlex57k-tfidf-first6000")
SHARES = (2, 4, 8, 16)
DOCUMENTS = 213


def learn_on(dataset: str) -> dict[str, Any]:
    """Fit a batch model, and learn some documents of the test set on it."""
    stream, test = load(dataset, "train"), load(dataset, "test")
    batch = PLTClassifier().fit(stream.X, stream.labels)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.lg"
        batch.save(path)
        batch_mb = path.stat().st_size / 2**20
        gc.collect()
        before = resident_mb()
        online = OnlinePLTClassifier.from_batch(batch)
        online.partial_fit(test.X[:DOCUMENTS], test.labels[:DOCUMENTS])
        held = resident_mb() - before
        online.save(path)
        file_mb = path.stat().st_size / 2**20
    size = online.size()
    return {
        "documents": min(DOCUMENTS, len(test.labels)),
        "batch_mb": batch_mb,
        "online_mb": (size["model_bytes"] + size["memory_bytes"]) / 2**20,
        "held_mb": held,
        "file_mb": file_mb,
    }


def within(dataset: str, max_bytes: int | None) -> dict[str, Any] | None:
    """Learn a data set within a budget, and test; None where the tree alone does not fit."""
    chunks, test = load(dataset, "train").chunks, load(dataset, "test")
    learn([(X[:8], labels[:8]) for X, labels in chunks[:1]], DEFAULT)  # loads what is loaded late
    gc.collect()
    before = resident_mb()
    reset_peak()
    try:
        model, clock = learn(chunks, {**DEFAULT, "max_bytes": max_bytes})
    except ModelStateError:
        return None
    peak = peak_mb() - before
    size = model.size()
    return {
        "max_bytes": max_bytes,
        "peak_mb": peak,
        "held_bytes": size["model_bytes"] + size["memory_bytes"],
        "memory_bytes": size["memory_bytes"],
        "learning": clock.to_dict(),
        "precision": precisions(model.predict_topk(test.X, 5)[0], test.labels),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``budget-<dataset>.json``."""
    chosen = command_line(__doc__ or "", DATASETS).parse_args(arguments)
    for dataset in filter(is_there, chosen.subjects):
        on = fresh("benchmarks.budget:learn_on", dataset=dataset)
        task = "benchmarks.budget:within"
        runs = [fresh(task, dataset=dataset, max_bytes=None)]
        for share in SHARES:
            budget = runs[0]["held_bytes"] // share
            run = fresh(task, dataset=dataset, max_bytes=max(budget, 2_000_000))
            if run is None:
                break
            runs.append(run)
            print(f"{dataset}: 1/{share}: {run['precision']}", flush=True)
        write(chosen.output, "budget", dataset, {"learnt_on": on, "runs": runs})


if __name__ == "__main__":
    main()
