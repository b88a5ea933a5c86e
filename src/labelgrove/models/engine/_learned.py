"""What a model has learnt, apart from the estimator's parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from labelgrove._cuts import least_scores
from labelgrove._errors import DataError, NotLearnedError, ParameterError
from labelgrove._features import FeatureNames, check_column_names
from labelgrove._labels import LabelRegistry, Targets
from labelgrove._validation import Rows, check_rows, require_magnitude
from labelgrove.models.engine._records import CompactionReport, Options
from labelgrove.tuning import Thresholds

KINDS = ("multiclass", "multilabel", "indicator")
"""Kinds of targets."""

Arrays = dict[str, npt.NDArray[Any]]
Pointers = npt.NDArray[np.int64]
Ids = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float32]


def without_prefix(prefix: str, arrays: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """The arrays of one part of a model, whose names begin with a prefix among those of all."""
    return {name.removeprefix(prefix): arrays[name] for name in arrays if name.startswith(prefix)}


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
        """Whether it can go on learning, rather than only predict."""

    def top_k(
        self,
        indptr: Pointers,
        ids: Ids,
        values: Floats,
        k: int,
        beam_width: int,
        allowed: Ids | None,
        threads: int,
    ) -> tuple[Any, ...]:
        """Labels (n, k), scores (n, k), and what it cost (n, 4): the fields of `SearchStats`."""

    def above_threshold(
        self,
        indptr: Pointers,
        ids: Ids,
        values: Floats,
        thresholds: Floats,
        allowed: Ids | None,
        threads: int,
    ) -> tuple[Any, ...]:
        """Row ends (n + 1,), labels, scores, and what it cost (n, 4), likewise."""

    def explain(
        self, indptr: Pointers, ids: Ids, values: Floats, label: int
    ) -> dict[str, npt.NDArray[Any]]:
        """What led to the score of one label, for one row."""

    def prepare_thresholds(self, thresholds: Floats) -> Any:
        """Thresholds by label id, with all that a search derives from them."""

    def above_prepared(
        self, indptr: Pointers, ids: Ids, values: Floats, thresholds: Any, threads: int
    ) -> tuple[Any, ...]:
        """As `above_threshold`, with thresholds from `prepare_thresholds` of the same state."""

    def labels(self) -> Ids:
        """All labels that may be predicted, increasing."""

    def remove_labels(self, labels: Ids) -> None:
        """Never predict these again."""

    def size(self) -> dict[str, int]:
        """Weights held, and bytes."""

    def save(self, for_prediction: bool, *, streamed: bool = False) -> dict[str, Any]:
        """Everything learnt; ``counters`` begins with ``label_count`` and ``examples_seen``."""


class OnlineEngine(Engine, Protocol):
    """An engine that learns from one example after another.

    Compiled ones also take which rows are ``asked`` about, and ``k``: they give the k best labels
    of these, and their scores, as they were just before each was learnt.
    """

    def learn(
        self,
        indptr: Pointers,
        ids: Ids,
        values: Floats,
        label_indptr: Pointers,
        labels: Ids,
        begin: int,
        end: int,
        threads: int,
        weights: Floats | None,
    ) -> object:
        """Learn from the rows ``begin`` to ``end``."""


class TreeEngine(Engine, Protocol):
    """An engine that searches a tree with one leaf a label."""

    def tree(self) -> dict[str, npt.NDArray[Any]]:
        """The tree: ``parent``, ``label`` and ``silent`` of every node."""

    def paths(
        self,
        indptr: Pointers,
        ids: Ids,
        values: Floats,
        label_indptr: Pointers,
        labels: Ids,
        threads: int,
    ) -> tuple[Any, ...]:
        """Ends of the paths to labels, and the probability of every node given its parent."""

    def compact(self, dtype: int, threshold: float) -> Arrays:
        """What `Format.load_compact` takes."""

    def compact_threshold(self, dtype: int, most_bytes: int, threads: int) -> float:
        """The least threshold with which what it may drop takes at most so many bytes."""


OptionsT_co = TypeVar("OptionsT_co", bound=Options, covariant=True)
EngineT_co = TypeVar("EngineT_co", bound=Engine, covariant=True)


class Prepared(NamedTuple):
    """Thresholds as the engine takes them, and of which state they are."""

    thresholds: Any
    engine: Any
    tuned: Thresholds | None
    state: tuple[int, ...]


@dataclass
class Learned(Generic[OptionsT_co, EngineT_co]):
    """A compiled engine, with the meaning of its ids: labels, features, kind of targets.

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
    dense : bool
        Whether the indicator was given as an array: then results are, too.
    column_names : ndarray of object (str), or None
        Names of the columns of X where examples are data frames.
    tuned : Thresholds or None
        Thresholds of `predict` by label id, if it was given some; later labels have the default.
    compaction : CompactionReport or None
        What making it compact has cost, of a compact model.
    prepared : Prepared or None
        The thresholds of `predict` as the engine last took them.
    """

    engine: EngineT_co
    options: OptionsT_co
    labels: LabelRegistry
    features: FeatureNames | None
    kind: str
    n_columns: int
    n_features: int
    counts: npt.NDArray[np.int64]
    dense: bool = False
    column_names: npt.NDArray[Any] | None = None
    tuned: Thresholds | None = None
    compaction: CompactionReport | None = None
    prepared: Prepared | None = field(default=None, init=False, repr=False, compare=False)

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

    def check_rows(self, X: Any) -> Rows:
        """Validated rows that suit this model."""
        check_column_names(X, self.column_names)
        return suitable_rows(X, self.features, self.n_features, normalize=self.options.normalize)

    def require_same_kind(self, targets: Targets) -> None:
        """Refuse targets of another kind than those learnt."""
        if targets.kind != self.kind:
            raise DataError(f"y: {targets.kind} targets, but the model has learnt {self.kind} ones")

    def remove_labels(self, names: list[Any]) -> None:
        """Never predict these again; nothing is changed if one is not known."""
        ids = self.labels.ids_of(names)
        if (ids < 0).any():
            raise DataError(f"label {names[int(np.argmin(ids))]!r} is not known; none is removed")
        ids = np.unique(ids)
        in_engine = np.isin(ids, self.engine.labels())
        self.engine.remove_labels(ids[in_engine].view(np.uint32))
        self.labels.retire(ids)

    def rename_labels(self, names: Mapping[Any, Any]) -> None:
        """Give labels other names; those of an indicator are columns that there are."""
        if self.kind == "indicator":
            for name in names.values():
                if not isinstance(name, (int, np.integer)) or not 0 <= name < self.n_columns:
                    raise DataError(
                        f"new name {name!r}: expected a column from 0 to {self.n_columns - 1}"
                    )
        self.labels.rename(names)

    def allowed(self, labels: Any) -> npt.NDArray[np.uint32] | None:
        """Ids of the labels that may be predicted; None for all. Unknown names are left out."""
        if labels is None:
            return None
        ids = self.labels.ids_of(as_collection(labels))
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


AnyLearned = Learned[Options, Engine]
LearnedT = TypeVar("LearnedT", bound=AnyLearned)


def known(learned: LearnedT | None) -> LearnedT:
    """What was learnt.

    Raises
    ------
    NotLearnedError
        Before the first example.
    """
    if learned is None:
        raise NotLearnedError(
            "this model has not learnt from any example yet; call fit or partial_fit first"
        )
    return learned


def suitable_rows(
    X: Any,
    features: FeatureNames | None,
    n_features: int,
    *,
    normalize: bool,
    grow: bool = False,
) -> Rows:
    """Validated rows that suit a model with these features; with ``grow`` names may be added.

    Sparse rows may be as narrow or as wide as they like; a dense row that lacks columns is more
    likely a mistake and is refused.
    """
    rows = check_rows(X, names=features, grow=grow)
    if rows.dense and rows.n_features < n_features:
        raise DataError(
            f"X has {rows.n_features} features, but LabelGrove is expecting {n_features} features "
            "as input"
        )
    if not normalize:
        require_magnitude(rows)
    return rows


def as_collection(labels: Any) -> list[Any]:
    """Labels as a list; a bare string is not a collection of characters."""
    if isinstance(labels, (str, bytes)) or not isinstance(labels, Iterable):
        raise DataError(f"labels={labels!r}: expected a collection of labels")
    return list(labels)
