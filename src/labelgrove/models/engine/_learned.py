"""The learnt state of a model, apart from the estimator's parameters."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from labelgrove._cuts import least_scores
from labelgrove._errors import DataError, ParameterError, brief
from labelgrove._features import FeatureNames, check_column_names
from labelgrove._labels import LabelRegistry
from labelgrove._names import Names
from labelgrove._not_learned import NotLearnedError
from labelgrove._targets import Targets
from labelgrove._validation import Rows, check_rows, require_magnitude
from labelgrove.models.engine._records import CompactionReport, Options
from labelgrove.tuning import Thresholds

MISSING = np.uint32(0xFFFFFFFF)
"""The core's label id for "no label"."""

ABOVE_ZERO = np.full(1, np.finfo(np.float32).smallest_subnormal)
"""Threshold of all labels: the smallest one, as a probability of 0 reaches none."""

KINDS = ("multiclass", "multilabel", "indicator")
"""Kinds of targets."""

_FORMS = {
    "multiclass": "one label per row",
    "multilabel": "a collection of labels per row",
    "indicator": "a 0/1 matrix with a column per label",
}

CLASSES_ONLY = "since LOMTreeClassifier and link='softmax' learn classes only"

Arrays = dict[str, npt.NDArray[Any]]
Pointers = npt.NDArray[np.int64]
Ids = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float32]


def without_prefix(prefix: str, arrays: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """Return the arrays whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): arrays[name] for name in arrays if name.startswith(prefix)}


class Engine(Protocol):
    """Interface of compiled models; rows are ``Rows.arrays``, labels and features are ids."""

    @property
    def examples_seen(self) -> int:
        """Number of examples learnt from, every pass counted."""

    @property
    def label_count(self) -> int:
        """Upper bound of the label ids (exclusive)."""

    @property
    def can_learn(self) -> bool:
        """Whether the engine can continue to learn, rather than only predict."""

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
        """Return labels (n, k), scores (n, k), and costs (n, 4): the fields of `SearchStats`."""

    def above_threshold(
        self,
        indptr: Pointers,
        ids: Ids,
        values: Floats,
        scope: Any,
        threads: int,
    ) -> tuple[Any, ...]:
        """Return row ends (n + 1,), labels, scores, and costs (n, 4) as in `top_k`."""

    def explain(
        self, indptr: Pointers, ids: Ids, values: Floats, label: int
    ) -> dict[str, npt.NDArray[Any]]:
        """Return the terms of one label's score for one row."""

    def scope(self, thresholds: Floats, allowed: Ids | None = None) -> Any:
        """Return labels that may be found and one threshold, or one for each label id.

        It serves any number of searches until the engine changes.
        """

    def labels(self) -> Ids:
        """Return all labels that may be predicted, in increasing order."""

    def remove_labels(self, labels: Ids) -> None:
        """Never predict these labels again."""

    def size(self) -> dict[str, int]:
        """Return the number of weights, and bytes."""

    def save(self, for_prediction: bool, *, streamed: bool = False) -> dict[str, Any]:
        """Return the state; ``counters`` begins with ``label_count`` and ``examples_seen``."""


class OnlineEngine(Engine, Protocol):
    """An engine that learns from one example after another."""

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
        asked: npt.NDArray[np.uint64] | None = None,
        k: int = 0,
    ) -> tuple[Any, Any]:
        """Learn from the rows ``begin`` to ``end``.

        Return labels and scores (asked, k): the ``k`` best labels of the rows ``asked``, which
        have positive weight, each predicted just before it is learnt.
        """


class TreeEngine(Engine, Protocol):
    """An engine that searches a tree with one leaf per label."""

    def tree(self) -> dict[str, npt.NDArray[Any]]:
        """Return ``parent``, ``label`` and ``silent`` of every node."""

    def paths(
        self,
        indptr: Pointers,
        ids: Ids,
        values: Floats,
        label_indptr: Pointers,
        labels: Ids,
        threads: int,
    ) -> tuple[Any, ...]:
        """Return the ends of the paths to labels, and each node's probability given its parent."""

    def compact(self, dtype: int, threshold: float) -> Arrays:
        """Return the arrays that `Format.load_compact` accepts."""

    def compact_threshold(self, dtype: int, most_bytes: int, threads: int) -> float:
        """Return the smallest threshold that leaves at most this many bytes of weights."""


OptionsT_co = TypeVar("OptionsT_co", bound=Options, covariant=True)
EngineT_co = TypeVar("EngineT_co", bound=Engine, covariant=True)


class KeptScope(NamedTuple):
    """The scope of `predict`, and the model state that it belongs to."""

    scope: Any
    tuned: Thresholds | None
    state: tuple[float, ...]


