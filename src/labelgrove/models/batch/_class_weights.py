"""Weights of labels: what it costs to miss one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove._errors import DataError, ParameterError
from labelgrove._labels import LabelRegistry
from labelgrove.metrics import inverse_propensity

_KINDS = ("balanced", "propensity")
_FEWEST_EXAMPLES = 3  # that the model of propensities knows


def check_class_weight(class_weight: Any) -> None:
    """Refuse what `class_weights` could not use.

    Raises
    ------
    ParameterError
    """
    if class_weight is None or (isinstance(class_weight, str) and class_weight in _KINDS):
        return
    if not isinstance(class_weight, Mapping):
        raise ParameterError(
            f"class_weight={class_weight!r}: expected 'balanced', 'propensity', a mapping from "
            "labels to numbers, or None"
        )
    for label, weight in class_weight.items():
        number = isinstance(weight, (int, float, np.number)) and not isinstance(weight, bool)
        if not number or not 0 < weight < 1e6:
            raise ParameterError(
                f"class_weight[{label!r}]={weight!r}: expected a number above 0 and below 1e6"
            )


def class_weights(
    class_weight: Any, labels: LabelRegistry, ids: npt.NDArray[np.uint32], n_rows: int
) -> npt.NDArray[np.float32] | None:
    """Give the weight of every label id; None where all are 1.

    Parameters
    ----------
    class_weight : {"balanced", "propensity"}, mapping or None
        Inversely to how often a label occurs, n / (labels that occur × its examples), as
        scikit-learn has it; the inverse propensity of Jain et al. (2016); or by name.
    labels : LabelRegistry
    ids : ndarray of uint32
        The labels of all rows.
    n_rows : int

    Raises
    ------
    DataError
        If a name in the mapping is no label.
    """
    if class_weight is None:
        return None
    counts = np.bincount(ids, minlength=len(labels))
    if class_weight == "balanced":
        shares = max(np.count_nonzero(counts), 1) * np.maximum(counts, 1)
        return np.asarray(n_rows / shares, np.float32)
    if class_weight == "propensity":
        q = inverse_propensity(counts, n_examples=max(n_rows, _FEWEST_EXAMPLES))
        return np.asarray(q, np.float32)
    weights = np.ones(len(labels), np.float32)
    names = list(class_weight)
    known = labels.ids_of(names)
    if (known < 0).any():
        raise DataError(f"class_weight: {names[int(np.argmin(known))]!r} is no label of y")
    weights[known] = list(class_weight.values())
    return weights
