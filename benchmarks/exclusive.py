"""Probabilities of classes that exclude each other: log-loss and error, plain and calibrated.

For comparison: logistic regression, and the calibrated probabilities of an online tree's classes,
each regardless of the others, divided by their sum. The error is that of the most probable class,
over 20 bins of equal size. Rows with several labels keep the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_breast_cancer, load_digits, make_classification, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from benchmarks._data import Stream, is_there, load
from benchmarks._results import command_line, write
from labelgrove import LdSMClassifier, MemoryTreeClassifier, OnlinePLTClassifier, PLTClassifier

FILES = ("clinc150-tfidf", "cpv-italian", "onet-titles")
ROWS = 2000
"""Test rows of `FILES`."""

LEARNERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "online": (OnlinePLTClassifier, {}),
    "batch": (PLTClassifier, {}),
    "memory tree": (MemoryTreeClassifier, {}),
    "LdSM": (LdSMClassifier, {"n_estimators": 20}),
}
FEW = 20
"""Largest number of classes for which ensembles and logistic regression are fitted."""

BINS = 20

Set = tuple[Any, npt.NDArray[Any], Any, npt.NDArray[Any]]


def split(X: Any, y: npt.NDArray[Any]) -> Set:
    """Training and test part, after standardising columns and shuffling."""
    order = np.random.default_rng(0).permutation(len(y))
    X, y = StandardScaler().fit_transform(X)[order].astype(np.float32), y[order]
    n = 2 * len(y) // 3
    return X[:n], y[:n], X[n:], y[n:]


def sets() -> Iterator[tuple[str, Set]]:
    """Every data set that needs no file, with its name."""
    X, y = load_digits(return_X_y=True)
    yield "digits", split(X, y)
    some = np.isin(y, (3, 8))
    yield "digits, 3 or 8", split(X[some], y[some])
    yield "digits, 9 or not", split(X, y == 9)
    yield "breast cancer", split(*load_breast_cancer(return_X_y=True))
    yield "two moons", split(*make_moons(4000, noise=0.3, random_state=0))
    for n, noise, most in ((2, 0.15, 0.5), (2, 0.02, 0.99), (3, 0.15, 0), (5, 0, 0), (20, 0.05, 0)):
        weights = [most] if most else None
        drawn = make_classification(
            6000, 40, n_informative=12, n_classes=n, flip_y=noise, weights=weights, random_state=4
        )
        name = f"{n} made classes, {100 * noise:g} % noise"
        yield name + (f", 1 of {1 / (1 - most):.0f}" if most > 0.5 else ""), split(*drawn)


def one_class(stream: Stream) -> tuple[Any, npt.NDArray[Any]]:
    """The rows that have labels, and their first one."""
    some = [i for i, labels in enumerate(stream.labels) if len(labels) > 0]
    return stream.X[some], np.array([stream.labels[i][0] for i in some])


def files(names: Sequence[str]) -> Iterator[tuple[str, Set]]:
    """The data sets of these names that are there, their training part shuffled."""
    for name in filter(is_there, names):
        train, (X, y) = one_class(load(name, "train", shuffle=0)), one_class(load(name, "test"))
        known = np.flatnonzero(np.isin(y, train[1]))[:ROWS]
        yield name, (*train, X[known], y[known])


def figures(P: npt.NDArray[np.float64], classes: Any, true: npt.NDArray[Any]) -> dict[str, float]:
    """Log-loss, and calibration error of the most probable class in points."""
    own = P[np.arange(len(true)), np.searchsorted(classes, true)]
    best, right = P.max(axis=1), classes[P.argmax(axis=1)] == true
    bins = np.array_split(np.argsort(best, kind="stable"), BINS)
    error = sum(abs((best[bin_] - right[bin_]).sum()) for bin_ in bins) / len(true)
    loss = -np.log(np.maximum(own, 1e-12)).mean()
    return {"loss": round(float(loss), 4), "error": round(100 * float(error), 2)}


def measure(X: Any, y: npt.NDArray[Any], test: Any, true: npt.NDArray[Any]) -> dict[str, Any]:
    """The figures of every way to make probabilities."""
    found: dict[str, Any] = {"rows": len(y), "classes": len(np.unique(y))}
    for name, (estimator, options) in LEARNERS.items():
        if name == "LdSM" and found["classes"] > FEW:
            continue
        plain, calibrated = (
            estimator(random_state=1, second_stage=stage, **options).fit(X, y)
            for stage in (None, "calibrate")
        )
        order = np.argsort(plain.classes_)
        ways = {"plain": plain.predict_proba(test), "calibrated": calibrated.predict_proba(test)}
        if name == "online":
            each = calibrated.predict_proba(test, threshold=0.0).toarray().astype(np.float64)
            ways["sum"] = each / each.sum(axis=1, keepdims=True)
        for way, P in ways.items():
            found[f"{name}, {way}"] = figures(P[:, order], plain.classes_[order], true)
    if found["classes"] <= FEW:
        peer = LogisticRegression(max_iter=1000).fit(X, y)
        found["logistic regression"] = figures(peer.predict_proba(test), peer.classes_, true)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``exclusive-all.json``."""
    chosen = command_line(__doc__ or "", FILES).parse_args(arguments)
    rows = []
    for name, given in chain(sets(), files(chosen.subjects)):
        rows.append({"data": name, **measure(*given)})
        print(rows[-1], flush=True)
    write(chosen.output, "exclusive", "all", {"rows": rows})


if __name__ == "__main__":
    main()
