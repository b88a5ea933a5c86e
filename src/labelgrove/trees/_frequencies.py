"""What builders and statistics are given: labels and how often they occur."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove._errors import ParameterError
from labelgrove._names import Names, as_names, as_vector, place_in_list

Frequencies = npt.NDArray[np.float64]


def as_labels(labels: Iterable[Any]) -> Names:
    """Return labels as an int64 array, or as an object array of str.

    Raises
    ------
    DataError
        Something that is no list of labels, or no label, or labels of two types.
    """
    if not isinstance(labels, Sequence | np.ndarray) and isinstance(labels, Iterable):
        labels = list(labels)
    return as_names(as_vector(labels), place=place_in_list, classes=False)


def as_frequencies(
    frequencies: Any, labels: Sequence[Any] | Names | None
) -> tuple[Names, Frequencies]:
    """Return labels and the frequency of each.

    Parameters
    ----------
    frequencies : mapping from label to number, or sequence of numbers
        How often each label occurs, in any unit.
    labels : sequence of str or int, optional
        The labels that a sequence of frequencies belongs to; 0, 1, 2... when not given.

    Raises
    ------
    ParameterError
        A frequency that is negative or no finite number, more than floats can add up, or a number
        of labels other than that of frequencies.
    DataError
        As `as_labels`.
    """
    if isinstance(frequencies, Mapping):
        if labels is not None:
            raise ParameterError("labels: not wanted where frequencies are a mapping from labels")
        names, values = as_labels(frequencies.keys()), _numbers(list(frequencies.values()))
    else:
        values = _numbers(frequencies)
        names = np.arange(values.size) if labels is None else as_labels(labels)
    if names.size != values.size:
        raise ParameterError(
            f"frequencies: there are {values.size} for {names.size} labels; expected one for each"
        )
    good = (values >= 0) & (values < np.inf)
    if not good.all():
        wrong = int(np.argmin(good))
        raise ParameterError(
            f"frequencies: that of label {names[wrong : wrong + 1].tolist()[0]!r} is "
            f"{values[wrong]}; expected a finite number that is not negative"
        )
    with np.errstate(over="ignore"):
        total = values.sum()
    if total > np.finfo(np.float64).max / max(values.size, 1):
        raise ParameterError(f"frequencies: they sum to {total}, too much to reckon with")
    return names, values


def as_count(value: Any, name: str, least: int) -> int:
    """Return an integer parameter; raise `ParameterError` if it is none or too small."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ParameterError(f"{name}={value!r}: expected an integer of at least {least}")
    return int(value)


def _numbers(values: Any) -> Frequencies:
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        array = np.empty((0, 0))
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iuf"):
        raise ParameterError(
            "frequencies: expected a mapping from labels to numbers or a flat sequence of numbers"
        )
    return array.astype(np.float64)
