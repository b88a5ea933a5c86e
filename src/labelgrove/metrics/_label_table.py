"""A table of labels: how often each is true, correctly predicted, missed and wrongly predicted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from labelgrove._errors import ParameterError
from labelgrove._parameters import numbers
from labelgrove.metrics._inputs import IntArray
from labelgrove.metrics._score import FloatArray, check_zero_division, divide
from labelgrove.metrics._sets import compare


class LabelRow(NamedTuple):
    """One label of a `LabelTable`."""

    name: Any
    support: int
    true_positives: int
    false_positives: int
    false_negatives: int
    precision: float
    recall: float
    f1: float
    threshold: float


@dataclass(frozen=True, eq=False)
class LabelTable:
    """A table with one row per label, stored by column.

    Attributes
    ----------
    name : array (n_labels,)
        Label names as given, or column ids.
    support, true_positives, false_positives, false_negatives : int64 arrays (n_labels,)
    precision, recall, f1 : float64 arrays (n_labels,)
    threshold : float64 array (n_labels,)
        Threshold on the label's score; nan if none was given.
    """

    name: npt.NDArray[Any]
    support: IntArray
    true_positives: IntArray
    false_positives: IntArray
    false_negatives: IntArray
    precision: FloatArray
    recall: FloatArray
    f1: FloatArray
    threshold: FloatArray

    def __len__(self) -> int:
        return int(self.name.size)

    def rows(self) -> Iterator[LabelRow]:
        """Yield the rows as plain Python values."""
        for row in zip(*(column.tolist() for column in self.columns().values()), strict=True):
            yield LabelRow(*row)

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return the columns by name, ready for a data frame."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def label_table(
    Y_true: Any,
    Y_pred: Any,
    *,
    names: Sequence[Any] | npt.NDArray[Any] | None = None,
    thresholds: npt.ArrayLike | None = None,
    zero_division: float = 0.0,
) -> LabelTable:
    """Compute counts, precision, recall and F1 for every label.

    Parameters
    ----------
    Y_true : sparse matrix (n_rows, n_labels)
        True labels, 0/1.
    Y_pred : sparse matrix (n_rows, n_labels) or integer array (n_rows, k)
        Predicted labels, 0/1; or label ids, -1 in missing places, read as sets.
    names : sequence (n_labels,), optional
        The labels in column order, such as a model's ``classes_``.
    thresholds : float or array (n_labels,), optional
        The thresholds used, to be shown in the table.
    zero_division : {0, 1, nan}, default=0
        Value of 0/0 in precision, recall and F1.

    Returns
    -------
    LabelTable

    Raises
    ------
    DataError
        When `Y_true` or `Y_pred` cannot be used; the message names the row.
    ParameterError
        When `names`, `thresholds` or `zero_division` does not fit.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> table = label_table(csr_array([[1, 0], [1, 1]]), [[0], [1]], names=["oak", "elm"])
    >>> row = next(table.rows())
    >>> row.name, row.support, row.true_positives, row.false_negatives, row.precision
    ('oak', 2, 1, 1, 1.0)
    """
    zero_division = check_zero_division(zero_division)
    overlap = compare(Y_true, Y_pred)
    counts = overlap.by_label()
    return LabelTable(
        name=_names(names, overlap.n_labels),
        support=counts.true.astype(np.int64),
        true_positives=counts.common.astype(np.int64),
        false_positives=(counts.predicted - counts.common).astype(np.int64),
        false_negatives=(counts.true - counts.common).astype(np.int64),
        precision=divide(counts.common, counts.predicted, zero_division),
        recall=divide(counts.common, counts.true, zero_division),
        f1=divide(2.0 * counts.common, counts.true + counts.predicted, zero_division),
        threshold=_thresholds(thresholds, overlap.n_labels),
    )


def _names(names: Sequence[Any] | npt.NDArray[Any] | None, n_labels: int) -> npt.NDArray[Any]:
    if names is None:
        return np.arange(n_labels)
    if len(names) != n_labels:
        raise ParameterError(f"names has {len(names)} entries: expected {n_labels}, one per column")
    array = np.empty(n_labels, dtype=object)
    array[:] = list(names)
    return array


def _thresholds(thresholds: npt.ArrayLike | None, n_labels: int) -> FloatArray:
    given = numbers("thresholds", np.nan if thresholds is None else thresholds)
    if given.shape not in ((), (n_labels,)):
        raise ParameterError(
            f"thresholds has shape {given.shape}: expected one number or ({n_labels},)"
        )
    return np.broadcast_to(given, (n_labels,)).copy()