@dataclass
class Learned(Generic[OptionsT_co, EngineT_co]):
    """A compiled engine, with the meaning of its ids: labels, features, kind of targets."""

    engine: EngineT_co
    options: OptionsT_co  # as at the start; the estimator's parameters may have changed
    labels: LabelRegistry
    features: FeatureNames | None  # if examples are dicts
    kind: str  # one of `KINDS`
    n_columns: int  # of the indicator
    n_features: int  # columns of X seen so far
    counts: npt.NDArray[np.int64]  # examples by label id; may be longer than there are labels
    # Examples that the engine has seen and `counts` lacks: those learnt before, or of weight 0.
    uncounted: int = 0
    dense: bool = False  # whether the indicator was a dense array; if so, results are dense too
    column_names: npt.NDArray[Any] | None = None  # if examples are data frames
    tuned: Thresholds | None = None  # set for `predict`, by label id; later labels use the default
    compaction: CompactionReport | None = None  # of a compact model
    # The latest one of `predict`.
    scope: KeptScope | None = field(default=None, init=False, repr=False, compare=False)

    def copy_around(self, engine: Any) -> Any:
        """Return a copy of everything but the engine, around another engine of these labels."""
        return replace(
            self,
            engine=engine,
            labels=self.labels.copy(),
            features=copy.deepcopy(self.features),
            counts=self.counts.copy(),
        )

    @property
    def n_counted(self) -> int:
        """Number of the examples whose labels are counted."""
        return int(self.engine.examples_seen) - self.uncounted

    def columns(self) -> tuple[npt.NDArray[np.integer[Any]], int]:
        """Return the column of every label id in results, and the number of columns."""
        if self.kind == "indicator":
            return self.labels.names.astype(np.int64, copy=False), self.n_columns
        return self.labels.places, self.labels.n_active

    def classes(self) -> npt.NDArray[Any]:
        """Return the labels that can be predicted, sorted, or the columns of the indicator."""
        return np.arange(self.n_columns) if self.kind == "indicator" else self.labels.sorted_names

    def label_counts(self) -> npt.NDArray[np.int64]:
        """Return the number of examples of each class; shape (n_classes,)."""
        column_of, n_columns = self.columns()
        counts = np.zeros(n_columns, np.int64)
        active = self.labels.active
        counts[column_of[active]] = self.counts[: len(active)][active]
        return counts

    def count(self, ids: npt.NDArray[np.uint32]) -> None:
        """Count the labels of examples that have been learnt, and make room for all known ones."""
        if len(self.counts) < len(self.labels):
            room = np.zeros(max(len(self.labels), 2 * len(self.counts)), np.int64)
            room[: len(self.counts)] = self.counts
            self.counts = room
        np.add.at(self.counts, ids.astype(np.int64), 1)

    def check_rows(self, X: Any) -> Rows:
        """Validate rows for this model; zeros are dropped, as they are when it learns."""
        check_column_names(X, self.column_names)
        normalize = self.options.normalize
        rows = suitable_rows(
            X, self.features, self.n_features, normalize=normalize, columns=self.column_names
        )
        return rows.without_zeros()

    def of_same_kind(self, targets: Targets) -> Targets:
        """Return targets of the kind learnt; column numbers, as in files, become an indicator."""
        if targets.kind == self.kind:
            return targets
        numbers = targets.label_type != "str" and targets.kind == "multilabel"
        if self.kind != "indicator" or not numbers:
            raise DataError(
                f"y: {targets.kind} targets, but the model has learnt {self.kind} ones; expected "
                f"{_FORMS[self.kind]}"
            )
        for code, label in enumerate(targets.names.tolist()):
            if not 0 <= label < self.n_columns:
                raise DataError(
                    f"{targets.place_of(code)}: found the label {label}; expected a column of "
                    f"the 0/1 matrix that the model has learnt, 0 to {self.n_columns - 1}"
                )
        return targets.as_indicator(self.n_columns)

    def remove_labels(self, labels: Iterable[Any]) -> None:
        """Never predict these labels again; change nothing if one of them is not known."""
        names = as_collection(labels)
        ids = self.labels.ids_of(names)
        if (ids < 0).any():
            raise DataError(f"label {names[int(np.argmin(ids))]!r} is not known; none is removed")
        ids = np.unique(ids)
        in_engine = np.isin(ids, self.engine.labels())
        self.engine.remove_labels(ids[in_engine].view(np.uint32))
        self.labels.retire(ids)

    def rename_labels(self, names: Mapping[Any, Any]) -> None:
        """Rename labels; for an indicator, new names must be existing columns."""
        if not isinstance(names, Mapping):
            raise DataError(f"names={brief(names)}: expected a mapping from old to new names")
        if self.kind == "indicator":
            for name in names.values():
                if not isinstance(name, (int, np.integer)) or not 0 <= name < self.n_columns:
                    raise DataError(
                        f"new name {name!r}: expected a column from 0 to {self.n_columns - 1}"
                    )
        self.labels.rename(names)

    def allowed(self, labels: Any) -> npt.NDArray[np.uint32] | None:
        """Return the ids of the allowed labels, or None for all. Ignores unknown names."""
        if labels is None:
            return None
        ids = self.labels.ids_of(as_collection(labels))
        return ids[ids >= 0].view(np.uint32)

    def thresholds(self, threshold: Any) -> npt.NDArray[np.float32]:
        """Convert the user's threshold, or thresholds by class, to thresholds by label id."""
        threshold = self.in_class_order(threshold)
        try:
            values = np.asarray(threshold, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ParameterError(
                f"threshold={brief(threshold)}: expected a number, or one for each class"
            ) from error
        if np.isnan(values).any():  # None is NaN, too
            raise ParameterError("threshold: found NaN or None; expected numbers")
        least = np.maximum(least_scores(values), ABOVE_ZERO)
        if values.ndim == 0:
            return least
        column_of, n_columns = self.columns()
        if values.shape != (n_columns,):
            raise ParameterError(
                f"threshold: found shape {values.shape}; expected one number, or one for each of "
                f"the {n_columns} classes"
            )
        active = self.labels.active
        # At least two: the engine applies a single threshold to all labels.
        by_label = np.full(max(len(active), 2), np.inf, np.float32)
        by_label[: len(active)][active] = least[column_of[active]]
        return by_label

    def in_class_order(self, thresholds: Any) -> Any:
        """Sort the entries of a pandas Series with labels as its index; refuse a mapping."""
        if isinstance(thresholds, Mapping):
            raise ParameterError(
                f"thresholds: found a {type(thresholds).__name__}; expected numbers in the order "
                "of classes_, such as [thresholds.get(label, 0.5) for label in clf.classes_]"
            )
        index: Any = getattr(thresholds, "index", None)
        if not hasattr(index, "tolist") or np.ndim(thresholds) != 1:
            return thresholds
        names, classes = index.tolist(), self.classes().tolist()
        by_label = dict(zip(names, thresholds.tolist(), strict=True))
        if by_label.keys().isdisjoint(classes):
            return thresholds  # such as a column of a table, whose index counts the rows
        if by_label.keys() != set(classes) or len(names) != len(classes):
            raise ParameterError(
                "thresholds: the labels in the index are not those of classes_; expected each of "
                "them once, or numbers without an index"
            )
        return [by_label[label] for label in classes]


AnyLearned = Learned[Options, Engine]
LearnedT = TypeVar("LearnedT", bound=AnyLearned)


def known(learned: LearnedT | None) -> LearnedT:
    """Return the learnt state, or raise NotLearnedError before the first example."""
    if learned is None:
        raise NotLearnedError(
            "this model has not learnt from any example yet; call fit or partial_fit first"
        )
    return learned


def of_kinds(kinds: Collection[str], targets: Targets) -> Targets:
    """Convert collections of one label each, as read from files, if only classes are learnt."""
    if tuple(kinds) != ("multiclass",) or targets.kind != "multilabel":
        return targets
    sizes = np.diff(targets.indptr)
    if (sizes != 1).any():
        row = int(np.argmax(sizes != 1))
        raise DataError(
            f"y: row {row} has {sizes[row]} labels; expected one in every row, {CLASSES_ONLY}"
        )
    return targets._replace(kind="multiclass")


def suitable_rows(
    X: Any,
    features: FeatureNames | None,
    n_features: int,
    *,
    normalize: bool,
    grow: bool = False,
    columns: Names | None = None,
) -> Rows:
    """Validate rows for a model with these features; ``grow`` allows new names.

    Sparse rows may have any width. Dense rows that lack columns are probably a mistake and are
    refused; so are rows with more columns than those whose names, ``columns``, have been learnt.
    """
    rows = check_rows(X, names=features, grow=grow)
    too_wide = columns is not None and rows.n_features > n_features
    if too_wide or (rows.dense and rows.n_features < n_features):
        raise DataError(
            f"X has {rows.n_features} features, but LabelGrove is expecting {n_features} features "
            "as input" + (", the columns of the data frame that it has learnt" if too_wide else "")
        )
    if not normalize:
        require_magnitude(rows)
    return rows


def as_collection(labels: Any, where: str = "labels") -> list[Any]:
    """Return labels as a list; refuse a bare string."""
    single = isinstance(labels, (str, bytes)) or getattr(labels, "ndim", 1) == 0
    if single or not isinstance(labels, Iterable):
        raise DataError(f"{where}={brief(labels)}: expected a collection of labels")
    return list(labels)
