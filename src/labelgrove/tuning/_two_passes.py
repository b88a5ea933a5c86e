"""OFO over rows that come in batches, where its start depends on all of them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, vstack

from labelgrove.tuning._bounds import clip
from labelgrove.tuning._pairs import FloatArray
from labelgrove.tuning._thresholds import Thresholds
from labelgrove.tuning._tune import tune_ofo


class TwoPassOFO:
    """Keep labels and scores, then let OFO begin from the best common threshold.

    Parameters
    ----------
    n_labels : int
    lower : ndarray of float64, shape (n_labels,)
    options
        As for `tune_ofo`.
    """

    def __init__(
        self, n_labels: int, *, lower: npt.ArrayLike, upper: float, **options: Any
    ) -> None:
        self._least = np.broadcast_to(clip(0.0, lower, upper), (n_labels,)).copy()
        self._options = {"lower": lower, "upper": upper, **options}
        self._Y: list[csr_array] = [csr_array((0, n_labels), dtype=np.int8)]
        self._scores: list[csr_array] = [csr_array((0, n_labels), dtype=np.float32)]

    def floor(self, n_rows: int = 1) -> FloatArray:  # noqa: ARG002 (the same for all methods)
        """Return the least score of every label that matters, shape (n_labels,)."""
        return self._least

    def update(self, Y: csr_array, scores: csr_array) -> Self:
        """Keep these rows."""
        self._Y.append(Y)
        self._scores.append(scores)
        return self

    def finish(self) -> Thresholds:
        """Return the thresholds."""
        Y, scores = (csr_array(vstack(parts)) for parts in (self._Y, self._scores))
        return tune_ofo(Y, scores, **self._options)
