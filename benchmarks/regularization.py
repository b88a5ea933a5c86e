"""The batch tree with other constants C than its default, and with one chosen by cross-validation.

Times are processor time of one thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.model_selection import GridSearchCV, KFold

from benchmarks import one_versus_rest
from benchmarks._data import is_there, load, precisions
from benchmarks._measure import Clock, fresh
from benchmarks._results import command_line, write
from labelgrove import PLTClassifier

DATASETS = (*one_versus_rest.DATASETS, "gutenberg-tfidf")
CONSTANTS = (None, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
"""None is the default."""


def measure(dataset: str, constant: float | None) -> dict[str, Any]:
    """Learn in this process, then measure on the test set."""
    train, test = load(dataset, "train"), load(dataset, "test")
    with Clock() as learning:
        model = PLTClassifier(C=constant).fit(train.X, train.labels)
    best, _ = model.predict_topk(test.X, 5)
    return {
        "C": constant,
        "precision": precisions(best, test.labels),
        "learning_cpu": learning.cpu,
    }


def choose(dataset: str) -> dict[str, Any]:
    """Choose the constant with the best P@1 in three folds of the training set."""
    train = load(dataset, "train")
    folds = KFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(PLTClassifier(), {"C": list(CONSTANTS)}, cv=folds, refit=False)
    with Clock() as searching:
        search.fit(train.X, train.labels)
    return {"chosen": search.best_params_["C"], "searching_cpu": searching.cpu}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``regularization-<dataset>.json``."""
    chosen = command_line(__doc__ or "", DATASETS).parse_args(arguments)
    for dataset in filter(is_there, chosen.subjects):
        rows = [
            fresh("benchmarks.regularization:measure", dataset=dataset, constant=constant)
            for constant in CONSTANTS
        ]
        found = fresh("benchmarks.regularization:choose", dataset=dataset)
        print(f"{dataset}: {found}", flush=True)
        write(chosen.output, "regularization", dataset, {"rows": rows, **found})


if __name__ == "__main__":
    main()
