"""Online F-measure optimisation (Jasinska et al. 2016, Section 4.3 and Algorithm 2)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from labelgrove._errors import DataError, ParameterError
from labelgrove._parameters import integer
from labelgrove.tuning._bounds import UPPER, check_lower, check_upper, per_label
from labelgrove.tuning._measure import check_zero_division, f_from_counts
from labelgrove.tuning._ofo_steps import Counts, Rule, step_through
from labelgrove.tuning._pairs import FloatArray, read_pairs
from labelgrove.tuning._thresholds import Thresholds, as_default

START_A, START_B = 5.0, 50.0
"""A threshold of 0.1 that counts as 50 true or predicted rows: near-optimal on measured data."""


class OFO:
    """Tune a threshold for every label from a stream: tau_j = a_j / b_j, half its online F.

    Memory is proportional to the number of labels. Rows may arrive in batches of any size, and
    new labels at any time; the result is the same, to the last bit.

    Parameters
    ----------
    n_labels : int
        Initial number of labels; a wider matrix adds more.
    a, b : float or array-like of shape (n_labels,)
        Initial values of a_j and b_j: a / b is the threshold of a label not seen yet, and b the
        number of true or predicted rows that this prior counts as.
    lower : float or array-like of shape (n_labels,), optional
        Exclusive lower bound on the thresholds. None: nu_j = pi_j / (pi_j + 1), where pi_j is the
        label's share of the rows so far. If the shares are known beforehand, see `lower_bounds`.
    upper : float
        Upper bound on the thresholds.
    zero_division : {0, 1}
        Online F-measure of a label that was never true and never predicted.

    Attributes
    ----------
    n_labels, n_rows : int
        Labels and rows seen.

    Raises
    ------
    ParameterError
        If a parameter lies outside its domain.

    Notes
    -----
    b_j grows by at least 2 whenever a_j grows by 1, so tau_j never exceeds 1/2 if it starts below.
    The upper bound matters only for thresholds that start above it.

    Examples
    --------
    >>> ofo = OFO(2, a=1, b=4, lower=0)
    >>> ofo.update([[1, 0], [1, 0], [0, 1]], [[0.9, 0.3], [0.8, 0.1], [0.2, 0.0]]).n_rows
    3
    >>> ofo.thresholds().tolist()  # 3/8 and 1/6
    [0.375, 0.16...]
    """

    def __init__(
        self,
        n_labels: int = 0,
        *,
        a: npt.ArrayLike = START_A,
        b: npt.ArrayLike = START_B,
        lower: npt.ArrayLike | None = None,
        upper: float = UPPER,
        zero_division: float = 0.0,
    ) -> None:
        n_labels = integer("n_labels", n_labels, 0)
        bounds = None if lower is None else np.atleast_1d(check_lower(lower, n_labels))
        first_a, first_b = (
            np.atleast_1d(per_label(name, values, n_labels))
            for name, values in (("a", a), ("b", b))
        )
        if not ((first_a >= 0) & (first_b > 0) & (first_a <= first_b)).all():
            raise ParameterError("a and b: expected 0 <= a <= b and b > 0 for every label")
        self._rule = Rule(first_a, first_b, bounds, check_upper(upper))
        self._counts = np.zeros((3, n_labels), np.int64)
        self._zero = check_zero_division(zero_division)
        self.n_rows = 0

    @property
    def n_labels(self) -> int:
        """Number of labels seen or declared."""
        return self._counts.shape[1]

    @property
    def a(self) -> FloatArray:
        """Current a_j of every label (Equation 7), shape (n_labels,)."""
        hits, _, _ = self._counts
        return self._rule.a + hits

    @property
    def b(self) -> FloatArray:
        """Current b_j of every label (Equation 7), shape (n_labels,)."""
        _, positives, predicted = self._counts
        return self._rule.b + (positives + predicted)

    def update(self, Y: Any, scores: Any) -> Self:
        """Predict every row with the thresholds of that moment, and count the outcomes.

        Parameters
        ----------
        Y : sparse or dense 0/1 matrix, shape (n, m)
            Columns beyond `n_labels` are new labels.
        scores : sparse or dense matrix of probabilities, shape (n, m)
            Scores below ``floor(n)`` may be omitted.

        Returns
        -------
        self

        Raises
        ------
        DataError
            If the input cannot be used; the message names the place. Nothing is learnt.
        """
        runs, n_rows, n_labels = read_pairs(Y, scores)
        if n_labels < self.n_labels:
            raise DataError(f"Y has {n_labels} columns: expected at least {self.n_labels}")
        counts = self._grown(n_labels)
        for pairs in runs:
            step_through(pairs, counts, self._rule, self.n_rows)
        self._counts = counts
        self.n_rows += n_rows
        return self

    def thresholds(self) -> FloatArray:
        """Return the current tau_j of every label, shape (n_labels,)."""
        return self._rule.thresholds(self._counts, self.n_rows)

    def floor(self, n_rows: int = 1) -> FloatArray:
        """Return the smallest score of every label that can matter in the next rows.

        Parameters
        ----------
        n_rows : int
            Number of rows before the next call. Thresholds move little over a few rows, so small
            batches need few scores.

        Returns
        -------
        ndarray of float64, shape (n_labels,)
        """
        return self._rule.thresholds(self._counts, self.n_rows, max(n_rows - 1, 0))

    def finish(self) -> Thresholds:
        """Return the current thresholds and the online F-measure."""
        hits, positives, predicted = self._counts
        online_f = f_from_counts(hits, positives, predicted, self._zero)
        score = float(online_f.mean()) if len(online_f) else 0.0
        start = self._rule.a / self._rule.b
        default = float(np.minimum(start, self._rule.upper)[0]) if len(start) else self._rule.upper
        return Thresholds(self.thresholds(), as_default(default), "ofo", "macro", score)

    def _grown(self, n_labels: int) -> Counts:
        """Return a copy of the counts, so that a failed or interrupted call has no effect."""
        rule = self._rule
        for name, given in (("a", rule.a), ("b", rule.b), ("lower", rule.lower)):
            if given is not None and len(given) > 1 and len(given) < n_labels:
                raise DataError(
                    f"there are {n_labels} labels, but {name} was given for {len(given)}; "
                    "expected one number for all if labels may be added"
                )
        return np.pad(self._counts, ((0, 0), (0, n_labels - self.n_labels)))
