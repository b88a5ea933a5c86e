"""What a model answers on labelled examples, and how long it takes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from labelgrove.evaluation._targets import MULTICLASS, Row

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

PLACES = 10
"""Places of the rankings."""

LEAST = 0.02
"""Probabilities below are not looked at, unless a label's threshold lies lower."""

_TIMED = 400  # rows that are predicted one by one
_MISSING = -1


@dataclass(frozen=True)
class Observed:
    """A model's answers on n examples; columns are the labels of `label_ids`.

    Attributes
    ----------
    ranking : int64 array (n, PLACES)
        The best labels, -1 in missing places.
    estimates : csr_array (n, n_labels)
        Probabilities from `LEAST` on.
    answer : csr_array (n, n_labels)
        The labels that it predicts, 0/1.
    rule : {"class", "threshold", "thresholds"}
        What makes a label part of the answer: to be the best one, to reach the model's threshold,
        or its own.
    thresholds : float64 array (n_labels,)
        From which probability on each label is predicted; NaN where that is not the rule.
    known : bool array (n_labels,)
        Labels that the model can predict.
    counts : int64 array (n_labels,)
        In how many examples it has seen each.
    examples_seen : int
    classifiers, depth : float
        Evaluated and reached on average, for the best 5 of a row.
    latencies : float64 array
        Seconds for one row at a time.
    """

    ranking: IntArray
    estimates: csr_array
    answer: csr_array
    rule: str
    thresholds: FloatArray
    known: npt.NDArray[np.bool_]
    counts: IntArray
    examples_seen: int
    classifiers: float
    depth: float
    latencies: FloatArray


def label_ids(models: Sequence[Any], rows: Sequence[Row]) -> dict[Hashable, int]:
    """Number the labels: those of the models in order, then those that only the rows have."""
    ids: dict[Hashable, int] = {}
    for model in models:
        for label in model.classes_.tolist():
            ids.setdefault(label, len(ids))
    for row in rows:
        for label in row:
            ids.setdefault(label, len(ids))
    return ids


def indicator(rows: Sequence[Row], ids: dict[Hashable, int]) -> csr_array:
    """True labels as a 0/1 matrix."""
    ends = np.cumsum([0, *map(len, rows)])
    columns = np.fromiter((ids[label] for row in rows for label in row), np.int64, ends[-1])
    return csr_array((np.ones(columns.size), columns, ends), shape=(len(rows), len(ids)))


def observe(model: Any, X: Any, task: str, ids: dict[Hashable, int]) -> Observed:
    """Ask the model for everything that the report needs."""
    columns = np.array([ids[label] for label in model.classes_.tolist()], np.int64)
    labels, scores, stats = model.predict_topk(X, PLACES, return_stats=True)
    ranking = np.array(
        [ids.get(label, _MISSING) for label in labels.ravel().tolist()], np.int64
    ).reshape(labels.shape)
    ranking[np.isnan(scores)] = _MISSING
    thresholds, rule = _thresholds(model, task, columns, len(ids))
    lowest = np.nanmin(thresholds[columns], initial=LEAST) if rule != "class" else LEAST
    found = model.predict_proba(X, threshold=max(float(lowest), 1e-6))
    estimates = csr_array(
        (found.data.astype(np.float64), columns[found.indices], found.indptr),
        shape=(found.shape[0], len(ids)),
    )
    estimates.sort_indices()
    known = np.zeros(len(ids), np.bool_)
    known[columns] = True
    counts = np.zeros(len(ids), np.int64)
    counts[columns] = model.label_counts_
    return Observed(
        ranking=ranking,
        estimates=estimates,
        answer=_answer(ranking, estimates, thresholds, rule),
        rule=rule,
        thresholds=thresholds,
        known=known,
        counts=counts,
        examples_seen=int(model.examples_seen_),
        classifiers=float(np.mean(stats.classifiers)),
        depth=float(np.mean(stats.depth)),
        latencies=_latencies(model, X),
    )


def _thresholds(model: Any, task: str, columns: IntArray, n_labels: int) -> tuple[FloatArray, str]:
    thresholds = np.full(n_labels, np.nan)
    if task == MULTICLASS:
        return thresholds, "class"
    tuned = getattr(model, "thresholds_", None)
    thresholds[columns] = model.threshold if tuned is None else tuned
    return thresholds, "threshold" if tuned is None else "thresholds"


def _answer(
    ranking: IntArray, estimates: csr_array, thresholds: FloatArray, rule: str
) -> csr_array:
    n = len(ranking)
    if rule == "class":
        there = ranking[:, 0] != _MISSING
        ends = np.concatenate([[0], np.cumsum(there)])
        best = ranking[there, 0]
        return csr_array((np.ones(best.size), best, ends), shape=estimates.shape)
    # Estimates are single precision: a threshold of 0.1 is the single-precision number.
    kept = estimates.data >= thresholds.astype(np.float32)[estimates.indices]
    rows = np.repeat(np.arange(n), np.diff(estimates.indptr))
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=n))])
    chosen = estimates.indices[kept]
    return csr_array((np.ones(chosen.size), chosen, ends), shape=estimates.shape)


def _latencies(model: Any, X: Any) -> FloatArray:
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    chosen = np.unique(np.linspace(0, n - 1, _TIMED).astype(np.int64)).tolist()
    single = [X[i : i + 1] for i in chosen]
    model.predict_topk(single[0], 5)
    seconds = []
    for row in single:
        begin = perf_counter()
        model.predict_topk(row, 5)
        seconds.append(perf_counter() - begin)
    return np.array(seconds)
