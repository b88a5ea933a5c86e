"""Hits of rankings: found once, used by every ranking metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from labelgrove.metrics._inputs import (
    MISSING,
    IntArray,
    as_indicator,
    as_ranking,
    check_k,
    restrict,
    rows_of,
)
from labelgrove.metrics._score import FloatArray


@dataclass(frozen=True)
class RankedHits:
    """Rankings beside the truth.

    Attributes
    ----------
    truth : csr_array (n, L)
        Relevant labels: ones, sorted columns.
    ids : int64 array (n, k)
        Ranked label ids, -1 where missing.
    hit : bool array (n, k)
        Whether the label in that place is relevant.
    """

    truth: csr_array
    ids: IntArray
    hit: npt.NDArray[np.bool_]

    @property
    def n_rows(self) -> int:
        return int(self.ids.shape[0])

    @property
    def n_relevant(self) -> IntArray:
        """Number of relevant labels of every row, shape (n,)."""
        return np.asarray(np.diff(self.truth.indptr), dtype=np.int64)


def match(Y_true: Any, prediction: Any, k: int, labels: npt.ArrayLike | None = None) -> RankedHits:
    """Check the input and mark which of the best `k` predictions are relevant.

    With `labels`, only those columns of `Y_true` count as relevant; rankings stay as they are.
    """
    k = check_k(k)
    truth = as_indicator(Y_true, "Y_true")
    ids = as_ranking(prediction, truth.shape, k)
    truth = restrict(truth, labels)
    rows = np.arange(ids.shape[0], dtype=np.int64)[:, np.newaxis]
    # A missing place would read as the last column of the row before.
    hit = contains(truth, rows, ids) & (ids != MISSING)
    return RankedHits(truth, ids, hit)


def contains(truth: csr_array, rows: IntArray, columns: IntArray) -> npt.NDArray[np.bool_]:
    """Tell for every pair of row and column (broadcast) whether a canonical CSR stores it."""
    # One whole number for every pair: sorted as the entries of a canonical CSR are.
    stored = rows_of(truth) * truth.shape[1] + truth.indices
    wanted = rows * truth.shape[1] + columns
    found = np.searchsorted(stored, wanted)
    within = found < stored.size
    hit = np.zeros(wanted.shape, dtype=np.bool_)
    hit[within] = stored[found[within]] == wanted[within]
    return hit


def discounts(k: int) -> FloatArray:
    """Return 1/log2(place + 1) for the places 1 to `k`."""
    return np.asarray(1.0 / np.log2(np.arange(2, k + 2)), dtype=np.float64)
