"""What a label-tree model has learnt, apart from the estimator's parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from labelgrove._cuts import least_scores
from labelgrove._errors import DataError, ParameterError
from labelgrove._features import FeatureNames
from labelgrove._labels import LabelRegistry
from labelgrove._validation import Rows, check_rows, require_magnitude
from labelgrove.models.engine._compaction_report import CompactionReport
from labelgrove.tuning import Thresholds

KINDS = ("multiclass", "multilabel", "indicator")
"""Kinds of targets."""

Arrays = dict[str, npt.NDArray[Any]]


class Options(Protocol):
    """What an engine was started with, every value checked."""

    @property
    def normalize(self) -> bool:
        """Whether rows are scaled to unit length."""

    def to_dict(self) -> dict[str, Any]:
        """As the core takes it, and as the model file keeps it."""

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Self:
        """What :meth:`to_dict` gave, checked again."""


class Engine(Protocol):
    """What every compiled model offers; rows are ``Rows.arrays``, labels and features are ids."""

    @property
    def examples_seen(self) -> int:
        """Examples learnt from, every pass counted."""

    @property
    def label_count(self) -> int:
        """Label ids are below this."""

    @property
    def can_learn(self) -> bool:
        """Whether more can be learnt."""

    def top_k(self, *args: Any) -> tuple[Any, ...]:
        """Labels (n, k), scores (n, k), and what it cost (n, 4): the fields of `SearchStats`."""

    def above_threshold(self, *args: Any) -> tuple[Any, ...]:
        """Row ends (n + 1,), labels, scores, and what it cost (n, 4), likewise."""

    def labels(self) -> npt.NDArray[np.uint32]:
        """All labels that may be predicted, increasing."""

    def remove_labels(self, labels: npt.NDArray[np.uint32]) -> None:
        """Never predict these again."""

    def size(self) -> dict[str, int]:
        """Weights held, and bytes."""

    def save(self, for_prediction: bool) -> Arrays:
        """Everything learnt; ``counters`` begins with ``label_count`` and ``examples_seen``."""


@dataclass
class Learned:
    """The engine, and what its numbers mean.

    Attributes
    ----------
    engine : Engine
        The compiled model; engines differ in how they learn.
    options : Options
        What the engine was started with; the estimator's parameters may have changed since.
    labels : LabelRegistry
        Label ids are the engine's.
    features : FeatureNames or None
        Names of features where examples are dicts.
    kind : {"multiclass", "multilabel", "indicator"}
    n_columns : int
        Columns of the indicator.
    n_features : int
        Columns of X seen so far.
    counts : ndarray of int64
        By label id, how many examples had it; there may be room for more labels.
    tuned : Thresholds or None
        Thresholds of `predict` by label id, if it was given some; later labels have the default.
    compaction : CompactionReport or None
        Of a model that was made compact.
    """

    engine: Any
    options: Options
    labels: LabelRegistry
    features: FeatureNames | None
    kind: str
    n_columns: int
    n_features: int
    counts: npt.NDArray[np.int64]
    tuned: Thresholds | None = None
    compaction: CompactionReport | None = None

    @classmethod
    def start(
        cls, options: Options, labels: LabelRegistry, engine: Engine | None, *, named: bool
    ) -> Self:
        """Nothing learnt yet, and no kind of targets; ``named`` tells that features have names."""
        return cls(
            engine=engine,
            options=options,
            labels=labels,
            features=FeatureNames() if named else None,
            kind="",
            n_columns=0,
            n_features=0,
            counts=np.zeros(len(labels), np.int64),
        )

    def columns(self) -> tuple[npt.NDArray[np.integer[Any]], int]:
        """Column of every label id in results, and how many columns there are."""
        if self.kind == "indicator":
            return self.labels.names.astype(np.int64, copy=False), self.n_columns
        return self.labels.places, self.labels.n_active

    def classes(self) -> npt.NDArray[Any]:
        """Labels that can be predicted, sorted, or columns of the indicator."""
        return np.arange(self.n_columns) if self.kind == "indicator" else self.labels.sorted_names

    def label_counts(self) -> npt.NDArray[np.int64]:
        """How many examples had each class; shape (n_classes,)."""
        column_of, n_columns = self.columns()
        counts = np.zeros(n_columns, np.int64)
        active = self.labels.active
        counts[column_of[active]] = self.counts[: len(active)][active]
        return counts

    def count(self, ids: npt.NDArray[np.uint32], times: int) -> None:
        """Add the labels of examples that have been learnt so many times."""
        if len(self.counts) < len(self.labels):
            room = np.zeros(max(len(self.labels), 2 * len(self.counts)), np.int64)
            room[: len(self.counts)] = self.counts
            self.counts = room
        np.add.at(self.counts, ids.astype(np.int64), times)

    def check_rows(self, X: Any, *, grow: bool = False) -> Rows:
        """Validated rows that suit this model.

        Sparse rows may be as narrow or as wide as they like; a dense row that lacks columns is
        more likely a mistake and is refused.
        """
        rows = check_rows(X, names=self.features, grow=grow)
        if rows.dense and rows.n_features < self.n_features:
            raise DataError(
                f"X has {rows.n_features} features, but LabelGrove is expecting "
                f"{self.n_features} features as input"
            )
        if not self.options.normalize:
            require_magnitude(rows)
        return rows

    def allowed(self, labels: Any) -> npt.NDArray[np.uint32] | None:
        """Ids of the labels that may be predicted; None for all. Unknown names are left out."""
        if labels is None:
            return None
        ids = self.labels.ids_of(as_collection(labels, "labels"))
        return ids[ids >= 0].view(np.uint32)

    def thresholds(self, threshold: Any) -> npt.NDArray[np.float32]:
        """One threshold, or one for every label id, from what the user gave by class."""
        try:
            values = np.asarray(threshold, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ParameterError(
                f"threshold={threshold!r}: expected a number, or one for each class"
            ) from error
        if np.isnan(values).any() or threshold is None:
            raise ParameterError("threshold: found NaN or None; expected numbers")
        least = least_scores(values)
        if values.ndim == 0:
            return least.reshape(1)
        column_of, n_columns = self.columns()
        if values.shape != (n_columns,):
            raise ParameterError(
                f"threshold: found shape {values.shape}; expected one number, or one for each of "
                f"the {n_columns} classes"
            )
        active = self.labels.active
        by_label = np.full(max(len(active), 2), np.inf, np.float32)  # a single one means: for all
        by_label[: len(active)][active] = least[column_of[active]]
        return by_label


def as_collection(labels: Any, name: str) -> list[Any]:
    """Labels as a list; a bare string is not a collection of characters.

    Raises
    ------
    DataError
    """
    if isinstance(labels, (str, bytes)) or not isinstance(labels, Iterable):
        raise DataError(f"{name}={labels!r}: expected a collection of labels")
    return list(labels)
