"""Tuning thresholds on the predictions of fitted estimators for held-out examples."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from labelgrove._errors import DataError, ParameterError
from labelgrove._labels import parse_targets
from labelgrove.models.engine._learned import known
from labelgrove.models.thresholds._estimates import Estimates, batches, n_rows_of
from labelgrove.tuning import FTA, OFO, STO, Thresholds, lower_bounds
from labelgrove.tuning._bounds import prior_lower
from labelgrove.tuning._two_passes import TwoPassOFO

if TYPE_CHECKING:
    from labelgrove.models._base import LabelClassifier

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

METHODS = ("ofo", "fta", "sto")

DEFAULTS: dict[str, Any] = {
    "average": "macro",
    "common": None,
    "candidates": None,
    "a": None,
    "b": 50.0,
    "c": 100.0,
    "upper": 0.5,
    "zero_division": 0.0,
}
"""Options of tuning: ThresholdedClassifier describes them."""

_BATCH = 4096
# The fewer rows at once, the less OFO's thresholds can fall meanwhile, and the fewer
# probabilities are needed.
_ONLINE_BATCH = 128


class _Tuner(Protocol):
    """What FTA, STO and OFO have in common."""

    def floor(self, n_rows: int = ...) -> FloatArray: ...
    def update(self, Y: Any, scores: Any) -> Any: ...
    def finish(self) -> Thresholds: ...


class HeldOutTuning:
    """A method of tuning that is shown held-out examples, of one estimator or of several.

    Parameters
    ----------
    method : {"ofo", "fta", "sto"}
    counts : ndarray of int64, shape (m,)
        How many examples have each label: whence the prior probabilities.
    n_examples : int
        Out of how many.
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

    def __init__(self, method: str, counts: IntArray, n_examples: int, **options: Any) -> None:
        for name in options:
            if name not in DEFAULTS:
                raise ParameterError(f"{name}: no such option; there are {', '.join(DEFAULTS)}")
        chosen = {**DEFAULTS, **options}
        if method not in METHODS:
            raise ParameterError(f"method={method!r}: expected one of {', '.join(METHODS)}")
        lower = np.broadcast_to(prior_lower(counts, n_examples, chosen["average"]), counts.shape)
        if chosen["c"] is not None:
            lower = np.maximum(lower, lower_bounds(0.0, chosen["c"]))
        self._tuner = _make(method, len(counts), lower, chosen)
        self._n_labels = len(counts)
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
        begin = 0
        for rows in batches(X, _ONLINE_BATCH if isinstance(self._tuner, OFO) else _BATCH):
            end = begin + n_rows_of(rows)
            bounds = np.full(len(columns), np.inf)
            bounds[known] = self._tuner.floor(end - begin)[columns[known]]
            found, stats = estimates.at_least(rows, bounds)
            scores = csr_array(
                (found.data, columns[found.indices], found.indptr),
                shape=(end - begin, self._n_labels),
            )
            self._tuner.update(truth[begin:end], scores)
            self.inner_products += np.nan if stats is None else float(stats.classifiers.sum())
            begin = end
        self.n_rows += begin

    def finish(self) -> Thresholds:
        """Return the thresholds, by label id."""
        return self._tuner.finish()


def tuning_of(model: LabelClassifier, method: str, **options: Any) -> HeldOutTuning:
    """A tuning of a model's thresholds, to be shown examples that it has not learnt from.

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


def _make(method: str, n_labels: int, lower: FloatArray, chosen: dict[str, Any]) -> _Tuner:
    within = {"lower": lower, "upper": chosen["upper"], "zero_division": chosen["zero_division"]}
    choice = {"average": chosen["average"], "common": chosen["common"]}
    if method == "sto":
        return STO(n_labels, **choice, **within)
    if method == "fta":
        return FTA(n_labels, thresholds=chosen["candidates"], **choice, **within)
    if chosen["average"] != "macro" or chosen["common"]:
        raise ParameterError(
            "method='ofo' tunes a threshold of its own for every label, for the macro-averaged "
            f"F-measure; found average={chosen['average']!r}, common={chosen['common']!r}; "
            "expected method='fta' or 'sto' with them"
        )
    a, b = chosen["a"], chosen["b"]
    for name, value in (("a", 0.0 if a is None else a), ("b", b)):
        if isinstance(value, bool) or not isinstance(value, Real):
            raise ParameterError(f"{name}={value!r}: expected a number")
    online = OFO(n_labels, a=0.0 if a is None else a, b=b, **within)  # checks b in any case
    return online if a is not None else TwoPassOFO(n_labels, b=b, **within)
