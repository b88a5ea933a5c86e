"""The figures of an evaluation: one definition for reports, the command line and Python."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from labelgrove._errors import DataError
from labelgrove.evaluation._observed import Observed
from labelgrove.metrics import (
    accuracy,
    binomial_margin,
    entropy_reduction,
    inverse_propensity,
    ranking_metrics,
)
from labelgrove.metrics._inputs import ranking_indicator
from labelgrove.metrics._propensity import FEWEST_EXAMPLES
from labelgrove.metrics._score import Finish, FloatArray, Interval, estimate, mean_of
from labelgrove.metrics._sets import AVERAGES
from labelgrove.metrics._summary import set_finishes

RANKED = ("p", "r", "ndcg", "psp", "psndcg")
"""The ranking metrics to report, in this order."""


@dataclass(frozen=True)
class Training:
    """The label counts of the training set, from which propensities are computed."""

    counts: Mapping[Any, int]  # 0 for labels not listed
    examples: int
    A: float = 0.55  # parameters of the model of Jain et al. (2016)
    B: float = 1.5

    @classmethod
    def of(cls, model: Any, A: float = 0.55, B: float = 1.5) -> Training | None:
        """Return what a model knows of its training set; None if it does not count labels."""
        counts, seen = (getattr(model, name, None) for name in ("label_counts_", "examples_seen_"))
        if counts is None or seen is None:
            return None
        # Propensities need every example once, however many passes have seen it.
        learned = getattr(getattr(model, "classifier_", model), "_learned", None)
        once = int(seen) if learned is None else learned.n_counted
        by_label = dict(
            zip(np.asarray(model.classes_).tolist(), np.asarray(counts).tolist(), strict=True)
        )
        return cls(by_label, once, A, B)

    def weights(self, labels: Iterable[Hashable]) -> FloatArray | None:
        """Return the inverse propensity of each label; None if there are too few examples."""
        if self.examples < FEWEST_EXAMPLES:
            return None
        counts = np.array([self.counts.get(label, 0) for label in labels] or [0])
        return inverse_propensity(counts, n_examples=self.examples, A=self.A, B=self.B)


@dataclass(frozen=True)
class Propensities:
    """Given inverse propensities by label, and the name of their source for errors."""

    by_label: Mapping[Any, float]
    source: str

    def weights(self, labels: Iterable[Hashable]) -> FloatArray:
        """Return the inverse propensity of each label."""
        try:
            return np.array([self.by_label[label] for label in labels] or [1.0])
        except KeyError as error:
            (label,) = error.args
            raise DataError(
                f"{self.source}: there is none for label {label!r}; expected one for every label"
            ) from None


def figures(
    observed: Observed,
    ks: Iterable[int] = (1, 3, 5),
    *,
    training: Training | Propensities | None = None,
    zero_division: float = 0.0,
    interval: Interval = None,
) -> dict[str, Any]:
    """Compute the figures that `evaluate` describes, which also describes the parameters.

    The rankings observed must have as many places as the largest of `ks`.
    """
    weights = None if training is None else training.weights(observed.labels)
    ranked = ranking_metrics(
        observed.truth,
        observed.ranking,
        ks,
        inverse_propensities=weights,
        zero_division=zero_division,
        interval=interval,
    )
    names = [f"{metric}@{k}" for metric in RANKED for k in sorted(set(ks))]
    found: dict[str, Any] = {name: ranked[name] for name in names if name in ranked}
    if observed.has_classes:
        found |= _of_classes(observed, zero_division, interval)
    if observed.sets is not None:
        found |= {
            name: estimate(finish, observed.n_rows, interval)
            for name, finish in f1_finishes(observed, observed.sets, zero_division).items()
        }
        found["labels_per_example"] = observed.sets.nnz / observed.n_rows
    return found | _counts(observed) | _costs(observed, interval)


def f1_finishes(
    observed: Observed, sets: csr_array, zero_division: float = 0.0
) -> dict[str, Finish]:
    """Return the last step of macro, micro and instance F1 of predicted label sets.

    The macro average is over the labels that occur in any example. Other labels cannot be found,
    so their F1 is 0 or 0/0; wrong predictions of them count in the other two averages.
    """
    of_all, _ = set_finishes(observed.truth, sets, None, zero_division)
    of_those_in_test, _ = set_finishes(observed.truth, sets, observed.in_test, zero_division)
    parts = {"macro": of_those_in_test, "micro": of_all, "instance": of_all}
    return {f"{average}_f1": parts[average][f"{average}_f1"] for average in AVERAGES}


def _of_classes(observed: Observed, zero_division: float, interval: Interval) -> dict[str, Any]:
    right, best = observed.truth.indices.tolist(), observed.ranking[:, 0].tolist()
    share = accuracy(right, best, interval=interval)
    bits = entropy_reduction(right, best, interval=interval)
    best_alone = ranking_indicator(observed.ranking[:, :1], observed.truth.shape[1])
    f1 = f1_finishes(observed, best_alone, zero_division)
    return {
        "accuracy": share,
        "error": 1.0 - share,
        "error_margin": binomial_margin(1.0 - share, observed.n_rows),
        "entropy_reduction": bits if math.isfinite(bits) else None,
        "best_macro_f1": estimate(f1["macro_f1"], observed.n_rows, interval),
    }


def _counts(observed: Observed) -> dict[str, Any]:
    of_row, unknown = np.diff(observed.truth.indptr), ~observed.known[observed.truth.indices]
    in_test = observed.in_test
    return {
        "examples": observed.n_rows,
        "examples_without_labels": int((of_row == 0).sum()),
        "labels_in_test": len(in_test),
        "unknown_labels": int((~observed.known[in_test]).sum()),
        "unknown_label_share": float(unknown.sum()) / max(1, unknown.size),
    }


def _costs(observed: Observed, interval: Interval) -> dict[str, Any]:
    found: dict[str, Any] = {
        "seconds": observed.seconds,
        "examples_per_second": observed.n_rows / observed.seconds,
    }
    if observed.classifiers is not None and observed.depth is not None:
        found["classifiers_per_example"] = float(observed.classifiers.mean())
        found["search_depth"] = estimate(mean_of(observed.depth), observed.n_rows, interval)
    return found
