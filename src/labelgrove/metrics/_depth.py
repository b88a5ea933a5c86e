"""Depth of the predicted labels in a label tree."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from labelgrove._errors import DataError
from labelgrove._parameters import vector
from labelgrove.metrics._score import Interval, Score, estimate, mean_of


def expected_depth(depth: npt.ArrayLike, *, interval: Interval = None) -> Score:
    """Mean depth of the deepest returned label (expected depth at k of Baharav et al. 2021).

    Parameters
    ----------
    depth : array (n_rows,)
        For every row, the depth in the tree of the deepest of its top-k labels. The depth that a
        search reports is at least as large, because it also enters nodes whose labels it does not
        return; the mean of those is the mean search depth.
    interval : float or Bootstrap, optional
        Level of a bootstrap interval over rows, kept in the result's ``interval``.

    Returns
    -------
    Score
        A float of 0 or more.

    Raises
    ------
    DataError
        When `depth` is empty, not one-dimensional, or holds anything but numbers >= 0.
    ParameterError
        When `interval` lies outside its domain.

    Examples
    --------
    >>> expected_depth([3, 5, 4, 4])
    4.0
    """
    error = DataError("depth: expected a non-empty one-dimensional array of numbers")
    values = vector(depth, "iuf", error).astype(np.float64)
    if not values.size:
        raise error
    good = np.isfinite(values) & (values >= 0)
    if not good.all():
        row = int(np.argmin(good))
        raise DataError(f"depth, row {row}: {values[row]} found where 0 or more was expected")
    return estimate(mean_of(values), values.size, interval)
