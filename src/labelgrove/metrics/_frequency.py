"""Head, torso and tail: frequent, medium and rare labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from labelgrove._errors import DataError, ParameterError, brief
from labelgrove._parameters import choice, finite
from labelgrove.metrics._inputs import NO_COUNTS, IntArray, label_counts


@dataclass(frozen=True)
class FrequencySplit:
    """Column ids of the frequent, medium and rare labels.

    Attributes
    ----------
    head, torso, tail : int64 arrays
        Each in increasing order of id; together they hold every label once.
    """

    head: IntArray
    torso: IntArray
    tail: IntArray


def frequency_split(
    labels: Any, *, by: str = "volume", at: tuple[float, float] | None = None
) -> FrequencySplit:
    """Split the labels into head, torso and tail by how often they occur.

    Pass a part as the ``labels`` parameter of any metric to measure that part alone.

    Parameters
    ----------
    labels : sparse matrix (n_rows, n_labels) or array (n_labels,)
        0/1 labels, usually of the training set, or the number of occurrences of each label.
    by : {"volume", "count"}, default="volume"
        "volume": the labels, most frequent first (ties: smaller id first), fill the head until
        the preceding labels account for the share ``at[0]`` of all occurrences, then the torso
        until ``at[1]``. "count": labels with fewer than ``at[0]`` occurrences form the tail, those
        with ``at[1]`` or more the head.
    at : tuple of two numbers, optional
        The two boundaries. Default: (1/3, 2/3) for "volume", which gives three parts of about
        equal volume, and (10, 100) for "count".

    Returns
    -------
    FrequencySplit
        Labels that never occur belong to the tail.

    Raises
    ------
    DataError
        When `labels` cannot be used.
    ParameterError
        When `by` is unknown, or `at` is not increasing or outside its domain.

    Examples
    --------
    >>> split = frequency_split([1, 50, 0, 29, 20], at=(0.5, 0.8))
    >>> split.head.tolist(), split.torso.tolist(), split.tail.tolist()
    ([1], [3, 4], [0, 2])
    """
    counts = label_counts(labels)
    if not counts.size:
        raise DataError(NO_COUNTS)
    if choice("by", by, ("volume", "count")) == "volume":
        low, high = _borders((1 / 3, 2 / 3) if at is None else at, 1.0)
        part = _by_volume(counts, low, high)
    else:
        low, high = _borders((10, 100) if at is None else at, float("inf"))
        part = np.where(counts >= high, 0, np.where(counts >= low, 1, 2))
    return FrequencySplit(*(np.flatnonzero(part == i).astype(np.int64) for i in range(3)))


def _by_volume(counts: IntArray, low: float, high: float) -> IntArray:
    """Part number (0 head, 1 torso, 2 tail) of every label."""
    order = np.argsort(-counts, kind="stable")
    sorted_counts = counts[order]
    before = np.cumsum(sorted_counts) - sorted_counts
    total = counts.sum()
    part = np.empty(counts.size, dtype=np.int64)
    part[order] = np.where(before < low * total, 0, np.where(before < high * total, 1, 2))
    return part


def _borders(at: tuple[float, float], largest: float) -> tuple[float, float]:
    try:
        low, high = (finite("at", border) for border in at)
    except (TypeError, ValueError):
        low, high = 1.0, 0.0
    if not 0 <= low <= high <= largest:
        raise ParameterError(
            f"at={brief(at)}: expected two increasing numbers from 0 to {largest:g}"
        )
    return low, high
