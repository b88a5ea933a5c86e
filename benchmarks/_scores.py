"""Propensity-scored precision, computed identically for every program."""

from __future__ import annotations

from itertools import chain

import numpy as np
import numpy.typing as npt

from benchmarks._data import indicator
from labelgrove.metrics import inverse_propensity, psp_at_k

Labels = list[tuple[int, ...]]


def propensity_scored(predicted: npt.NDArray[np.int64], test: Labels, train: Labels) -> list[float]:
    """PSP@1, PSP@3 and PSP@5 in per cent; propensities by the usual A = 0.55 and B = 1.5.

    Parameters
    ----------
    predicted : ndarray of shape (n, 5)
        Labels, best first; -1 for missing ones.
    test : list of n tuples
    train : list of tuples
        Label sets whose frequencies determine the propensities.
    """
    columns = 1 + max(chain.from_iterable((*test, *train)))
    truth, weights = indicator(test, columns), inverse_propensity(indicator(train, columns))
    return [round(100 * float(psp_at_k(truth, predicted, weights, k)), 3) for k in (1, 3, 5)]
