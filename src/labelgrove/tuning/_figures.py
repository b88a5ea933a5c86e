"""Six figures that measure predicted label sets, to see whether thresholds do harm."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from labelgrove.tuning._measure import f_from_counts
from labelgrove.tuning._pairs import IntArray, read_indicator


@dataclass(frozen=True)
class SetFigures:
    """Measures of predicted label sets against the true ones.

    Attributes
    ----------
    labels : float
        Mean number of predicted labels per example.
    macro, micro, instance : float
        F-measures: the mean over labels, over all pairs together, and the mean over examples.
    precision, recall : float
        Over all pairs together; precision is 0 if nothing is predicted.
    """

    labels: float
    macro: float
    micro: float
    instance: float
    precision: float
    recall: float

    @classmethod
    def of_pairs(
        cls,
        true: tuple[IntArray, IntArray],
        predicted: tuple[IntArray, IntArray],
        hits: tuple[IntArray, IntArray],
        shape: tuple[int, int],
        zero_division: float,
    ) -> SetFigures:
        """Measure (row, label) pairs: the true ones, the predicted ones, and those in both.

        Parameters
        ----------
        true, predicted, hits : (rows, labels)
        shape : (int, int)
            Total numbers of rows and labels.
        zero_division : {0, 1}
            F-measure of a label, or row, that is never true and never predicted.
        """

        def averaged(axis: int) -> float:
            found, there, said = (
                np.bincount(pairs[axis], minlength=shape[axis]) for pairs in (hits, true, predicted)
            )
            return float(f_from_counts(found, there, said, zero_division).mean())

        if not all(shape):
            return cls(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        n_hits, n_true, n_predicted = (len(pairs[0]) for pairs in (hits, true, predicted))
        return cls(
            n_predicted / shape[0],
            averaged(1),
            float(f_from_counts(n_hits, n_true, n_predicted, zero_division)),
            averaged(0),
            n_hits / max(n_predicted, 1),
            n_hits / max(n_true, 1),
        )

    def to_dict(self) -> dict[str, float]:
        """Return the figures by name."""
        return asdict(self)


def set_figures(Y: Any, predicted: Any, zero_division: float = 0.0) -> SetFigures:
    """Measure predicted label sets.

    Parameters
    ----------
    Y, predicted : sparse or dense 0/1 matrices, shape (n, m)
    zero_division : {0, 1}
        F-measure of a label, or row, that is never true and never predicted.

    Returns
    -------
    SetFigures

    Raises
    ------
    DataError
        If either matrix is not an indicator; the message names the place.

    Examples
    --------
    >>> found = set_figures([[1, 0], [1, 1]], [[1, 0], [0, 0]])
    >>> found.labels, found.macro, found.precision, found.recall
    (0.5, 0.33..., 1.0, 0.33...)
    """
    pairs = []
    for matrix in (Y, predicted):
        ends, labels, n_labels = read_indicator(matrix)
        pairs.append((np.repeat(np.arange(len(ends) - 1), np.diff(ends)), labels))
    true, found = pairs
    both = np.isin(true[0] * n_labels + true[1], found[0] * n_labels + found[1])
    shape = (len(ends) - 1, n_labels)
    return SetFigures.of_pairs(true, found, (true[0][both], true[1][both]), shape, zero_division)
