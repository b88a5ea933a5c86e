"""Calibration of batch label trees: how often a label is right, by estimated probability.

All labels of test rows with an estimate of at least `LEAST` are binned by it. A perfectly
calibrated model lies on the diagonal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks._data import indicator, is_there, label_count, load
from benchmarks._results import command_line, write
from labelgrove import PLTClassifier

DATASETS = ("bibtex", "delicious", "eurlex57k-tfidf", "stackexchange-tfidf")
LINKS: dict[str, dict[str, Any]] = {
    "calibrated": {},
    "squared_hinge": {"link": "squared_hinge"},
    "logistic": {"loss": "log"},
}
"""Ways to turn margins into probabilities, the default first."""

LEAST = 0.02
BINS = 10


def measure(dataset: str, link: str) -> dict[str, Any]:
    """Learn and estimate; per bin, the number of estimates, their mean and the share of hits."""
    train, test = load(dataset, "train"), load(dataset, "test")
    width = label_count(dataset)
    model = PLTClassifier(random_state=1, **LINKS[link])
    model.fit(train.X, indicator(train.labels, width))
    found = model.predict_proba(test.X, threshold=LEAST).tocoo()
    hits = np.asarray(indicator(test.labels, width)[found.row, found.col]).ravel() > 0
    bins = np.minimum((BINS * found.data).astype(int), BINS - 1)
    counts, estimated, right = (
        np.bincount(bins, weights, BINS) for weights in (None, found.data, hits.astype(float))
    )
    error = np.abs(estimated - right).sum() / max(counts.sum(), 1)
    some = np.maximum(counts, 1)
    return {
        "link": link,
        "counts": counts.astype(int).tolist(),
        "estimated": (estimated / some).round(4).tolist(),
        "right": (right / some).round(4).tolist(),
        "error": round(float(error), 4),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``calibration-<dataset>.json``."""
    chosen = command_line(__doc__ or "", DATASETS).parse_args(arguments)
    for dataset in filter(is_there, chosen.subjects):
        links = [measure(dataset, link) for link in LINKS]
        for found in links:
            print(f"{dataset}, {found['link']}: expected calibration error {found['error']}")
        write(chosen.output, "calibration", dataset, {"links": links})


if __name__ == "__main__":
    main()
