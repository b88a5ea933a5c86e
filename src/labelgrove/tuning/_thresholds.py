"""What tuning returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from labelgrove._cuts import reaches
from labelgrove._errors import DataError, ParameterError
from labelgrove._parameters import finite
from labelgrove.tuning._figures import SetFigures
from labelgrove.tuning._measure import Average, check_average
from labelgrove.tuning._pairs import FloatArray, read_scores


@dataclass(frozen=True)
class Thresholds:
    """Thresholds on the probabilities of labels: a label is predicted from its threshold on.

    A probability of 0, stored or not, is never a prediction.

    Attributes
    ----------
    values : ndarray of float64, shape (m,)
        One threshold a label.
    default : float
        For a label that tuning has not seen.
    method : {"auto", "fta", "sto", "ofo"}
    average : {"macro", "micro", "instance"}
        The F-measure that was tuned.
    score : float
        The F-measure on the tuning data; for "auto" of cross-fitted predictions; for "ofo" the
        online one (Equation 6), of predictions made with the thresholds of their time.
    candidates, candidate_scores : ndarray of float64, shape (k,), or None
        For common thresholds by "fta": those that were tried, rising, and the F-measure of each.
    single : float or None
        For "auto": the best single threshold. If no thresholds of the labels' own are better, all
        values are this one.
    single_figures, cross_fitted : SetFigures or None
        For "auto": what the single threshold reaches on the tuning data, and what the method does
        where each fifth of the rows is predicted by thresholds from the others.

    Raises
    ------
    ParameterError
        Values that are not one number each, or another field that cannot be.

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

    def __post_init__(self) -> None:
        try:
            values = np.array(self.values, np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise ParameterError(
                f"thresholds: expected one number for each class ({error})"
            ) from error
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

    def apply(self, scores: Any) -> csr_array:
        """Return the labels that reach their thresholds.

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
            If the scores cannot be used, or are not as many columns as there are thresholds.
        """
        shape = np.shape(scores)
        if len(shape) != 2 or shape[1] != len(self.values):
            raise DataError(
                f"scores has shape {shape}: expected {len(self.values)} columns, one a threshold"
            )
        ends, label, value = read_scores(scores, shape)
        reached = reaches(value, self.values[label])
        before = np.concatenate(([0], np.cumsum(reached)))
        parts = (np.ones(before[-1], np.int8), label[reached], before[ends])
        return csr_array(parts, shape=shape)


def as_default(threshold: float) -> float:
    """Return a finite number that says the same: files keep no infinity, which no score reaches."""
    return min(float(threshold), float(np.finfo(np.float64).max))
