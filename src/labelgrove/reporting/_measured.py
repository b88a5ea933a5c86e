"""The measurements of a model for a report."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from labelgrove._validation import n_rows_of
from labelgrove.evaluation._figures import Training, figures
from labelgrove.evaluation._observed import (
    Observed,
    as_columns,
    most_excluded,
    observe,
    places_left,
)
from labelgrove.metrics import expected_calibration_error
from labelgrove.metrics._inputs import IntArray, keep_entries, ranking_indicator, rows_of
from labelgrove.metrics._score import FloatArray, Interval

PLACES = (1, 3, 5)
"""Values of k for P@k and the like."""

LEAST = 0.02
"""Least probability that is drawn and counts in the calibration error."""

CALIBRATED = 5
"""Number of best labels per example that count in the calibration error and its curve."""

LONGEST_RANKING = 10
"""Number of best labels per example that the curves and the list of confused labels use."""

_TIMED = 400  # rows predicted one at a time to measure latency


@dataclass(frozen=True)
class Measured:
    """A model's predictions and metrics, and further measurements; matrices are (n, L).

    The rule by which it predicts is "class", the best one; "threshold", all labels that reach its
    one threshold; or "thresholds", all that reach their own.
    """

    observed: Observed
    figures: dict[str, Any]  # those of `evaluate`, and "ece", the calibration error
    answer: csr_array  # the labels that the model predicts, 0/1
    estimates: csr_array  # its probabilities of at least `LEAST`
    best: csr_array  # those among the `CALIBRATED` best of their row
    ranking: IntArray  # (n, 10): the columns of the best labels, -1 in missing places
    rule: str
    thresholds: FloatArray  # NaN if the model predicts classes, or does not know the label
    counts: IntArray  # training examples of each label
    examples_seen: int
    weights: FloatArray | None  # inverse propensities
    latencies: FloatArray  # seconds per prediction of a single row

    @property
    def truth(self) -> csr_array:
        """True labels as a 0/1 matrix."""
        return self.observed.truth

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Which labels the model knows."""
        return self.observed.known

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """The labels of the columns."""
        return self.observed.labels

    @property
    def first(self) -> csr_array:
        """The best label of each row, as a 0/1 matrix."""
        return ranking_indicator(self.ranking[:, :1], self.truth.shape[1])

    @property
    def hits(self) -> npt.NDArray[np.bool_]:
        """Whether the best label of each row is right."""
        return np.asarray(self.truth.multiply(self.first).sum(axis=1) > 0)


def measure(
    model: Any,
    X: Any,
    Y: Any,
    *,
    labels: Sequence[Hashable] = (),
    interval: Interval = None,
    excluded: Mapping[int, Collection[Hashable]] | None = None,
) -> Measured:
    """Measure everything that the report needs.

    Arguments are as for `labelgrove.evaluation.evaluate`; `labels` are those of the first columns.
    """
    observed = observe(
        model, [(X, Y)], k=PLACES[-1], estimates_from=LEAST, labels=labels, excluded=excluded
    )
    assert observed.sets is not None and observed.estimates is not None
    training = Training.of(model)
    found = figures(observed, PLACES, training=training, interval=interval)
    columns = {label: i for i, label in enumerate(observed.labels)}
    # The curves need longer rankings than the metrics, which use the 5 best labels.
    deep = LONGEST_RANKING + most_excluded(excluded)
    answers: tuple[Any, FloatArray] = model.predict_topk(X, deep)
    ranking = as_columns(*answers, columns, (observed.n_rows, deep))
    ranking = places_left(ranking, observed.excluded, LONGEST_RANKING)
    best = among_best(observed.estimates, ranking[:, :CALIBRATED])
    error = expected_calibration_error(observed.truth, best, interval=interval)
    classes = np.array([columns[label] for label in model.classes_.tolist()], np.int64)
    counts = np.zeros(len(columns), np.int64)
    counts[classes] = model.label_counts_
    thresholds, rule = np.full(len(columns), np.nan), "class"
    if model.target_type_ != "multiclass":
        tuned = getattr(model, "thresholds_", None)
        rule = "threshold" if tuned is None else "thresholds"
        thresholds[classes] = model.threshold if tuned is None else tuned
    return Measured(
        observed=observed,
        figures=found | {"ece": error},
        answer=observed.sets,
        estimates=observed.estimates,
        best=best,
        ranking=ranking,
        rule=rule,
        thresholds=thresholds,
        counts=counts,
        examples_seen=int(model.examples_seen_),
        weights=None if training is None else training.weights(observed.labels),
        latencies=_latencies(model, X),
    )


def among_best(estimates: csr_array, ranking: IntArray) -> csr_array:
    """Keep the estimates whose labels are in the ranking of their row."""
    among = (ranking[rows_of(estimates)] == estimates.indices[:, None]).any(axis=1)
    return keep_entries(estimates, among)


def _latencies(model: Any, X: Any) -> FloatArray:
    chosen = np.unique(np.linspace(0, n_rows_of(X) - 1, _TIMED).astype(np.int64)).tolist()
    single = [X[i : i + 1] for i in chosen]
    model.predict_topk(single[0], PLACES[-1])
    seconds = []
    for row in single:
        begin = perf_counter()
        model.predict_topk(row, PLACES[-1])
        seconds.append(perf_counter() - begin)
    return np.array(seconds)
