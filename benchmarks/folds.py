"""The default front end beside scikit-learn's tf-idf of words and letters, cross-validated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import FeatureUnion

from benchmarks import text
from benchmarks._data import DATA
from benchmarks._results import command_line, compare
from benchmarks.names import LEARNERS, are_there, examples_of
from labelgrove import TextClassifier

DATASETS = tuple(name for name in text.DATASETS if name != "eurlex57k-text")  # too long for letters
FOLDS = 5
_K = 5


def letters() -> FeatureUnion:
    """Words, and runs of three to five letters within words, each part of unit length."""
    words = TfidfVectorizer(sublinear_tf=True)
    runs = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
    return FeatureUnion([("words", words), ("letters", runs)])


def learn_and_test(dataset: str, learner: str) -> dict[str, Any]:
    """Learn from four fifths of all texts and test on the other, five times, with both."""
    parts = ("train", "dev", "test")
    there = [part for part in parts if (DATA / dataset / f"{part}.jsonl.xz").exists()]
    both = [examples_of(dataset, part) for part in there]
    texts = np.array([text for one in both for text in one.text or ()], dtype=object)
    labels = [row for one in both for row in one.labels]
    fold_of = np.random.default_rng(0).permutation(len(texts)) % FOLDS
    ours, theirs = np.zeros((len(texts), 2)), np.zeros((len(texts), 2))
    for fold in range(FOLDS):
        train, test = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        y = [labels[i] for i in train]
        model = TextClassifier(LEARNERS[learner]()).fit(texts[train], y)
        ours[test] = _precision(model.predict_topk(texts[test], _K)[0], test, labels)
        vectorizer = letters().fit(texts[train])
        X, X_test = (vectorizer.transform(texts[rows]).astype("f") for rows in (train, test))
        other = LEARNERS[learner]().fit(X, y)
        theirs[test] = _precision(other.predict_topk(X_test, _K)[0], test, labels)
    gain = ours - theirs
    figures = {
        "ours": ours.mean(axis=0),
        "theirs": theirs.mean(axis=0),
        "gain": gain.mean(axis=0),
        "error": gain.std(axis=0) / np.sqrt(len(gain)),
    }
    rounded = {name: (100 * value).round(2).tolist() for name, value in figures.items()}
    return {"texts": len(texts), **rounded}


def _precision(
    best: npt.NDArray[Any], rows: npt.NDArray[np.int64], labels: Sequence[Any]
) -> npt.NDArray[np.float64]:
    """P@1 and P@5 of each row; shape (n, 2)."""
    hits = [np.isin(found, labels[i]) for found, i in zip(best, rows, strict=True)]
    return np.array([[hit[0], hit.mean()] for hit in hits])


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``folds-<dataset>.json``."""
    chosen = command_line(__doc__ or "", DATASETS).parse_args(arguments)
    for dataset in chosen.subjects:
        if are_there(dataset):
            compare(chosen.output, "folds", dataset, "learn_and_test", learner=[*LEARNERS])


if __name__ == "__main__":
    main()
