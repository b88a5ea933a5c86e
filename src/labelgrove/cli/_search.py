"""Queries to a model: its k best labels, or every label that reaches a threshold."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove._cuts import Cut, reaches
from labelgrove._errors import ParameterError
from labelgrove._numbers import counted
from labelgrove.cli._models import Model, estimator_of
from labelgrove.cli.streams._console import say_warning
from labelgrove.data import read_filter_pairs
from labelgrove.evaluation._observed import most_excluded
from labelgrove.models.thresholds._tuner import about_thresholds

_NAMES = ("least", "lower_quartile", "median", "upper_quartile", "greatest")


def chosen_cut(model: Model, threshold: float | None, thresholds: bool) -> tuple[Cut | None, int]:
    """Return the threshold or thresholds that ``--threshold`` and ``--thresholds`` select.

    With them comes the number of labels that every example gets in any case.
    """
    if not thresholds:
        return threshold, 0
    if threshold is not None:
        raise ParameterError("expected --threshold or --thresholds, not both")
    kept: npt.NDArray[np.float64] | None = getattr(model, "thresholds_", None)
    if kept is None:
        raise ParameterError(
            "--thresholds: this model has no thresholds; set them with `labelgrove tune`, or train "
            "with --set thresholds=ofo"
        )
    return kept, about_thresholds(estimator_of(model))["least_labels"]


def excluded_labels(model: Model, path: str | None) -> dict[int, set[Any]]:
    """Read ``--filter-pairs``: the excluded labels of each row, in the model's label type."""
    if path is None:
        return {}
    pairs = read_filter_pairs(path)
    excluded = {row: {label_of(model, n) for n in labels} for row, labels in pairs.items()}
    known = set(model.classes_.tolist())
    if excluded and known.isdisjoint(chain.from_iterable(excluded.values())):
        say_warning(f"{path}: ignoring all pairs, as the model knows none of their labels")
    return excluded


def label_of(model: Model, number: int) -> int | str:
    """Convert a label number from a file to the model's label type: an integer or a string."""
    return number if model.classes_.dtype.kind in "iu" else str(number)


def distribution(thresholds: npt.NDArray[np.float64]) -> dict[str, float]:
    """Summarise thresholds: the least, the quartiles and the greatest."""
    if not len(thresholds):
        return {}
    values = np.quantile(thresholds, (0.0, 0.25, 0.5, 0.75, 1.0))
    return dict(zip(_NAMES, values.tolist(), strict=True))


def in_words(found: Mapping[str, float]) -> str:
    """Format a distribution for people."""
    if not found:
        return "none"
    return f"{found['least']:.3g} to {found['greatest']:.3g}, median {found['median']:.3g}"


def least_in_words(least_labels: int) -> str:
    """Format the number of labels that every example gets for people, as an addition."""
    return f"; at least {counted(least_labels, 'label')} per example" if least_labels else ""


#: Default of ``-k``.
DEFAULT_K = 5


@dataclass(frozen=True)
class Search:
    """A query for labels.

    ``k`` is the most labels per row; None means ``DEFAULT_K`` without a threshold, else no limit.
    The ``threshold`` is the same for all labels, or one per label; the best ``least`` need not
    reach it. A ``beam`` of None searches exactly. Labels are ``excluded`` by row.
    """

    model: Model
    k: int | None = None
    threshold: Cut | None = None
    least: int = 0
    beam: int | None = None
    allowed: list[Any] | None = None
    excluded: Mapping[int, Collection[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a beam for a search by thresholds."""
        if self.beam is not None and self._by_threshold:
            raise ParameterError("--beam: expected -k, since a search by thresholds is exact")

    def find(self, X: Any, first: int = 0) -> Iterator[tuple[list[Any], list[float]]]:
        """Yield labels and scores of every row; ``first`` is the number of the first row."""
        found = self._above(X) if self._by_threshold else self._best(X)
        k = self.k if self._by_threshold else self.k or DEFAULT_K
        for row, (labels, scores) in enumerate(found, first):
            if outside := self.excluded.get(row):
                places = [i for i, label in enumerate(labels) if label not in outside]
                labels, scores = ([values[i] for i in places] for values in (labels, scores))
            yield labels[:k], scores[:k]

    @property
    def _by_threshold(self) -> bool:
        # With one threshold per label, the k best that reach theirs may not be among the k best.
        each = isinstance(self.threshold, np.ndarray)
        return each or (self.threshold is not None and self.k is None)

    def _best(self, X: Any) -> Iterator[tuple[list[Any], list[float]]]:
        wanted = (self.k or DEFAULT_K) + most_excluded(self.excluded)
        deep = min(wanted, max(len(self.model.classes_), 1))
        labels, scores = self.model.predict_topk(
            X, k=deep, labels=self.allowed, beam_width=self.beam
        )
        least = -np.inf if self.threshold is None else self.threshold
        # Missing places have the score NaN, which reaches no threshold.
        lengths = reaches(scores, least).sum(axis=1).tolist()
        for names, values, length in zip(labels.tolist(), scores.tolist(), lengths, strict=True):
            yield names[:length], values[:length]

    def _above(self, X: Any) -> Iterator[tuple[list[Any], list[float]]]:
        found = self.model.predict_proba(
            X, threshold=self.threshold, least_labels=self.least, labels=self.allowed
        )
        for row in range(found.shape[0]):
            part = slice(found.indptr[row], found.indptr[row + 1])
            columns, scores = found.indices[part], found.data[part]
            order = np.lexsort((columns, -scores))
            yield self.model.classes_[columns[order]].tolist(), scores[order].tolist()
