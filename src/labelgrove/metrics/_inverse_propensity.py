"""Weights of labels by rarity: the propensity model of Jain et al. (2016)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from labelgrove._errors import DataError, ParameterError
from labelgrove.metrics._inputs import IntArray, as_indicator
from labelgrove.metrics._score import FloatArray

_FEWEST_EXAMPLES = 3  # below e examples the model's C is negative and so may be q


def inverse_propensity(
    labels: Any, *, n_examples: int | None = None, A: float = 0.55, B: float = 1.5
) -> FloatArray:
    """Inverse propensity of every label, from how often it occurs in the training data.

    q_j = 1 + C (N_j + B)^(-A) with C = (ln N - 1)(B + 1)^A (Jain et al. 2016, as given in
    Appendix D of Jasinska-Kobus et al. 2021), where N_j of N training examples have label j.

    Parameters
    ----------
    labels : sparse matrix (n_rows, n_labels) or array (n_labels,)
        The training set's labels, 0/1, or how many examples have each label.
    n_examples : int, optional
        Number of training examples N; needed with counts, known from a matrix.
    A, B : float, default=0.55 and 1.5
        Parameters of the propensity model. Recommended are 0.5 and 0.4 for the Wikipedia sets,
        0.6 and 2.6 for the Amazon sets, and the defaults elsewhere.

    Returns
    -------
    float64 array (n_labels,)

    Raises
    ------
    DataError
        When counts are negative or not whole numbers, or exceed `n_examples`.
    ParameterError
        When `n_examples` is missing or below 3, or `A` or `B` is not positive.

    Examples
    --------
    >>> inverse_propensity([100, 1], n_examples=1000).round(2).tolist()
    [1.77, 6.91]
    """
    if not (np.isfinite(A) and A > 0 and np.isfinite(B) and B > 0):
        raise ParameterError(f"A={A!r}, B={B!r}: expected two positive numbers")
    if issparse(labels):
        matrix = as_indicator(labels, "labels")
        counts = np.bincount(matrix.indices, minlength=matrix.shape[1])
        n = matrix.shape[0] if n_examples is None else n_examples
    else:
        counts = _check_counts(labels)
        if n_examples is None:
            raise ParameterError("n_examples is missing: it is needed when counts are given")
        n = n_examples
    if n < _FEWEST_EXAMPLES:
        raise ParameterError(
            f"n_examples={n}: the propensity model needs at least {_FEWEST_EXAMPLES} examples"
        )
    if counts.size and counts.max() > n:
        raise DataError(
            f"labels: label {counts.argmax()} occurs {counts.max()} times in {n} examples"
        )
    C = (np.log(n) - 1.0) * (B + 1.0) ** A
    return np.asarray(1.0 + C * (counts + B) ** -A, dtype=np.float64)


def _check_counts(counts: npt.ArrayLike) -> IntArray:
    array = np.asarray(counts)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise DataError("labels: expected a sparse matrix or a one-dimensional array of counts")
    if array.size and array.min() < 0:
        raise DataError(f"labels: label {array.argmin()} has the negative count {array.min()}")
    return array.astype(np.int64)
