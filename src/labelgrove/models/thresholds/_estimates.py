"""Sparse probabilities from any fitted estimator with ``predict_proba``."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import signature
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack
from sklearn.utils import _safe_indexing

from labelgrove._cuts import reaches
from labelgrove._errors import DataError
from labelgrove._sparse import csr_of, require_inside, triples
from labelgrove._validation import n_rows_of
from labelgrove.models.engine._predicting import SearchStats
from labelgrove.tuning._pairs import FloatArray, best_of_rows

_DENSE_BYTES = 2**26
"""Largest size of the dense probabilities of a batch of rows."""


class Estimates:
    """The probabilities of a fitted estimator that reach a bound for every class.

    Its ``predict_proba`` returns a sparse or dense array (n, n_classes) or, as in scikit-learn's
    multi-output estimators, a list with (n, 2) for every label.
    """

    def __init__(self, estimator: Any, n_classes: int) -> None:
        self._estimator = estimator
        self._n_classes = n_classes
        accepted = signature(_innermost(estimator).predict_proba).parameters
        self._searches = "threshold" in accepted
        self._reports = self._searches and "return_stats" in accepted

    def at_least(
        self, X: Any, bounds: FloatArray, least_labels: int = 0
    ) -> tuple[csr_array, SearchStats | None]:
        """Return the probabilities that are above 0 and reach the bound of their class.

        Of every row the ``least_labels`` greatest are returned in any case. An estimator that
        accepts thresholds searches only for these. The result has a column for each class. The cost
        of the search is None if the estimator does not report it.
        """
        predict_proba = self._estimator.predict_proba
        if self._searches:
            asked = {"threshold": bounds} | ({"least_labels": least_labels} if least_labels else {})
            if self._reports:
                found, stats = predict_proba(X, **asked, return_stats=True)
                return self._cut(found, bounds, least_labels), stats
            return self._cut(predict_proba(X, **asked), bounds, least_labels), None
        step = max(_DENSE_BYTES // (8 * max(self._n_classes, 1)), 1)
        parts = [self._cut(predict_proba(rows), bounds, least_labels) for rows in batches(X, step)]
        return csr_array(vstack(parts)), None

    def _cut(self, found: Any, bounds: FloatArray, least_labels: int) -> csr_array:
        if isinstance(found, list):
            found = _columns(found, self._estimator)
        if not issparse(found):
            found = np.asarray(found)
        if found.ndim != 2 or found.shape[1] != self._n_classes:
            raise DataError(
                f"predict_proba of {type(self._estimator).__name__} returned shape {found.shape}; "
                f"expected one column for each of the {self._n_classes} classes"
            )
        if not issparse(found):
            found = csr_array(found if least_labels else np.where(reaches(found, bounds), found, 0))
        row, column, value = triples(found, "predict_proba")
        keep = reaches(value, bounds[column]) & (value > 0)
        keep |= best_of_rows(row, value, least_labels)
        kept = csr_array((value[keep], (row[keep], column[keep])), shape=found.shape)
        return csr_of(kept.data, kept.indices, kept.indptr, kept.shape)


def _innermost(estimator: Any) -> Any:
    """Return the last step of a pipeline, also of a frozen one."""
    from sklearn.frozen import FrozenEstimator
    from sklearn.pipeline import Pipeline

    while isinstance(estimator, (Pipeline, FrozenEstimator)):
        estimator = estimator[-1] if isinstance(estimator, Pipeline) else estimator.estimator
    return estimator


def batches(X: Any, size: int) -> Iterator[Any]:
    """Yield X in batches of at most ``size`` rows; yield X itself if it is no longer."""
    X = sliceable(X)
    n = n_rows_of(X)
    if n <= size:
        yield X
        return
    for begin in range(0, n, size):
        yield _safe_indexing(X, slice(begin, min(begin + size, n)))


def sliceable(X: Any) -> Any:
    """Convert X to a form that supports row selection; check it first if it is sparse."""
    if not issparse(X):
        return X if hasattr(X, "__len__") or not hasattr(X, "__array__") else np.asarray(X)
    if X.ndim != 2:
        raise DataError(f"X: expected 2 dimensions, found {X.ndim}")
    row, column, value = triples(X, "X")
    if X.format == "csr":
        return X
    require_inside(row, column, X.shape, "X")
    return csr_array((value, (row, column)), shape=X.shape)


def _columns(found: list[Any], estimator: Any) -> FloatArray:
    """Return P(1) of every label, from a list with the probabilities of its two classes."""
    columns = np.zeros((len(found[0]) if found else 0, len(found)))
    for j, (classes, part) in enumerate(zip(_innermost(estimator).classes_, found, strict=True)):
        at = np.flatnonzero(np.asarray(classes) == 1)
        if at.size:  # else the label was never true
            columns[:, j] = np.asarray(part)[:, at[0]]
    return columns
