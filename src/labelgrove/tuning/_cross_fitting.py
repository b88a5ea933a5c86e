"""Cross-fitting: rows are predicted with thresholds tuned on other rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array, vstack

from labelgrove.tuning._figures import FOLDS, fold_of
from labelgrove.tuning._thresholds import Thresholds


def cross_fitted(
    Y: csr_array, scores: csr_array, tune: Callable[[csr_array, csr_array], Thresholds]
) -> csr_array:
    """Predict each fifth of the rows with thresholds tuned on the other four fifths.

    Measuring thresholds on the rows that they were tuned on is optimistic; this is not.

    Parameters
    ----------
    Y : csr_array of shape (n, m)
        True labels, a 0/1 indicator.
    scores : csr_array of shape (n, m)
        Probabilities.
    tune : callable
        Function of true labels and scores that returns thresholds.

    Returns
    -------
    csr_array of int8, shape (n, m)
    """
    fold = fold_of(Y.shape[0])
    parts = [tune(Y[fold != k], scores[fold != k]).apply(scores[fold == k]) for k in range(FOLDS)]
    order = np.argsort(np.argsort(fold, kind="stable"), kind="stable")
    return csr_array(csr_array(vstack(parts))[order])
