"""Common base of FTA and STO, which see all rows before they choose."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from labelgrove._errors import DataError
from labelgrove._parameters import integer
from labelgrove.tuning._bounds import UPPER, check_lower, check_upper, clip
from labelgrove.tuning._measure import check_average, check_common, check_zero_division
from labelgrove.tuning._pairs import FloatArray, Pairs, read_pairs
from labelgrove.tuning._thresholds import Thresholds


class ThresholdSearch(ABC):
    """Base of the tuners that choose thresholds after seeing all rows.

    The subclasses document the parameters. ``common_by_default`` is the value of ``common=None``
    for the macro-averaged F-measure.
    """

    common_by_default: bool

    _least = 0.0
    """The smallest threshold that can be chosen, before clipping to the bounds."""

    def __init__(
        self,
        n_labels: int,
        *,
        average: str = "macro",
        common: bool | None = None,
        lower: npt.ArrayLike = 0.0,
        upper: float = UPPER,
        zero_division: float = 0.0,
    ) -> None:
        self.n_labels = integer("n_labels", n_labels, 0)
        self._average = check_average(average)
        self._common = check_common(common, self._average, self.common_by_default)
        self._lower = check_lower(lower, self.n_labels)
        self._upper = check_upper(upper)
        self._zero = check_zero_division(zero_division)
        self._rows = 0
        self._begin()

    def floor(self, n_rows: int = 1) -> FloatArray:  # noqa: ARG002 (OFO's depends on it)
        """Return the smallest score of every label that can matter in the next rows.

        Parameters
        ----------
        n_rows : int
            Ignored: only `OFO` uses it.

        Returns
        -------
        ndarray of float64, shape (n_labels,)
        """
        least = clip(self._least, self._lower, self._upper)
        return np.broadcast_to(least, (self.n_labels,)).copy()

    def update(self, Y: Any, scores: Any) -> Self:
        """Take a batch of rows into account.

        Parameters
        ----------
        Y : sparse or dense 0/1 matrix, shape (n, n_labels)
        scores : sparse or dense matrix of probabilities, shape (n, n_labels)
            Scores below `floor` may be omitted.

        Returns
        -------
        self

        Raises
        ------
        DataError
            If the input cannot be used; the message names the place. Nothing is counted.
        """
        runs, n_rows, n_labels = read_pairs(Y, scores)
        if n_labels != self.n_labels:
            raise DataError(f"Y has {n_labels} columns: expected {self.n_labels}")
        for pairs in runs:
            self._take(pairs)
        self._rows += n_rows
        return self

    @abstractmethod
    def finish(self) -> Thresholds:
        """Return the best thresholds; ties go to the highest."""

    @abstractmethod
    def _begin(self) -> None:
        """Prepare the state; all other parameters have been set."""

    @abstractmethod
    def _take(self, pairs: Pairs) -> None:
        """Count or store the pairs of some rows."""

    def _in_reach(self, pairs: Pairs) -> npt.NDArray[np.bool_]:
        """Return which pairs some threshold within the bounds predicts."""
        least = clip(0.0, self._lower, self._upper)
        return pairs.score >= (least if least.ndim == 0 else least[pairs.label])
