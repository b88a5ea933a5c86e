"""The result of tuning, and predictions by thresholds that were tuned on other rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from labelgrove._cuts import reaches
from labelgrove._errors import DataError, ParameterError
from labelgrove._parameters import finite, integer, numbers
from labelgrove._sparse import csr_of
from labelgrove.tuning._figures import SetFigures
from labelgrove.tuning._measure import Average, check_average
from labelgrove.tuning._pairs import FloatArray, best_of_rows, read_scores

FOLDS = 5
"""Number of folds of a cross-fit; rows are held out in turns, so nothing is random."""


@dataclass(frozen=True)
class Thresholds:
    """Thresholds on the probabilities of labels, which predict a label if it reaches its threshold.

    A probability of 0, stored or not, is never a prediction.

    Attributes
    ----------
    values : ndarray of float64, shape (m,)
        One threshold per label.
    default : float
        Threshold for labels that tuning has not seen.
    method : {"auto", "fta", "sto", "ofo"}
    average : {"macro", "micro", "instance"}
        The F-measure that was tuned.
    score : float
        The F-measure on the tuning data. For "auto", of cross-fitted predictions; for "ofo", the
        online F-measure (Equation 6), of predictions made with the thresholds of that moment.
    candidates, candidate_scores : ndarray of float64, shape (k,), or None
        For common thresholds from "fta": the candidates in increasing order, and their F-measures.
    single : float or None
        For "auto": the best single threshold. All values equal it if individual thresholds are no
        better.
    single_figures, cross_fitted : SetFigures or None
        For "auto": figures of the single threshold on the tuning data, and of the method when each
        fifth of the rows is predicted with thresholds tuned on the others; the same, if individual
        thresholds are no better.
    least_labels : int
        The best labels of a row, this many, are predicted even if they miss their thresholds.

    Raises
    ------
    ParameterError
        If the values are not one number per label, or another field is invalid.

    Examples
    --------
    >>> thresholds = Thresholds(np.array([0.5, 0.1]), 0.5, "fta", "macro", 1.0)
    >>> thresholds.apply(np.array([[0.4, 0.4], [0.6, 0.0]])).toarray().tolist()
    [[0, 1], [1, 0]]
    """

    values: FloatArray
    default: float
    method: str
    average: Average
    score: float
    candidates: FloatArray | None = None
    candidate_scores: FloatArray | None = None
    single: float | None = None
    single_figures: SetFigures | None = None
    cross_fitted: SetFigures | None = None
    least_labels: int = 0

    def __post_init__(self) -> None:
        values = numbers("thresholds", self.values)
        if values.ndim != 1 or np.isnan(values).any():
            found = "NaN" if values.ndim == 1 else f"an array of {values.ndim} dimensions"
            raise ParameterError(f"thresholds: found {found}; expected one number for each class")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "default", finite("thresholds: default", self.default))
        if not isinstance(self.score, float):
            raise ParameterError(f"thresholds: score={self.score!r}: expected a float")
        if not isinstance(self.method, str):
            raise ParameterError(f"thresholds: method={self.method!r}: expected its name")
        check_average(self.average)
        least = integer("thresholds: least_labels", self.least_labels, 0)
        object.__setattr__(self, "least_labels", least)

    def apply(self, scores: Any) -> csr_array:
        """Return the labels that reach their thresholds, and the best ``least_labels`` of each row.

        Parameters
        ----------
        scores : sparse or dense matrix of probabilities, shape (n, m)

        Returns
        -------
        csr_array of int8, shape (n, m)
            A 0/1 indicator.

        Raises
        ------
        DataError
            If the scores cannot be used, or their number of columns is not that of the thresholds.
        """
        shape = np.shape(scores)
        if len(shape) != 2 or shape[1] != len(self.values):
            raise DataError(
                f"scores has shape {shape}: expected {len(self.values)} columns, one per threshold"
            )
        ends, label, value = read_scores(scores, shape)
        row = np.repeat(np.arange(shape[0]), np.diff(ends))
        reached = reaches(value, self.values[label]) | best_of_rows(row, value, self.least_labels)
        before = np.concatenate(([0], np.cumsum(reached)))
        return csr_of(np.ones(before[-1], np.int8), label[reached], before[ends], shape)


def as_default(threshold: float) -> float:
    """Return the threshold as a finite number, since model files cannot store infinity."""
    return min(float(threshold), float(np.finfo(np.float64).max))


def cross_fitted(
    Y: csr_array, scores: csr_array, tune: Callable[[csr_array, csr_array], Thresholds]
) -> csr_array:
    """Predict each fifth of the rows with thresholds tuned on the other four fifths.

    Measuring thresholds on the rows that they were tuned on is optimistic; this is not.

    Parameters
    ----------
    Y : csr_array of shape (n, m)
        True labels, a 0/1 indicator.
    scores : csr_array of shape (n, m)
        Probabilities.
    tune : callable
        Function of true labels and scores that returns thresholds.

    Returns
    -------
    csr_array of int8, shape (n, m)
    """
    fold = np.arange(Y.shape[0]) % FOLDS
    parts = [tune(Y[fold != k], scores[fold != k]).apply(scores[fold == k]) for k in range(FOLDS)]
    order = np.argsort(np.argsort(fold, kind="stable"), kind="stable")
    return csr_array(csr_array(vstack(parts))[order])
