"""What true and predicted label sets have in common, counted by row, by label and in all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from labelgrove.metrics._inputs import IntArray, as_indicator, as_sets, label_ids, restrict
from labelgrove.metrics._score import FloatArray


@dataclass(frozen=True)
class Counts:
    """Sizes of the true sets, the predicted sets and their intersections."""

    true: FloatArray
    predicted: FloatArray
    common: FloatArray


@dataclass(frozen=True)
class Overlap:
    """True sets, predicted sets and their intersection, each a 0/1 CSR of shape (n, L).

    Attributes
    ----------
    columns : int64 array or None
        The columns that count; None for all of them. The matrices hold no others.
    """

    truth: csr_array
    predicted: csr_array
    common: csr_array
    columns: IntArray | None

    @property
    def n_rows(self) -> int:
        return int(self.truth.shape[0])

    @property
    def n_labels(self) -> int:
        """Number of columns that count."""
        return int(self.truth.shape[1] if self.columns is None else self.columns.size)

    def by_row(self) -> Counts:
        """Count in every row; arrays of shape (n,)."""
        return self._count(lambda sets: np.diff(sets.indptr).astype(np.float64))

    def by_label(self, weight: FloatArray | None = None) -> Counts:
        """Count for every label that counts, rows weighted; arrays of shape (n_labels,)."""
        return self._count(lambda sets: self._label_totals(sets, weight))

    def in_all(self, weight: FloatArray | None = None) -> Counts:
        """Count over all pairs, rows weighted; arrays of shape (1,)."""
        rows = self.by_row()
        if weight is None:
            weight = np.ones(self.n_rows)
        return Counts(
            *(np.atleast_1d(weight @ part) for part in (rows.true, rows.predicted, rows.common))
        )

    def _label_totals(self, sets: csr_array, weight: FloatArray | None) -> FloatArray:
        of_entry = None if weight is None else np.repeat(weight, np.diff(sets.indptr))
        totals = np.bincount(sets.indices, of_entry, minlength=sets.shape[1]).astype(np.float64)
        return totals if self.columns is None else totals[self.columns]

    def _count(self, totals: Any) -> Counts:
        return Counts(totals(self.truth), totals(self.predicted), totals(self.common))


def compare(Y_true: Any, Y_pred: Any, labels: npt.ArrayLike | None = None) -> Overlap:
    """Check the input and intersect the label sets row by row, on the given columns only."""
    truth = as_indicator(Y_true, "Y_true")
    predicted = as_sets(Y_pred, truth.shape)
    columns = None if labels is None else label_ids(labels, truth.shape[1])
    truth, predicted = restrict(truth, columns), restrict(predicted, columns)
    return Overlap(truth, predicted, csr_array(truth.multiply(predicted)), columns)
