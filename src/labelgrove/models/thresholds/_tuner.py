"""Tuning thresholds on the predictions of fitted estimators for held-out examples."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, vstack

from labelgrove._errors import DataError, ParameterError, brief
from labelgrove._parameters import finite
from labelgrove._sparse import triples, without
from labelgrove._targets import parse_targets
from labelgrove._validation import n_rows_of
from labelgrove.models.engine._learned import known
from labelgrove.models.engine._tuned import tuned_by_class
from labelgrove.models.thresholds._estimates import Estimates, batches
from labelgrove.tuning import (
    FTA,
    OFO,
    STO,
    SetFigures,
    Thresholds,
    cross_fitted,
    lower_bounds,
    set_figures,
    tune_auto,
    tune_fta,
    tune_ofo,
    tune_sto,
)
from labelgrove.tuning._auto import SMALLEST, Goal, best_single
from labelgrove.tuning._bounds import UPPER, clip, prior_lower
from labelgrove.tuning._pairs import FloatArray, IntArray

if TYPE_CHECKING:
    from labelgrove.models._base import LabelClassifier


METHODS = ("auto", "ofo", "fta", "sto")

DEFAULTS: dict[str, Any] = {
    "average": "macro",
    "common": None,
    "candidates": None,
    "a": None,
    "b": 50.0,
    "c": 100.0,
    "upper": None,
    "zero_division": 0.0,
    "labels_per_row": None,
    "least_recall": None,
    "least_labels": None,
}
"""Options of tuning, described in ThresholdedClassifier."""

_BATCH = 4096


class HeldOutTuning:
    """Tunes thresholds on the predictions of one or several estimators for held-out examples.

    True labels and probabilities are collected until `finish`. Prior probabilities and rare labels
    follow from ``counts``, how many of ``n_examples`` examples have each of the m labels. The
    options are those of `DEFAULTS`; one that is unknown, outside its domain or excluded by another
    raises a ParameterError. If the thresholds in force are given, with a value for each label,
    probabilities that reach them or 1/c are kept too, so that `before` and `single` can measure
    thresholds that low.
    """

    def __init__(
        self,
        method: str,
        counts: IntArray,
        n_examples: int,
        *,
        in_force: Thresholds | None = None,
        **options: Any,
    ) -> None:
        for name in options:
            if name not in DEFAULTS:
                raise ParameterError(f"{name}: no such option; expected {', '.join(DEFAULTS)}")
        chosen = {**DEFAULTS, **options}
        if method not in METHODS:
            raise ParameterError(f"method={brief(method)}: expected one of {', '.join(METHODS)}")
        least = 0.0 if chosen["c"] is None else float(lower_bounds(0.0, chosen["c"]))
        self._least = max(least, SMALLEST)
        if method == "auto":
            lower = np.full(len(counts), self._least)
        else:
            lower = np.maximum(prior_lower(counts, n_examples, chosen["average"]), least)
        self._tune = _method(method, counts, np.broadcast_to(lower, counts.shape), chosen)
        self._best = 0
        if method == "auto":
            goal = Goal.of(chosen["average"], chosen["labels_per_row"], chosen["least_recall"])
            self._best = max(goal.fewest(chosen["least_labels"]))
        self._floor = clip(0.0, lower, UPPER if chosen["upper"] is None else chosen["upper"])
        self._in_force = in_force
        if in_force is not None:
            self._floor = np.minimum(np.minimum(self._floor, in_force.values), self._least)
            self._best = max(self._best, in_force.least_labels)
        self._floor = np.broadcast_to(self._floor, counts.shape)
        self._upper, self._zero = chosen["upper"], chosen["zero_division"]
        self._truth: list[csr_array] = [csr_array((0, len(counts)), dtype=np.int8)]
        self._scores: list[csr_array] = [csr_array((0, len(counts)), dtype=np.float32)]
        self.n_rows = 0  # shown
        self.inner_products = 0.0  # of all predictions; NaN if an estimator does not report them

    def show(self, estimator: Any, columns: IntArray, X: Any, truth: csr_array) -> None:
        """Add a fitted estimator's predictions for some examples, computed in batches.

        ``columns`` are the label ids of the columns of its probabilities, -1 for labels that are
        not tuned; ``truth`` has a column for each label id.
        """
        estimates, known = Estimates(estimator, len(columns)), columns >= 0
        bounds = np.full(len(columns), np.inf)
        bounds[known] = self._floor[columns[known]]
        for rows in batches(X, _BATCH):
            found, stats = estimates.at_least(rows, bounds, self._best)
            row, column, value = triples(found, "predict_proba")
            kept = known[column]
            scores = value[kept], (row[kept], columns[column[kept]])
            self._scores.append(csr_array(scores, shape=(n_rows_of(rows), len(self._floor))))
            self.inner_products += np.nan if stats is None else float(stats.classifiers.sum())
        self._truth.append(truth)
        self.n_rows += truth.shape[0]

    def leave_out(self, cells: csr_array) -> None:
        """Ignore the labels of examples whose cells are 1, as true and as predicted labels."""
        for matrix, parts in zip(self._shown(), (self._truth, self._scores), strict=True):
            parts[:] = [without(matrix, cells)]

    def finish(self) -> Thresholds:
        """Return the thresholds, by label id."""
        return self._tune(*self._shown())

    def before(self) -> SetFigures:
        """Return the figures of the current thresholds on the examples shown."""
        assert self._in_force is not None
        truth, scores = self._shown()
        return set_figures(truth, self._in_force.apply(scores), self._zero)

    def after(self, found: Thresholds) -> SetFigures:
        """Return the figures of the method on rows that it was not tuned on."""
        if found.cross_fitted is not None:
            return found.cross_fitted
        truth, scores = self._shown()
        return set_figures(truth, cross_fitted(truth, scores, self._tune), self._zero)

    def single(self, found: Thresholds) -> tuple[float, SetFigures]:
        """Return the best single threshold and its figures on the examples shown."""
        if found.single is not None and found.single_figures is not None:
            return found.single, found.single_figures
        truth, scores = self._shown()
        return best_single(truth, scores, found.average, self._least, self._upper, self._zero)

    def positives(self) -> IntArray:
        """Return the number of examples shown with each label."""
        truth, _ = self._shown()
        return np.bincount(truth.indices, minlength=truth.shape[1])

    def _shown(self) -> tuple[csr_array, csr_array]:
        for parts in (self._truth, self._scores):
            if len(parts) > 1:
                parts[:] = [csr_array(vstack(parts))]
        return self._truth[0], self._scores[0]


def tuning_of(
    model: LabelClassifier, method: str, *, compared: bool = False, **options: Any
) -> HeldOutTuning:
    """Start to tune a model's thresholds on held-out examples, with options of `DEFAULTS`.

    If they are to be ``compared``, the tuning can also measure the model's current thresholds.
    """
    with model._guard.reading():
        learned = known(model._learned)
        if learned.kind == "multiclass":
            raise ParameterError(
                "this model has learnt multi-class targets, for which predict returns the best "
                "class; thresholds are for multi-label targets"
            )
        counts, n_examples = learned.label_counts(), learned.n_counted
        in_force = tuned_by_class(learned) if compared else None
    if compared and in_force is None:
        same = np.full(len(counts), finite("threshold", model.threshold))
        in_force = Thresholds(same, 0.0, "given", "macro", 0.0)
    return HeldOutTuning(method, counts, n_examples, in_force=in_force, **options)


def show_examples(tuning: HeldOutTuning, model: LabelClassifier, X: Any, y: Any) -> None:
    """Show examples and the model's predictions to a tuning, ignoring unknown labels."""
    targets = parse_targets(y)
    with model._guard.reading():
        learned = known(model._learned)
        targets = learned.of_same_kind(targets)
        n_rows = n_rows_of(X)
        if n_rows != targets.n_rows:
            raise DataError(
                f"X has {n_rows} rows, y has {targets.n_rows}; expected the same number"
            )
        column_of, n_columns = learned.columns()
        indptr, ids = learned.labels.ids_for(targets, add=False)
        is_label = ids >= 0
        before = np.concatenate(([0], np.cumsum(is_label)))
        parts = (np.ones(before[-1], np.int8), column_of[ids[is_label]], before[indptr])
        truth = csr_array(parts, shape=(n_rows, n_columns))
        truth.sort_indices()
        tuning.show(model, np.arange(n_columns), X, truth)


