"""LdSM compared with the figures of its paper: precision and times by ensemble and tree size.

Other parameters have their defaults. The paper used another machine and other splits of the same
data; its figures are in `benchmarks._aims`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks._data import is_there, load, precisions
from benchmarks._measure import Clock, Growth, fresh
from benchmarks._results import command_line, write
from labelgrove import LdSMClassifier

DATASETS = ("bibtex", "delicious", "rcv1sub1-train", "eurlex57k-tfidf")

ENSEMBLES = (1, 5, 10, 20, 50)
LARGE = 10_000_000
"""Above this many non-zeros in the training set, ensembles have at most `TREES_OF_LARGE` trees."""

TREES_OF_LARGE = 10
SIZES = (250, 500, 1000, 2000, 4000)
"""Values of T_max, tried with `TREES_OF_SIZES` trees."""

TREES_OF_SIZES = 10
BATCHES = 3
SEED = 1


def learn_and_test(dataset: str, options: dict[str, Any], threads: int) -> dict[str, Any]:
    """Learn and test in this process."""
    train, test = load(dataset, "train"), load(dataset, "test")
    model = LdSMClassifier(**options, n_jobs=threads, random_state=SEED)
    with Growth() as memory, Clock() as learning:
        model.fit(train.X, train.labels)
    batch = []
    for _ in range(BATCHES):
        with Clock() as testing:
            best, _ = model.predict_topk(test.X, 5)
        batch.append(testing.to_dict())
    return {
        "options": options,
        "threads": threads,
        "precision": precisions(best, test.labels),
        "learning": learning.to_dict(),
        "batch": batch,
        "peak_mb": round(memory.peak, 1),
        "model_bytes": model.size()["model_bytes"],
    }


def measure(dataset: str, ensembles: Sequence[int], sizes: Sequence[int]) -> dict[str, Any]:
    """Run all ensemble sizes, all tree sizes, and the largest ensemble with two threads."""
    task = "benchmarks.ldsm:learn_and_test"
    large = load(dataset, "train").X.nnz > LARGE
    if large:
        ensembles = [n for n in ensembles if n <= TREES_OF_LARGE]

    def run(threads: int = 1, **options: int) -> dict[str, Any]:
        found: dict[str, Any] = fresh(task, dataset=dataset, options=options, threads=threads)
        print(f"{dataset}: {options}: {found['precision']}, {found['learning']}", flush=True)
        return found

    return {
        "rows": len(load(dataset, "test").labels),
        "ensembles": [run(n_estimators=n) for n in ensembles],
        "sizes": [] if large else [run(n_estimators=TREES_OF_SIZES, max_nodes=n) for n in sizes],
        "two_threads": run(threads=2, n_estimators=max(ensembles)),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``ldsm-<dataset>.json``."""
    parser = command_line(__doc__ or "", DATASETS)
    parser.add_argument("--ensembles", type=int, nargs="*", default=list(ENSEMBLES))
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    chosen = parser.parse_args(arguments)
    for dataset in filter(is_there, chosen.subjects):
        found = measure(dataset, chosen.ensembles, chosen.sizes)
        write(chosen.output, "ldsm", dataset, found)


if __name__ == "__main__":
    main()
