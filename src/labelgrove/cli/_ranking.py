"""What `predict` asks of a model: the best k labels, or all above a threshold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from labelgrove._errors import ParameterError
from labelgrove.cli._models import Model
from labelgrove.cli._thresholds import Cut

#: How many labels are given where nothing is said.
DEFAULT_K = 5


@dataclass(frozen=True)
class Search:
    """A way of asking for labels.

    Parameters
    ----------
    model : Model
        Who is asked.
    k : int or None
        Labels at most; None means ``DEFAULT_K`` where no threshold is given, else any number.
    threshold : float, ndarray or None
        Least score, of all labels or of each.
    beam : int or None
        Width of the beam; None searches exactly.
    allowed : list or None
        The only labels to be given.
    """

    model: Model
    k: int | None = None
    threshold: Cut | None = None
    beam: int | None = None
    allowed: list[Any] | None = None

    def __post_init__(self) -> None:
        """Refuse a beam where there is none."""
        if self.beam is not None and self._by_threshold:
            raise ParameterError("--beam goes with -k; a search by thresholds is exact")

    def find(self, X: Any) -> Iterator[tuple[list[Any], list[float]]]:
        """Ask for every row.

        Parameters
        ----------
        X : csr_array, shape (n, n_features)
            Rows as the estimator takes them.

        Yields
        ------
        tuple of (list, list of float)
            Labels, best first, and their scores.
        """
        return self._above(X) if self._by_threshold else self._best(X)

    @property
    def _by_threshold(self) -> bool:
        # The best k need not be the k best of those that reach thresholds of their own.
        each = isinstance(self.threshold, np.ndarray)
        return each or (self.threshold is not None and self.k is None)

    def _best(self, X: Any) -> Iterator[tuple[list[Any], list[float]]]:
        labels, scores = self.model.classifier.predict_topk(
            X, k=self.k or DEFAULT_K, labels=self.allowed, beam_width=self.beam
        )
        least = -np.inf if self.threshold is None else self.threshold
        # A missing place has the score NaN, which is not at least anything.
        lengths = (scores >= least).sum(axis=1).tolist()
        for names, values, length in zip(labels.tolist(), scores.tolist(), lengths, strict=True):
            yield names[:length], values[:length]

    def _above(self, X: Any) -> Iterator[tuple[list[Any], list[float]]]:
        classifier = self.model.classifier
        found = classifier.predict_proba(X, threshold=self.threshold, labels=self.allowed)
        for row in range(found.shape[0]):
            part = slice(found.indptr[row], found.indptr[row + 1])
            columns, scores = found.indices[part], found.data[part]
            order = np.lexsort((columns, -scores))[: self.k]
            yield classifier.classes_[columns[order]].tolist(), scores[order].tolist()
