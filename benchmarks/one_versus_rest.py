"""The batch tree against one classifier for each label: accuracy, time and size.

Times are processor time of one thread. gutenberg-tfidf, with 36,552 labels, would take too long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks._data import is_there, load, precisions
from benchmarks._measure import Clock
from benchmarks._results import command_line, compare
from labelgrove import PLTClassifier

DATASETS = (
    "bibtex",
    "delicious",
    "eurlex57k-tfidf",
    "stackexchange-tfidf",
    "synth4k",
    "synth4k-hard",
    "clinc150-tfidf",
    "onet-tasks",
    "onet-titles",
    "cooking-tfidf",
    "cpv-italian",
    "hmc-cellcycle-go",
    "kirjastonhoitaja-yso",
    "phyletic-go",
)
TREES = ("kmeans", "flat")
"""The default, and one-versus-rest."""


def measure(dataset: str, tree: str) -> dict[str, Any]:
    """Learn in this process, then measure on the test set."""
    train, test = load(dataset, "train"), load(dataset, "test")
    with Clock() as learning:
        model = PLTClassifier(tree=tree).fit(train.X, train.labels)
    with Clock() as predicting:
        best, _ = model.predict_topk(test.X, 5)
    return {
        "precision": precisions(best, test.labels),
        "labels": len(model.classes_),
        "learning_cpu": learning.cpu,
        "predicting_us": 1e6 * predicting.cpu / len(test.labels),
        "mb": model.compact().size()["model_bytes"] / 2**20,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``one_versus_rest-<dataset>.json``."""
    chosen = command_line(__doc__ or "", DATASETS).parse_args(arguments)
    for dataset in filter(is_there, chosen.subjects):
        compare(chosen.output, "one_versus_rest", dataset, "measure", tree=TREES)


if __name__ == "__main__":
    main()