def about_thresholds(model: LabelClassifier) -> dict[str, Any]:
    """Return how a model's thresholds were tuned, and how many labels each row gets at least."""
    tuned = known(model._learned).tuned
    if tuned is None:
        return {"method": "ofo while learning", "average": "macro", "least_labels": 0}
    return {name: getattr(tuned, name) for name in ("method", "average", "least_labels")}


def _method(
    method: str, counts: IntArray, lower: FloatArray, chosen: dict[str, Any]
) -> Callable[[csr_array, csr_array], Thresholds]:
    """Return a function from true labels and scores to thresholds; check all options now."""
    n_labels = len(counts)
    upper = UPPER if chosen["upper"] is None else chosen["upper"]
    within = {"lower": lower, "upper": upper, "zero_division": chosen["zero_division"]}
    choice = {"average": chosen["average"], "common": chosen["common"]}
    goal = {name: chosen[name] for name in ("labels_per_row", "least_recall", "least_labels")}
    if method == "auto":
        if chosen["common"] is not None:
            raise ParameterError(
                "method='auto' chooses common or separate thresholds itself; found "
                f"common={chosen['common']!r}; expected None, or method='fta' or 'sto'"
            )
        within |= {"lower": float(lower.min(initial=1.0)), "upper": chosen["upper"]}
        tune_auto(np.empty((0, 0)), np.empty((0, 0)), **within)
        return partial(tune_auto, average=chosen["average"], frequencies=counts, **goal, **within)
    if any(value is not None for value in goal.values()):
        raise ParameterError(
            "labels_per_row, least_recall and least_labels require method='auto'; found "
            f"method={brief(method)}"
        )
    if method == "sto":
        STO(n_labels, **choice, **within)
        return partial(tune_sto, **choice, **within)
    if method == "fta":
        FTA(n_labels, thresholds=chosen["candidates"], **choice, **within)
        return partial(tune_fta, thresholds=chosen["candidates"], **choice, **within)
    if chosen["average"] != "macro" or chosen["common"]:
        raise ParameterError(
            "method='ofo' tunes a separate threshold for every label, for the macro-averaged "
            f"F-measure; found average={chosen['average']!r}, common={chosen['common']!r}; "
            "expected method='auto', 'fta' or 'sto' with these"
        )
    a, b = chosen["a"], chosen["b"]
    for name, value in (("a", 0.0 if a is None else a), ("b", b)):
        if isinstance(value, bool) or not isinstance(value, Real):
            raise ParameterError(f"{name}={brief(value)}: expected a number")
    OFO(n_labels, a=0.0 if a is None else a, b=b, **within)  # checks b, even if a is None
    return partial(tune_ofo, a=a, b=b, **within)
