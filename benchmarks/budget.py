"""Memory and accuracy of online models within `max_bytes`, and after a batch fit (needs Linux).

A subject is a data set, which the default online model learns, or ``memory-tree`` or ``lomtree``,
which learn the first examples of stackexchange-tfidf.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks._data import is_there, load, precisions
from benchmarks._measure import Clock, Growth, fresh
from benchmarks._models import DEFAULT, learn
from benchmarks._results import command_line, write
from labelgrove import (
    LOMTreeClassifier,
    MemoryTreeClassifier,
    ModelStateError,
    OnlinePLTClassifier,
    PLTClassifier,
)

DATASETS = ("stackexchange-tfidf", "gutenberg-tfidf", "eurlex57k-tfidf-first6000")
SHARES = (2, 4, 8, 16)
DOCUMENTS = 213

ROUTED: dict[str, tuple[type[Any], int]] = {
    "memory-tree": (MemoryTreeClassifier, 3000),
    "lomtree": (LOMTreeClassifier, 12_000),
}
"""Trees that route examples, and how many examples of `ROUTED_DATA` they learn."""
ROUTED_DATA = "stackexchange-tfidf"
TESTED = 2000


def learn_on(dataset: str) -> dict[str, Any]:
    """Fit a batch model and continue it online with some documents of the test set."""
    stream, test = load(dataset, "train"), load(dataset, "test")
    batch = PLTClassifier().fit(stream.X, stream.labels)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.lg"
        batch.save(path)
        batch_mb = path.stat().st_size / 2**20
        with Growth() as memory:
            online = OnlinePLTClassifier.from_batch(batch)
            online.partial_fit(test.X[:DOCUMENTS], test.labels[:DOCUMENTS])
        online.save(path)
        file_mb = path.stat().st_size / 2**20
    size = online.size()
    return {
        "documents": min(DOCUMENTS, len(test.labels)),
        "batch_mb": batch_mb,
        "online_mb": (size["model_bytes"] + size["memory_bytes"]) / 2**20,
        "held_mb": memory.held,
        "file_mb": file_mb,
    }


def within(dataset: str, max_bytes: int | None) -> dict[str, Any] | None:
    """Learn a data set within a budget and test; None if the tree alone does not fit."""
    chunks, test = load(dataset, "train").chunks, load(dataset, "test")
    learn([(X[:8], labels[:8]) for X, labels in chunks[:1]], DEFAULT)  # trigger lazy imports
    try:
        with Growth() as memory:
            model, clock = learn(chunks, {**DEFAULT, "max_bytes": max_bytes})
    except ModelStateError:
        return None
    size = model.size()
    return {
        "max_bytes": max_bytes,
        "peak_mb": memory.peak,
        "held_bytes": size["model_bytes"] + size["memory_bytes"],
        "memory_bytes": size["memory_bytes"],
        "learning": clock.to_dict(),
        "precision": precisions(model.predict_topk(test.X, 5)[0], test.labels),
    }


def routed_within(subject: str, max_bytes: int | None) -> dict[str, Any] | None:
    """Do the same with a tree that routes examples; a LOMtree learns their first labels."""
    make, n = ROUTED[subject]
    stream, test = load(ROUTED_DATA, "train"), load(ROUTED_DATA, "test")
    labels: Any = stream.labels[:n]
    X = stream.X[:n]
    if make is LOMTreeClassifier:
        X = X[[bool(of_row) for of_row in labels]]
        labels = [of_row[0] for of_row in labels if of_row]
    model = make(max_bytes=max_bytes)
    try:
        with Clock() as clock:
            model.partial_fit(X, labels)
    except ModelStateError:
        return None
    size = model.size()
    found = model.predict_topk(test.X[:TESTED], 5)[0]
    return {
        "max_bytes": max_bytes,
        "held_bytes": size["model_bytes"] + size.get("memory_bytes", 0),
        "memory_bytes": size.get("memory_bytes", 0),
        "learning": clock.to_dict(),
        "precision": precisions(found, test.labels[:TESTED]),
    }


def curve(task: str, **subject: str) -> list[dict[str, Any]]:
    """Run without a limit, then within shares of that size until the tree does not fit."""
    runs = [fresh(task, **subject, max_bytes=None)]
    for share in SHARES:
        run = fresh(task, **subject, max_bytes=max(runs[0]["held_bytes"] // share, 2_000_000))
        if run is None:
            break
        runs.append(run)
        print(f"{subject}: 1/{share}: {run['precision']}", flush=True)
    return runs


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``budget-<subject>.json``."""
    chosen = command_line(__doc__ or "", (*DATASETS, *ROUTED)).parse_args(arguments)
    for subject in chosen.subjects:
        if subject in ROUTED and is_there(ROUTED_DATA):
            found: dict[str, Any] = {
                "runs": curve("benchmarks.budget:routed_within", subject=subject)
            }
        elif subject not in ROUTED and is_there(subject):
            on = fresh("benchmarks.budget:learn_on", dataset=subject)
            found = {"learnt_on": on, "runs": curve("benchmarks.budget:within", dataset=subject)}
        else:
            continue
        write(chosen.output, "budget", subject, found)


if __name__ == "__main__":
    main()
