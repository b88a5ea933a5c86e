"""All of LabelGrove's models on many kinds of data, and the model that auto picks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import labelgrove
from benchmarks._data import Stream, is_there, load
from benchmarks._measure import Clock, fresh
from benchmarks._results import command_line, earlier, kept, write
from benchmarks.batch import Subject, run_once
from labelgrove.cli._choice import TRIAL, candidates, cheapest, rank
from labelgrove.cli._models import create_model
from labelgrove.evaluation import race

MULTI_LABEL = (
    "bibtex",
    "delicious",
    "eurlex57k-tfidf",
    "stackexchange-tfidf",
    "gutenberg-tfidf",
    "synth4k",
    "cooking-tfidf",
)
MULTI_CLASS = ("clinc150-tfidf", "onet-tasks", "gutenberg-classes", "aloi-like")
DATASETS = (*MULTI_LABEL, "clinc150-tfidf", "onet-tasks")
"""Data sets measured by default."""


def _model(title: str, estimator: str, trees: int = 1, **options: Any) -> Subject:
    return Subject(title, trees, "labelgrove_models", None, {"estimator": estimator, **options})


COMMON = (
    _model("`OnlinePLTClassifier`", "OnlinePLTClassifier"),
    _model("`PLTClassifier`", "PLTClassifier"),
    _model("`PLTClassifier`, 3 trees", "PLTClassifier", 3, n_trees=3),
    _model("`EmbeddingClassifier`", "EmbeddingClassifier"),
    _model("`MemoryTreeClassifier`", "MemoryTreeClassifier"),
    *(
        _model(f"`{name}`, 10 trees", name, 10, n_estimators=10)
        for name in ("FastXMLClassifier", "LdSMClassifier")
        if hasattr(labelgrove, name)
    ),
)
FEW_TREES = _model("`LdSMClassifier`, 3 trees", "LdSMClassifier", 3, n_estimators=3)
"""Used instead of ten trees where those take over a minute."""

LARGE = 4_000_000
"""Above this many non-zeros in the training set, `FEW_TREES` is used."""

FLAT = _model("`PLTClassifier`, one-versus-rest", "PLTClassifier", tree="flat")
"""Where ``auto`` tries it."""

OF_CLASSES = (
    _model("`PLTClassifier`, softmax", "PLTClassifier", link="softmax"),
    _model("`LOMTreeClassifier`", "LOMTreeClassifier"),
    _model("`LOMTreeClassifier`, 5 passes", "LOMTreeClassifier", epochs=5),
)
"""Models that need exactly one class per row."""


def about(train: Stream) -> dict[str, Any]:
    """Describe a data set: rows, labels, labels per row, features per row."""
    labels = np.concatenate([np.array(row, int) for row in train.labels])
    n = len(train.labels)
    return {
        "rows": n,
        "labels": len(np.unique(labels)),
        "labels_a_row": round(len(labels) / n, 2),
        "features_a_row": round(train.X.nnz / n, 1),
    }


def choose(dataset: str) -> dict[str, Any]:
    """Choose a model like ``labelgrove train --algorithm auto``, in this process."""
    train = load(dataset, "train")
    models = {
        name: create_model(algorithm, settings, texts=False, passes=1, jobs=1, seed=0)
        for name, (algorithm, settings) in _racing(train).items()
    }
    with Clock() as clock:
        rounds = race(models, train.X, [list(row) for row in train.labels], n_examples=TRIAL)
    best: Any = models[cheapest(rounds[-1].standings, rank)]
    kind = type(best).__name__, getattr(best, "link", None), getattr(best, "tree", "kmeans")
    # The first subject of this kind has the same parameters as in the race.
    title = next(
        one.title
        for one in _subjects(dataset)
        if (one.options["estimator"], one.options.get("link"), one.options.get("tree", "kmeans"))
        == kind
    )
    return {"title": title, "cpu": round(clock.cpu, 2)}


def _racing(train: Stream) -> dict[str, tuple[str, list[str]]]:
    of_classes = all(len(row) == 1 for row in train.labels)
    return candidates(about(train)["labels"], of_classes=of_classes, texts=False, lengths=True)


def _subjects(dataset: str) -> tuple[Subject, ...]:
    train = load(dataset, "train")
    subjects = (*COMMON[:-1], FEW_TREES if train.X.nnz > LARGE else COMMON[-1])
    subjects += (FLAT,) if "plt tree=flat" in _racing(train) else ()
    return subjects + OF_CLASSES if dataset in MULTI_CLASS else subjects


def measure(
    dataset: str, repetitions: int, only: Sequence[str], before: dict[str, Any]
) -> list[dict[str, Any]]:
    """Measure every suitable model, each run in a process of its own.

    If ``only`` names estimators, the results of the others are taken from ``before``.
    """
    found = []
    known = {one["title"]: kept(before, one) for one in before.get("models", [])}
    for subject in _subjects(dataset):
        if only and subject.options["estimator"] not in only:
            found += [known[subject.title]] if subject.title in known else []
            continue
        runs = [run_once(dataset, subject, 1) for _ in range(repetitions)]
        found.append({"title": subject.title, "runs": runs})
        seconds = runs[0]["learning"]["cpu"]
        print(f"{dataset}: {subject.title}: {runs[0]['precision']}, {seconds:.2f} s", flush=True)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``models-<dataset>.json``."""
    parser = command_line(__doc__ or "", DATASETS)
    parser.add_argument("--repetitions", type=int, default=1, help="runs per model")
    parser.add_argument("--only", nargs="*", default=[], help="estimators to measure anew")
    chosen = parser.parse_args(arguments)
    for dataset in filter(is_there, chosen.subjects):
        before = earlier(chosen.output, "models", dataset)
        models = measure(dataset, chosen.repetitions, chosen.only, before)
        rows = len(load(dataset, "test").labels)
        content = {
            "rows": rows,
            "data": about(load(dataset, "train")),
            "auto": fresh("benchmarks.models:choose", dataset=dataset),
            "models": models,
        }
        write(chosen.output, "models", dataset, content)


if __name__ == "__main__":
    main()
