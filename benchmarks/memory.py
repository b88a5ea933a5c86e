"""Memory while learning: the growth of a new process (needs Linux)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks._data import is_there, load
from benchmarks._measure import Growth, fresh
from benchmarks._models import DEFAULT, PAPER, learn
from benchmarks._results import command_line, write

DATASETS = (
    "bibtex",
    "delicious",
    "synth4k",
    "eurlex57k-tfidf",
    "stackexchange-tfidf",
    "gutenberg-tfidf",
)


def hold(dataset: str, options: dict[str, Any]) -> dict[str, Any]:
    """Learn a data set in this process; its arrays are loaded before and do not count."""
    chunks = load(dataset, "train").chunks
    learn([(X[:8], labels[:8]) for X, labels in chunks[:1]], options)  # trigger lazy imports
    with Growth() as memory:
        model, _ = learn(chunks, options)
    return {**model.size(), "held_mb": memory.held, "peak_mb": memory.peak}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``memory-<dataset>.json``."""
    chosen = command_line(__doc__ or "", DATASETS).parse_args(arguments)
    for dataset in filter(is_there, chosen.subjects):
        task = "benchmarks.memory:hold"
        found = {
            "paper": fresh(task, dataset=dataset, options=PAPER),
            "default": fresh(task, dataset=dataset, options=DEFAULT),
        }
        write(chosen.output, "memory", dataset, found)


if __name__ == "__main__":
    main()
