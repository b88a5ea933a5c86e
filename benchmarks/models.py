"""All of LabelGrove's models on all data sets: when to prefer which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks._data import is_there, load
from benchmarks._results import command_line, write
from benchmarks.batch import Subject, run_once

MULTI_LABEL = (
    "bibtex",
    "delicious",
    "eurlex57k-tfidf",
    "stackexchange-tfidf",
    "gutenberg-tfidf",
    "synth4k",
)
MULTI_CLASS = ("clinc150-tfidf", "onet-tasks", "gutenberg-classes", "aloi-like")
DATASETS = (*MULTI_LABEL, "clinc150-tfidf")
"""Those that are measured unless others are named."""


def _model(title: str, estimator: str, trees: int = 1, **options: Any) -> Subject:
    return Subject(title, trees, "labelgrove_models", None, {"estimator": estimator, **options})


COMMON = (
    _model("`OnlinePLTClassifier`", "OnlinePLTClassifier"),
    _model("`PLTClassifier`", "PLTClassifier"),
    _model("`PLTClassifier`, 3 trees", "PLTClassifier", 3, n_trees=3),
    _model("`LdSMClassifier`, 10 trees", "LdSMClassifier", 10, n_estimators=10),
)
FEW_TREES = _model("`LdSMClassifier`, 3 trees", "LdSMClassifier", 3, n_estimators=3)
"""In place of ten trees where those take over a minute."""

LARGE = 4_000_000
"""Non-zeros in the training set from which that is so."""

OF_CLASSES = (
    _model("`PLTClassifier`, softmax", "PLTClassifier", link="softmax"),
    _model("`LOMTreeClassifier`", "LOMTreeClassifier"),
    _model("`LOMTreeClassifier`, 5 passes", "LOMTreeClassifier", epochs=5),
)
"""Those that want one class a row."""


def measure(dataset: str, repetitions: int) -> list[dict[str, Any]]:
    """Every model that fits the data, each run a process of its own."""
    found = []
    few = load(dataset, "train").X.nnz > LARGE
    subjects: tuple[Subject, ...] = (*COMMON[:-1], FEW_TREES if few else COMMON[-1])
    if dataset in MULTI_CLASS:
        subjects += OF_CLASSES
    for subject in subjects:
        runs = [run_once(dataset, subject, 1) for _ in range(repetitions)]
        found.append({"title": subject.title, "runs": runs})
        seconds = runs[0]["learning"]["cpu"]
        print(f"{dataset}: {subject.title}: {runs[0]['precision']}, {seconds:.2f} s", flush=True)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``models-<dataset>.json``."""
    parser = command_line(__doc__ or "", DATASETS)
    parser.add_argument("--repetitions", type=int, default=1, help="runs of every model")
    chosen = parser.parse_args(arguments)
    for dataset in filter(is_there, chosen.subjects):
        models = measure(dataset, chosen.repetitions)
        rows = len(load(dataset, "test").labels)
        write(chosen.output, "models", dataset, {"rows": rows, "models": models})


if __name__ == "__main__":
    main()
