"""The range in which an optimal threshold lies (Jasinska et al. 2016, Equation 5)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove._errors import ParameterError, brief
from labelgrove._parameters import number_from, numbers
from labelgrove.tuning._measure import check_average
from labelgrove.tuning._pairs import FloatArray, IntArray, read_indicator

UPPER = 0.5
"""No optimal threshold exceeds this if probabilities are true: the best F is twice as large."""


def label_priors(Y: Any) -> FloatArray:
    """Estimate the prior probability of every label, pi_j: the share of rows that have it.

    Parameters
    ----------
    Y : sparse or dense 0/1 matrix, shape (n, m)

    Returns
    -------
    ndarray of float64, shape (m,)
        0 everywhere if there are no rows.

    Raises
    ------
    DataError
        If Y is not an indicator; the message names the place.

    Examples
    --------
    >>> label_priors([[1, 0], [1, 1]]).tolist()
    [1.0, 0.5]
    """
    ends, labels, n_labels = read_indicator(Y)
    counts = np.bincount(labels, minlength=n_labels)
    return counts / max(len(ends) - 1, 1)


def lower_bounds(priors: npt.ArrayLike, c: float | None = None) -> FloatArray:
    """Return kappa_j = max(1/c, nu_j), below which no estimate is needed.

    nu_j = pi_j / (pi_j + 1) is half the F-measure of always predicting label j, so the optimal
    threshold lies above it (Equation 5); 1/c keeps the estimates sparse (Section 6.2).

    Parameters
    ----------
    priors : array-like of shape (m,)
        pi_j, for example from `label_priors`.
    c : float, optional
        None for nu_j alone.

    Returns
    -------
    ndarray of float64, shape (m,)

    Raises
    ------
    ParameterError
        If a prior is not a probability, or c is not above 1.

    Examples
    --------
    >>> lower_bounds([1.0, 0.25, 0.001], c=100).tolist()
    [0.5, 0.2, 0.01]
    """
    pi = numbers("priors", priors)
    if not ((pi >= 0) & (pi <= 1)).all():
        raise ParameterError("priors: expected probabilities, numbers from 0 to 1")
    nu: FloatArray = pi / (pi + 1)
    if c is None:
        return nu
    if not 1 < number_from(c) < math.inf:
        raise ParameterError(f"c={brief(c)}: expected a number above 1, or None")
    return np.maximum(1 / float(c), nu)


def prior_lower(counts: IntArray, n_rows: int, average: str) -> FloatArray:
    """Return the lower bound implied by the number of rows with each label, for an average of F."""
    priors = counts / max(n_rows, 1)
    kind = check_average(average)
    if kind == "macro":
        return lower_bounds(priors)
    # For "micro" all pairs count as rows of one label; for "instance" no bound is known.
    density = float(priors.mean()) if len(priors) and kind == "micro" else 0.0
    return lower_bounds(density)


def per_label(name: str, values: Any, n_labels: int) -> FloatArray:
    """Return one number, or one for every label, as an array of shape () or (n_labels,)."""
    array = numbers(name, values)
    if array.shape not in {(), (n_labels,)}:
        raise ParameterError(f"{name}: expected one number, or one for each of {n_labels} labels")
    return array


def check_lower(lower: Any, n_labels: int) -> FloatArray:
    """Return lower bounds, finite and at least 0, as `per_label` does."""
    bounds = per_label("lower", lower, n_labels)
    if not ((bounds >= 0) & (bounds < np.inf)).all():
        raise ParameterError("lower: expected finite numbers of 0 or more")
    return bounds


def check_upper(upper: Any) -> float:
    """Return the upper bound; infinity allows a threshold above every score."""
    if not number_from(upper) > 0:
        raise ParameterError(f"upper={brief(upper)}: expected a positive number")
    return float(upper)


def clip(values: Any, lower: Any, upper: float) -> FloatArray:
    """Clip thresholds to (lower, upper], or to upper if that interval is empty."""
    clipped: FloatArray = np.minimum(np.maximum(values, np.nextafter(lower, np.inf)), upper)
    return clipped
