"""Tuning thresholds on the predictions of fitted estimators for held-out examples."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, vstack

from labelgrove._cuts import Cut
from labelgrove._errors import DataError, ParameterError
from labelgrove._labels import parse_targets
from labelgrove._sparse import without
from labelgrove._validation import n_rows_of
from labelgrove.models.engine._learned import known
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
from labelgrove.tuning._auto import SMALLEST, Goal
from labelgrove.tuning._bounds import UPPER, clip, prior_lower

if TYPE_CHECKING:
    from labelgrove.models._base import LabelClassifier

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

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
}
"""Options of tuning: ThresholdedClassifier describes them."""

_BATCH = 4096


class HeldOutTuning:
    """A method of tuning that is shown held-out examples, of one estimator or of several.

    Their true labels and probabilities are kept until `finish`.

    Parameters
    ----------
    method : {"auto", "ofo", "fta", "sto"}
    counts : ndarray of int64, shape (m,)
        How many examples have each label: whence the prior probabilities, and what is rare.
    n_examples : int
        Out of how many.
    in_force : float or ndarray of float64, shape (m,), optional
        What labels are predicted by so far. With it probabilities down to these thresholds are
        kept too, so that `before` can tell what they come to.
    options
        Of `DEFAULTS`.

    Attributes
    ----------
    n_rows : int
        Examples shown.
    inner_products : float
        What their probabilities took in all; NaN where an estimator does not report it.

    Raises
    ------
    ParameterError
        If a parameter is unknown or outside its domain, or two do not go together.
    """

    def __init__(
        self,
        method: str,
        counts: IntArray,
        n_examples: int,
        *,
        in_force: Cut | None = None,
        **options: Any,
    ) -> None:
        for name in options:
            if name not in DEFAULTS:
                raise ParameterError(f"{name}: no such option; there are {', '.join(DEFAULTS)}")
        chosen = {**DEFAULTS, **options}
        if method not in METHODS:
            raise ParameterError(f"method={method!r}: expected one of {', '.join(METHODS)}")
        least = 0.0 if chosen["c"] is None else float(lower_bounds(0.0, chosen["c"]))
        if method == "auto":
            lower = np.full(len(counts), max(least, SMALLEST))
        else:
            lower = np.maximum(prior_lower(counts, n_examples, chosen["average"]), least)
        self._tune = _method(method, counts, np.broadcast_to(lower, counts.shape), chosen)
        self._floor = clip(0.0, lower, UPPER if chosen["upper"] is None else chosen["upper"])
        self._in_force = in_force
        if in_force is not None:
            self._floor = np.minimum(self._floor, in_force)
        self._floor = np.broadcast_to(self._floor, counts.shape)
        self._zero = chosen["zero_division"]
        self._truth: list[csr_array] = [csr_array((0, len(counts)), dtype=np.int8)]
        self._scores: list[csr_array] = [csr_array((0, len(counts)), dtype=np.float32)]
        self.n_rows = 0
        self.inner_products = 0.0

    def show(self, estimator: Any, columns: IntArray, X: Any, truth: csr_array) -> None:
        """Show what a fitted estimator makes of some examples, in batches.

        Parameters
        ----------
        estimator
            With ``predict_proba``.
        columns : ndarray of int64, shape (n_classes,)
            The label id of each column of its probabilities; -1 where tuning knows no such label.
        X : rows as the estimator takes them
        truth : csr_array of shape (n, m)
            Their true labels, a column a label id.
        """
        estimates, known = Estimates(estimator, len(columns)), columns >= 0
        bounds = np.full(len(columns), np.inf)
        bounds[known] = self._floor[columns[known]]
        for rows in batches(X, _BATCH):
            found, stats = estimates.at_least(rows, bounds)
            scores = (found.data, columns[found.indices], found.indptr)
            self._scores.append(csr_array(scores, shape=(n_rows_of(rows), len(self._floor))))
            self.inner_products += np.nan if stats is None else float(stats.classifiers.sum())
        self._truth.append(truth)
        self.n_rows += truth.shape[0]

    def leave_out(self, cells: csr_array) -> None:
        """Let some labels of the examples shown count neither as true nor as predicted.

        Parameters
        ----------
        cells : csr_array of shape (n, m)
            1 where one does not count.
        """
        for matrix, parts in zip(self._shown(), (self._truth, self._scores), strict=True):
            parts[:] = [without(matrix, cells)]

    def finish(self) -> Thresholds:
        """Return the thresholds, by label id."""
        return self._tune(*self._shown())

    def before(self) -> SetFigures:
        """Return what the thresholds in force come to on the examples shown."""
        truth, scores = self._shown()
        values = np.broadcast_to(np.asarray(self._in_force, np.float64), self._floor.shape)
        in_force = Thresholds(values, 0.0, "given", "macro", 0.0)
        return set_figures(truth, in_force.apply(scores), self._zero)

    def after(self, found: Thresholds) -> SetFigures:
        """Return what the method comes to where it predicts rows that it was not tuned on."""
        if found.cross_fitted is not None:
            return found.cross_fitted
        truth, scores = self._shown()
        return set_figures(truth, cross_fitted(truth, scores, self._tune), self._zero)

    def positives(self) -> IntArray:
        """Return how many of the examples shown have each label."""
        truth, _ = self._shown()
        return np.bincount(truth.indices, minlength=truth.shape[1])

    def _shown(self) -> tuple[csr_array, csr_array]:
        for parts in (self._truth, self._scores):
            if len(parts) > 1:
                parts[:] = [csr_array(vstack(parts))]
        return self._truth[0], self._scores[0]


def tuning_of(model: LabelClassifier, method: str, **options: Any) -> HeldOutTuning:
    """A tuning of a model's thresholds, to be shown examples that it has not learnt from.

    Parameters
    ----------
    model, method
    **options
        As `HeldOutTuning` takes them.

    Raises
    ------
    NotLearnedError, ParameterError
        As `LabelClassifier.tune_thresholds`.
    """
    with model._guard.reading():
        learned = known(model._learned)
        if learned.kind == "multiclass":
            raise ParameterError(
                "this model has learnt classes that exclude one another, of which predict returns "
                "the best; thresholds are for multi-label targets"
            )
        counts, n_examples = learned.label_counts(), learned.engine.examples_seen
    return HeldOutTuning(method, counts, n_examples, **options)


def show_examples(tuning: HeldOutTuning, model: LabelClassifier, X: Any, y: Any) -> None:
    """Feed a tuning with examples and the model's predictions; unknown labels are left out.

    Raises
    ------
    DataError
        If X or y cannot be used.
    """
    targets = parse_targets(y)
    with model._guard.reading():
        learned = known(model._learned)
        learned.require_same_kind(targets)
        n_rows = n_rows_of(X)
        if n_rows != targets.n_rows:
            raise DataError(f"X has {n_rows} rows, y has {targets.n_rows}; expected as many")
        column_of, n_columns = learned.columns()
        indptr, ids = learned.labels.ids_for(targets, add=False)
        is_label = ids >= 0
        before = np.concatenate(([0], np.cumsum(is_label)))
        parts = (np.ones(before[-1], np.int8), column_of[ids[is_label]], before[indptr])
        truth = csr_array(parts, shape=(n_rows, n_columns))
        truth.sort_indices()
        tuning.show(model, np.arange(n_columns), X, truth)


def about_thresholds(model: LabelClassifier) -> dict[str, str]:
    """Say by which method, and for which F-measure, a model's thresholds were tuned."""
    tuned = known(model._learned).tuned
    if tuned is None:
        return {"method": "ofo while learning", "average": "macro"}
    return {"method": tuned.method, "average": tuned.average}


