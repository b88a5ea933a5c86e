"""Label names as training texts: the gain from learning them, online and in batch."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from time import process_time
from typing import Any

import numpy as np

from benchmarks._data import DATA
from benchmarks._results import command_line, compare
from labelgrove import OnlinePLTClassifier, PLTClassifier, TextClassifier, evaluate
from labelgrove.data import Examples, read_examples
from labelgrove.vocabulary import Concept, Vocabulary, read_vocabulary

DATASETS = ("onet-titles", "gutenberg-text", "eurlex57k-text")
LEARNERS = {"online": OnlinePLTClassifier, "batch": PLTClassifier}
NAMES = (None, "met", "all")

_REMOVED = 0.1
"""Share of labels removed from the training data if all labels of the test set occur there."""


def are_there(dataset: str) -> bool:
    """Whether the texts of a data set are available; if not, say so on standard output."""
    there = (DATA / dataset / "train.jsonl.xz").exists()
    if not there:
        print(f"{dataset}: skipped, it is not in {DATA}")
    return there


def examples_of(dataset: str, part: str) -> Examples:
    """Read a part of a data set."""
    return read_examples(DATA / dataset / f"{part}.jsonl.xz")


def vocabulary_of(dataset: str) -> Vocabulary:
    """The label names of a data set: from its file of labels, or the labels themselves."""
    path = DATA / dataset / "labels.tsv"
    if path.exists():
        return read_vocabulary(path)
    rows = [row for part in ("train", "test") for row in examples_of(dataset, part).labels]
    labels = dict.fromkeys(str(label) for row in rows for label in row)
    return Vocabulary(Concept(label, {"": label}) for label in labels)


def train_of(dataset: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Training texts and labels; a tenth of the labels is removed if all test labels occur."""
    train, test = examples_of(dataset, "train"), examples_of(dataset, "test")
    texts, labels = list(train.text or ()), [tuple(row) for row in train.labels]
    known = {label for row in labels for label in row}
    if not all(known.issuperset(row) for row in test.labels):
        return texts, labels
    kept = [tuple(label for label in row if not _is_removed(label)) for row in labels]
    pairs = [(text, row) for text, row in zip(texts, kept, strict=True) if row]
    return [text for text, _ in pairs], [row for _, row in pairs]


def _is_removed(label: Any) -> bool:
    digest = hashlib.sha256(str(label).encode()).digest()
    return int.from_bytes(digest[:4], "big") < _REMOVED * 2**32


def learn_and_test(dataset: str, learner: str, names: str | None) -> dict[str, Any]:
    """Learn in this process, then measure on the test set."""
    texts, labels = train_of(dataset)
    test = examples_of(dataset, "test")
    counts = Counter(label for row in labels for label in row)
    vocabulary: Any = vocabulary_of(dataset)
    begin = process_time()
    model = TextClassifier(LEARNERS[learner](n_jobs=2), None, vocabulary, names)  # type: ignore[arg-type]
    model.fit(texts, labels)
    seconds = process_time() - begin
    found = evaluate(model, test.text, test.labels, label_counts=counts, n_train=len(labels))
    best = model.predict_topk(test.text or [], 5)[0].tolist()
    unseen = [
        label in row
        for row, true in zip(best, test.labels, strict=True)
        for label in true
        if label not in counts and label in vocabulary
    ]
    return {
        **{name: float(found[name]) for name in ("p@1", "p@5", "psp@1", "psp@5")},
        "unseen": len(unseen),
        "unseen_labels": len({label for row in test.labels for label in row} - set(counts)),
        "unseen_recall@5": float(np.mean(unseen)) if unseen else None,
        "labels": int(model.n_classes_),
        "learning_cpu": round(seconds, 2),
        "front_end": type(model.text_).__name__,
        "bytes": int(model.size()["model_bytes"]),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``names-<dataset>.json``."""
    chosen = command_line(__doc__ or "", DATASETS).parse_args(arguments)
    for dataset in chosen.subjects:
        if are_there(dataset):
            compare(
                chosen.output, "names", dataset, "learn_and_test", learner=[*LEARNERS], names=NAMES
            )


if __name__ == "__main__":
    main()
