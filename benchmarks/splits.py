"""The influence of the split: forests on the file's split and on random ones of the same sizes.

Published figures of small data sets come from splits that are not available. Small differences
from them mean nothing without knowing how much splits differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

import labelgrove
from benchmarks._data import Stream, is_there, load, precisions
from benchmarks._measure import fresh
from benchmarks._results import command_line, earlier, write

DATASETS = ("bibtex", "delicious")
MODELS = ("LdSMClassifier", "FastXMLClassifier", "PLTClassifier")
SPLITS = 5
SEED = 1


def whole(dataset: str) -> tuple[Stream, int]:
    """All rows of a data set, training rows first, and the number of training rows."""
    train, test = load(dataset, "train"), load(dataset, "test")
    width = max(train.X.shape[1], test.X.shape[1])
    for part in (train, test):
        part.X.resize((part.X.shape[0], width))
    X = sp.vstack([train.X, test.X], format="csr")
    return Stream(X, train.labels + test.labels), len(train.labels)


def learn_and_test(dataset: str, model: str, split: int | None) -> list[float]:
    """P@1/3/5 on the file's split, or on a random one with that seed."""
    rows, n = whole(dataset)
    total = len(rows.labels)
    order = np.arange(total) if split is None else np.random.default_rng(split).permutation(total)
    learnt, tested = order[:n], order[n:]
    fitted = getattr(labelgrove, model)(random_state=SEED)
    fitted.fit(rows.X[learnt], [rows.labels[i] for i in learnt.tolist()])
    best, _ = fitted.predict_topk(rows.X[tested], 5)
    return precisions(best, [rows.labels[i] for i in tested.tolist()])


def measure(dataset: str, model: str, splits: int) -> dict[str, Any]:
    """One model on all splits of a data set."""
    task = "benchmarks.splits:learn_and_test"
    filed, *drawn = (
        fresh(task, dataset=dataset, model=model, split=split) for split in (None, *range(splits))
    )
    print(f"{dataset}: {model}: {filed}, {drawn}", flush=True)
    return {"filed": filed, "drawn": drawn}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``splits-<dataset>.json``."""
    parser = command_line(__doc__ or "", DATASETS)
    parser.add_argument("--models", nargs="*", default=list(MODELS), choices=MODELS)
    parser.add_argument("--splits", type=int, default=SPLITS, help="random splits")
    chosen = parser.parse_args(arguments)
    for dataset in filter(is_there, chosen.subjects):
        runs = earlier(chosen.output, "splits", dataset).get("runs", {})
        runs |= {model: measure(dataset, model, chosen.splits) for model in chosen.models}
        write(chosen.output, "splits", dataset, {"runs": runs})


if __name__ == "__main__":
    main()
