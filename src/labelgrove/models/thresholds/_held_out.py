"""Splitting examples into rows to fit on and held-out rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

from labelgrove._errors import DataError, ParameterError, brief
from labelgrove._labels import LabelRegistry
from labelgrove._targets import parse_targets
from labelgrove._validation import check_weights, n_rows_of
from labelgrove.models.thresholds._estimates import sliceable

FOLDS = 5


@dataclass(frozen=True)
class Labelled:
    """Examples, and the ids of their labels."""

    X: Any  # as the user gave it, in a form that supports row selection; y likewise
    y: Any
    kind: str  # "multiclass", "multilabel" or "indicator"
    n_columns: int  # of the indicator
    truth: csr_array  # 0/1, one column per label id
    weights: npt.NDArray[np.float32] | None = None  # of the rows in the estimator's fit

    @classmethod
    def read(cls, X: Any, y: Any, labels: LabelRegistry, kind: str | None = None) -> Labelled:
        """Read examples, of the expected kind if any, and add new labels to the registry."""
        X = sliceable(X)
        targets = parse_targets(y, n_rows_of(X))
        if kind is not None and targets.kind != kind:
            raise DataError(f"y: found {targets.kind} targets; expected {kind} ones, as in fit")
        indptr, ids = labels.ids_for(targets)
        ones = np.ones(len(ids), np.int8)
        truth = csr_array((ones, ids, indptr), shape=(targets.n_rows, len(labels)))
        return cls(X, sliceable(y), targets.kind, targets.n_columns or 0, truth)

    def take(self, rows: npt.NDArray[np.int64]) -> Labelled:
        """Return some of the rows, in the given order."""
        X, y = _safe_indexing(self.X, rows), _safe_indexing(self.y, rows)
        weights = None if self.weights is None else self.weights[rows]
        return Labelled(X, y, self.kind, self.n_columns, csr_array(self.truth[rows]), weights)

    def weighed(self, sample_weight: Any) -> Labelled:
        """Check the weights; return the rows whose weight is above 0, with their weights."""
        weights = check_weights(sample_weight, self.truth.shape[0])
        if weights is None:
            return self
        return replace(self, weights=weights).take(np.flatnonzero(weights))

    def fit(self, estimator: Any) -> Any:
        """Return a clone of the estimator, fitted on these rows."""
        if self.weights is None:
            return clone(estimator).fit(self.X, self.y)
        if not _accepts_weights(estimator):
            raise ParameterError(
                f"sample_weight: fit of {type(estimator).__name__} does not accept weights; "
                "expected None"
            )
        return clone(estimator).fit(self.X, self.y, sample_weight=self.weights)


def _accepts_weights(estimator: Any) -> bool:
    """Return whether ``fit`` has the parameter, or passes it on to a step that requests it."""
    routing = get_routing_for_object(estimator)
    return has_fit_parameter(estimator, "sample_weight") or bool(
        routing.consumes("fit", ["sample_weight"])
    )


@dataclass(frozen=True)
class Split:
    """How to hold out rows: a share, or each row once, in one of several folds."""

    folds: int  # 0 to hold out a share
    share: float

    @classmethod
    def read(cls, validation: Any) -> Split:
        """Read the parameter ``validation``, unless it is data."""
        if isinstance(validation, str) and validation == "cv":
            return cls(FOLDS, 0.0)
        if isinstance(validation, Integral) and not isinstance(validation, bool):
            if int(validation) >= 2:
                return cls(int(validation), 0.0)
        elif isinstance(validation, Real) and 0 < float(validation) < 1:
            return cls(0, float(validation))
        raise ParameterError(
            f"validation={brief(validation)}: expected a share of the rows between 0 and 1, 'cv', "
            "a number of folds, or held-out examples (X, Y)"
        )

    def fitted(
        self, estimator: Any, examples: Labelled, random_state: Any
    ) -> Iterator[tuple[Any, Labelled]]:
        """Yield clones of the estimator, each with examples that it was not fitted on.

        Held-out rows are drawn at random and stay in their order.
        """
        n_rows = examples.truth.shape[0]
        least = max(self.folds, 2)
        if n_rows < least:
            raise DataError(
                f"X has {n_rows} row(s), n_samples={n_rows}: expected at least {least}, to hold "
                "some out"
            )
        drawn = check_random_state(random_state).permutation(n_rows)
        if self.folds:
            parts = [drawn[fold :: self.folds] for fold in range(self.folds)]
        else:
            parts = [drawn[: min(max(round(self.share * n_rows), 1), n_rows - 1)]]
        for part in parts:
            seen = np.ones(n_rows, np.bool_)
            seen[part] = False
            fitted = examples.take(np.flatnonzero(seen)).fit(estimator)
            yield fitted, examples.take(np.flatnonzero(~seen))
