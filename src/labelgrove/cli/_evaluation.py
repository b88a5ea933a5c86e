"""Measuring a model on a file: collect rankings and true labels, then ask the metrics."""

from __future__ import annotations

from math import isfinite
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from labelgrove._errors import DataError
from labelgrove.cli._models import Model
from labelgrove.cli._search import Cut
from labelgrove.cli.streams import _numbers
from labelgrove.cli.streams._progress import ProgressLine, shown
from labelgrove.cli.streams._source import Source
from labelgrove.data import Examples
from labelgrove.metrics import (
    accuracy,
    binomial_margin,
    entropy_reduction,
    f_measure,
    inverse_propensity,
    ranking_metrics,
)

#: The numbers of places that are measured.
PLACES = (1, 3, 5)

#: The metrics that are reported, in this order.
METRICS = ("p", "r", "ndcg", "psp")

#: The F-measures of label sets that are reported, in this order.
AVERAGES = ("macro", "micro", "instance")

_MISSING = -1
_FEWEST_FOR_PROPENSITY = 3


class Rankings:
    """Predictions and true labels of the examples seen so far, as label ids.

    Parameters
    ----------
    model : Model
        Its labels have the ids 0, 1, … in the order of ``classes_``; true labels that it does
        not know get the ids after them.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        known: list[Any] = model.classifier.classes_.tolist()
        self._ids = {label: i for i, label in enumerate(known)}
        self.n_known = len(known)
        self.ranked: list[NDArray[np.int64]] = []
        self.sets: list[csr_array] = []
        self.true: list[int] = []
        self.ends = [0]
        self.n_without_labels = 0
        self.classifiers = 0
        self.depth = 0
        self.seconds = 0.0

    def add(self, chunk: Examples, path: str, beam: int | None, cut: Cut | None = None) -> None:
        """Predict a chunk and keep what came out beside what is true.

        Parameters
        ----------
        chunk : Examples
            Labelled examples.
        path : str
            Their file's name, for messages.
        beam : int or None
            Width of the beam; None searches exactly.
        cut : float, ndarray or None
            Thresholds of the label sets; None for no sets.
        """
        begin = perf_counter()
        X = self._model.rows(chunk, path)
        labels, scores, stats = self._model.classifier.predict_topk(
            X, k=PLACES[-1], beam_width=beam, return_stats=True
        )
        self.seconds += perf_counter() - begin
        if cut is not None:
            reached = self._model.classifier.predict_proba(X, threshold=cut)
            reached.data = np.ones(reached.nnz, np.int8)
            self.sets.append(reached)
        self.classifiers += int(stats.classifiers.sum())
        self.depth += int(stats.depth.sum())
        flat = [self._ids.get(label, _MISSING) for label in labels.ravel().tolist()]
        ids = np.full((len(labels), PLACES[-1]), _MISSING, np.int64)
        # A model of fewer labels than places gives fewer columns.
        found = np.asarray(flat, dtype=np.int64).reshape(labels.shape)
        ids[:, : labels.shape[1]] = np.where(np.isnan(scores), _MISSING, found)
        self.ranked.append(ids)
        for row in chunk.labels:
            self.true.extend(self._ids.setdefault(label, len(self._ids)) for label in row)
            self.ends.append(len(self.true))
            self.n_without_labels += not row

    @property
    def n_examples(self) -> int:
        """Examples so far."""
        return len(self.ends) - 1

    @property
    def n_labels(self) -> int:
        """Labels of the model and of the examples so far."""
        return len(self._ids)

    @property
    def has_classes(self) -> bool:
        """Whether every example so far has exactly one label."""
        return self.ends == list(range(len(self.ends)))

    def truth(self) -> csr_array:
        """Give the true labels as a 0/1 matrix, shape (n_examples, n_labels)."""
        parts = (np.ones(len(self.true), np.int8), np.asarray(self.true, np.int64), self.ends)
        return csr_array(parts, shape=(self.n_examples, self.n_labels))


def evaluate_source(
    model: Model, source: Source, *, beam: int | None = None, cut: Cut | None = None
) -> dict[str, Any]:
    """Measure a model on all examples of a source.

    Parameters
    ----------
    model : Model
        Predicts.
    source : Source
        Examples with their labels.
    beam : int, optional
        Width of the beam; by default the search is exact.
    cut : float or ndarray, optional
        Thresholds, to measure label sets too.

    Returns
    -------
    dict
        ``p@1`` … as fractions; where every example has one label, ``error``, ``error_margin``
        (of its 95 % binomial interval) and ``entropy_reduction`` in bits, None where nothing was
        right; with ``cut`` also ``macro_f1``, ``micro_f1``, ``instance_f1`` and
        ``labels_per_example``; ``examples``, ``examples_without_labels``, ``unknown_labels`` (how
        many different ones) and ``unknown_label_share`` (of all true labels), ``seconds``,
        ``examples_per_second``, ``classifiers_per_example``, ``expected_depth``,
        ``total_seconds``.

    Raises
    ------
    DataError
        When there is no example.
    """
    begin = perf_counter()
    rankings = Rankings(model)
    line = ProgressLine("predicting", source.total)
    with shown(line):
        for chunk in source.chunks():
            rankings.add(chunk, source.path, beam, cut)
            line.update(rankings.n_examples, [_numbers.counted(rankings.n_known, "label")])
    n = rankings.n_examples
    if n == 0:
        raise DataError(f"{source.path}: there is not a single example to measure on")
    result: dict[str, Any] = measure(rankings, model)
    if rankings.has_classes:
        result |= measure_classes(rankings)
    if rankings.sets:
        result |= measure_sets(rankings)
    unknown = sum(label >= rankings.n_known for label in rankings.true)
    result |= {
        "examples": n,
        "examples_without_labels": rankings.n_without_labels,
        "unknown_labels": rankings.n_labels - rankings.n_known,
        "unknown_label_share": unknown / max(1, len(rankings.true)),
        "seconds": round(rankings.seconds, 4),
        "examples_per_second": round(n / max(rankings.seconds, 1e-9), 1),
        "classifiers_per_example": rankings.classifiers / n,
        "expected_depth": rankings.depth / n,
        "total_seconds": round(perf_counter() - begin, 4),
    }
    return result


def measure(rankings: Rankings, model: Model) -> dict[str, float]:
    """Ask for all metrics, metric by metric, k by k.

    Parameters
    ----------
    rankings : Rankings
        Predictions and truth.
    model : Model
        Knows how often it has seen each label; below 3 examples there are no propensities.

    Returns
    -------
    dict
        ``p@1``, ``p@3``, …, ``psp@5``.
    """
    classifier = model.classifier
    weights = None
    # Several passes count every example several times: propensities want it once.
    passes = int(getattr(classifier, "epochs", 1))
    seen = -(-int(classifier.examples_seen_) // passes)
    if seen >= _FEWEST_FOR_PROPENSITY:
        counts = np.zeros(rankings.n_labels, np.int64)
        counts[: rankings.n_known] = -(-classifier.label_counts_ // passes)
        weights = inverse_propensity(counts, n_examples=seen)
    ranked = np.concatenate(rankings.ranked)
    found = ranking_metrics(rankings.truth(), ranked, PLACES, inverse_propensities=weights)
    names = [f"{metric}@{k}" for metric in METRICS for k in PLACES]
    return {name: float(found[name]) for name in names if name in found}


def measure_classes(rankings: Rankings) -> dict[str, float | None]:
    """Ask for the figures of examples that have one label each.

    Parameters
    ----------
    rankings : Rankings
        For which ``has_classes`` holds.

    Returns
    -------
    dict
        ``error``, ``error_margin`` and ``entropy_reduction``.
    """
    best = np.concatenate(rankings.ranked)[:, 0]
    error = 1.0 - float(accuracy(rankings.true, best))
    bits = float(entropy_reduction(rankings.true, best))
    return {
        "error": error,
        "error_margin": binomial_margin(error, rankings.n_examples),
        "entropy_reduction": bits if isfinite(bits) else None,
    }


def measure_sets(rankings: Rankings) -> dict[str, float]:
    """Ask for the F-measures of the predicted label sets.

    Parameters
    ----------
    rankings : Rankings
        With sets.

    Returns
    -------
    dict
        ``macro_f1``, ``micro_f1``, ``instance_f1`` and ``labels_per_example``.
    """
    truth, predicted = rankings.truth(), csr_array(vstack(rankings.sets))
    predicted.resize(truth.shape)
    found = {f"{kind}_f1": float(f_measure(truth, predicted, average=kind)) for kind in AVERAGES}
    return {**found, "labels_per_example": predicted.nnz / rankings.n_examples}
