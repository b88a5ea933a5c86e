"""Accuracy after one pass, for each preset, in file order and shuffled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks._data import is_there, load, precisions
from benchmarks._measure import Clock, Growth, fresh
from benchmarks._models import DEFAULT, PAPER, learn
from benchmarks._results import command_line, write

DATASETS = (
    "bibtex",
    "delicious",
    "eurlex57k-tfidf",
    "stackexchange-tfidf",
    "gutenberg-tfidf",
    "synth4k",
    "synth4k-hard",
    "clinc150-tfidf",
)
PRESETS = {"paper": PAPER, "default": DEFAULT}


def learn_and_test(dataset: str, options: dict[str, Any], shuffle: int | None) -> dict[str, Any]:
    """Learn in one pass in this process, then test."""
    chunks = load(dataset, "train", shuffle).chunks
    with Growth() as memory:
        model, learning = learn(chunks, options)
    test = load(dataset, "test")
    with Clock() as predicting:
        best, _, stats = model.predict_topk(test.X, 5, return_stats=True)
    return {
        "precision": precisions(best, test.labels),
        "learning": learning.to_dict(),
        "predicting": predicting.to_dict(),
        "predicted_rows": len(test.labels),
        "classifiers": float(np.mean(stats.classifiers)),
        "labels": model.n_classes_,
        "depth": model.tree_.depth,
        "peak_growth_mb": round(memory.peak, 1),
        **model.size(),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``accuracy-<dataset>.json``."""
    parser = command_line(__doc__ or "", DATASETS)
    parser.add_argument(
        "--shuffle", type=int, nargs="*", default=[1], metavar="SEED", help="shuffled orders"
    )
    chosen = parser.parse_args(arguments)
    for dataset in filter(is_there, chosen.subjects):
        rows = []
        for shuffle in (None, *chosen.shuffle):
            for preset, options in PRESETS.items():
                task = "benchmarks.accuracy:learn_and_test"
                found = fresh(task, dataset=dataset, options=options, shuffle=shuffle)
                rows.append({"preset": preset, "shuffle": shuffle, **found})
                print(f"{dataset}: {preset}, shuffle {shuffle}: {found['precision']}", flush=True)
        write(chosen.output, "accuracy", dataset, {"rows": rows})


if __name__ == "__main__":
    main()
