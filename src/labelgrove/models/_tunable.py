"""Thresholds of an estimator: there, given, or tuned on examples that it has not learnt."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from labelgrove._errors import DataError, ParameterError
from labelgrove._labels import parse_targets
from labelgrove.models._predicting import Predicting, require_same_kind
from labelgrove.models.engine._tuned import keep_thresholds, tuned_by_class
from labelgrove.models.thresholds._estimates import n_rows_of
from labelgrove.models.thresholds._tuner import HeldOutTuning
from labelgrove.tuning import Thresholds


class Tunable(Predicting):
    """What estimators share about the thresholds of :meth:`predict`."""

    @property
    def thresholds_(self) -> npt.NDArray[np.float64]:
        """From which probability on :meth:`predict` returns each class; shape (n_classes,)."""
        if self._learned is None:
            raise AttributeError("thresholds_ is there once the model has learnt from an example")
        with self._guard.reading():
            values = tuned_by_class(self._learned)
        if values is None:
            raise AttributeError(
                "thresholds_ is there once thresholds have been tuned; until then predict goes by "
                "the parameter threshold"
            )
        return values

    def set_thresholds(self, thresholds: Thresholds | npt.ArrayLike | None) -> Self:
        """Predict each class from a threshold of its own.

        They stay as they are while the model learns on, and are kept in its file.

        Parameters
        ----------
        thresholds : Thresholds, array-like of shape (n_classes,), or None
            In the order of ``classes_``. A label that comes later has the default of `Thresholds`,
            or the parameter ``threshold``. None: back to those tuned while learning, or to
            ``threshold``.

        Returns
        -------
        self

        Raises
        ------
        NotLearnedError
            Before the first example.
        ParameterError
            If they are not one number for each class.

        Examples
        --------
        >>> from labelgrove import OnlinePLTClassifier
        >>> clf = OnlinePLTClassifier().fit([[1.0, 0.0], [0.0, 1.0]], [["a"], ["b"]])
        >>> clf.set_thresholds([0.2, 0.4]).thresholds_.tolist()
        [0.2, 0.4]
        """
        self._require_learned()
        with self._guard.changing():
            learned = self._require_learned()
            if thresholds is not None and not isinstance(thresholds, Thresholds):
                thresholds = Thresholds(
                    np.asarray(thresholds), self._checked_threshold(), "given", "macro", math.nan
                )
            if thresholds is not None:
                learned.thresholds(thresholds.values)  # raises unless they fit
            keep_thresholds(learned, thresholds)
        return self

    def tune_thresholds(self, X: Any, y: Any, method: str = "ofo", **options: Any) -> Self:
        """Find and keep the thresholds with the best F-measure on examples not learnt from.

        Probabilities of examples that the model has learnt from flatter it, and give thresholds
        that are too high.

        Parameters
        ----------
        X, y
            As for ``fit``. Labels that the model does not know are left out.
        method : {"ofo", "fta", "sto"}
        **options
            ``average``, ``common``, ``candidates``, ``a``, ``b``, ``c``, ``upper`` and
            ``zero_division``, as for `ThresholdedClassifier`.

        Returns
        -------
        self

        Raises
        ------
        NotLearnedError
            Before the first example.
        DataError
            If X or y cannot be used.
        ParameterError
            If another parameter lies outside its domain, or the targets are multi-class ones.
        """
        tuning = tuning_of(self, method, **options)
        show_examples(tuning, self, X, y)
        return self.set_thresholds(tuning.finish())


def tuning_of(model: Tunable, method: str, **options: Any) -> HeldOutTuning:
    """A tuning of a model's thresholds, to be shown examples that it has not learnt from.

    Raises
    ------
    NotLearnedError, ParameterError
        As `Tunable.tune_thresholds`.
    """
    with model._guard.reading():
        learned = model._require_learned()
        if learned.kind == "multiclass":
            raise ParameterError(
                "this model has learnt classes that exclude one another, of which predict returns "
                "the best; thresholds are for multi-label targets"
            )
        counts, n_examples = learned.label_counts(), learned.engine.examples_seen
    return HeldOutTuning(method, counts, n_examples, **options)


def show_examples(tuning: HeldOutTuning, model: Tunable, X: Any, y: Any) -> None:
    """Show a tuning examples and what the model makes of them; unknown labels are left out.

    Raises
    ------
    DataError
        If X or y cannot be used.
    """
    targets = parse_targets(y)
    with model._guard.reading():
        learned = model._require_learned()
        require_same_kind(learned, targets)
        n_rows = n_rows_of(X)
        if n_rows != targets.n_rows:
            raise DataError(f"X has {n_rows} rows, y has {targets.n_rows}; expected as many")
        column_of, n_columns = learned.columns()
        indptr, ids = learned.labels.ids_for(targets, add=False)
        known = ids >= 0
        before = np.concatenate(([0], np.cumsum(known)))
        parts = (np.ones(before[-1], np.int8), column_of[ids[known]], before[indptr])
        truth = csr_array(parts, shape=(n_rows, n_columns))
        truth.sort_indices()
        tuning.show(model, np.arange(n_columns), X, truth)


def about_thresholds(model: Tunable) -> dict[str, str]:
    """Say by which method, and for which F-measure, a model's thresholds were tuned."""
    tuned = model._require_learned().tuned
    if tuned is None:
        return {"method": "ofo while learning", "average": "macro"}
    return {"method": tuned.method, "average": tuned.average}
