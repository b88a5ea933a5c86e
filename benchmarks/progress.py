"""Streams in any order: accuracy along the stream and after it, and of a batch model.

Along the stream, progressive validation predicts every block of examples before it is learnt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks._data import Stream, is_there, load, precisions
from benchmarks._results import command_line, compare
from labelgrove import OnlinePLTClassifier, PLTClassifier

DATASETS = (
    "bibtex",
    "clinc150-tfidf",
    "cooking-tfidf",
    "cpv-italian",
    "delicious",
    "eurlex57k-tfidf",
    "gutenberg-tfidf",
    "kirjastonhoitaja-yso",
    "onet-titles",
    "phyletic-go",
    "stackexchange-tfidf",
    "synth4k-hard",
)

ORDERS = ("filed", "shuffled", "sorted")
"""File order, random order, and sorted by the smallest label of a row."""

BATCH = "batch"
_SEED = 1

BLOCK = 32
"""Examples that are predicted, then learnt, at a time."""

POINTS = 100
"""Figures along a stream, each over the examples since the previous figure."""


def stream(dataset: str, order: str) -> Stream:
    """A training set in one of the orders."""
    if order != "sorted":
        return load(dataset, "train", _SEED if order == "shuffled" else None)
    filed = load(dataset, "train")
    first = [min(labels, default=-1) for labels in filed.labels]
    rows = np.argsort(first, kind="stable")
    return Stream(filed.X[rows], [filed.labels[i] for i in rows.tolist()])


def follow(dataset: str, order: str) -> dict[str, Any]:
    """Learn in this process with progressive validation, then test; batch models only test."""
    test = load(dataset, "test")
    if order == BATCH:
        filed = stream(dataset, "filed")
        fitted = PLTClassifier(random_state=_SEED).fit(filed.X, filed.labels)
        return {"tested": precisions(fitted.predict_topk(test.X, 5)[0], test.labels)}
    learnt = stream(dataset, order)
    step = BLOCK * max(1, len(learnt.labels) // (POINTS * BLOCK))
    model, hits = OnlinePLTClassifier(random_state=_SEED), []
    for begin in range(0, len(learnt.labels), BLOCK):
        X, labels = learnt.X[begin : begin + BLOCK], learnt.labels[begin : begin + BLOCK]
        best = model.predict_topk(X, 1)[0][:, 0].tolist() if begin else [-1] * len(labels)
        hits += [label in row for label, row in zip(best, labels, strict=True)]
        model.partial_fit(X, labels)
    ends = range(step, len(hits) + 1, step)
    return {
        "step": step,
        "recent": [round(100 * float(np.mean(hits[end - step : end])), 2) for end in ends],
        "overall": round(100 * float(np.mean(hits)), 2),
        "tested": precisions(model.predict_topk(test.X, 5)[0], test.labels),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``progress-<dataset>.json``."""
    chosen = command_line(__doc__ or "", DATASETS).parse_args(arguments)
    for dataset in filter(is_there, chosen.subjects):
        compare(chosen.output, "progress", dataset, "follow", order=(*ORDERS, BATCH))


if __name__ == "__main__":
    main()