def _method(
    method: str, counts: IntArray, lower: FloatArray, chosen: dict[str, Any]
) -> Callable[[csr_array, csr_array], Thresholds]:
    """From true labels and scores to thresholds; what cannot be is refused before any are there."""
    n_labels = len(counts)
    upper = UPPER if chosen["upper"] is None else chosen["upper"]
    within = {"lower": lower, "upper": upper, "zero_division": chosen["zero_division"]}
    choice = {"average": chosen["average"], "common": chosen["common"]}
    goal = {name: chosen[name] for name in ("labels_per_row", "least_recall")}
    if method == "auto":
        if chosen["common"] is not None:
            raise ParameterError(
                f"method='auto' decides itself how far labels differ; found common="
                f"{chosen['common']!r}; expected method='fta' or 'sto' with it"
            )
        Goal.of(chosen["average"], **goal)
        within |= {"lower": float(lower.min(initial=1.0)), "upper": chosen["upper"]}
        tune_auto(np.empty((0, 0)), np.empty((0, 0)), **within)
        return partial(tune_auto, average=chosen["average"], frequencies=counts, **goal, **within)
    if any(value is not None for value in goal.values()):
        raise ParameterError(
            f"labels_per_row and least_recall go with method='auto', found method={method!r}"
        )
    if method == "sto":
        STO(n_labels, **choice, **within)
        return partial(tune_sto, **choice, **within)
    if method == "fta":
        FTA(n_labels, thresholds=chosen["candidates"], **choice, **within)
        return partial(tune_fta, thresholds=chosen["candidates"], **choice, **within)
    if chosen["average"] != "macro" or chosen["common"]:
        raise ParameterError(
            "method='ofo' tunes a threshold of its own for every label, for the macro-averaged "
            f"F-measure; found average={chosen['average']!r}, common={chosen['common']!r}; "
            "expected method='auto', 'fta' or 'sto' with them"
        )
    a, b = chosen["a"], chosen["b"]
    for name, value in (("a", 0.0 if a is None else a), ("b", b)):
        if isinstance(value, bool) or not isinstance(value, Real):
            raise ParameterError(f"{name}={value!r}: expected a number")
    OFO(n_labels, a=0.0 if a is None else a, b=b, **within)  # checks b in any case
    return partial(tune_ofo, a=a, b=b, **within)
