"""The validated examples of a call, and how it learns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from labelgrove._errors import DataError
from labelgrove._features import FeatureNames, check_column_names, column_names
from labelgrove._labels import LabelRegistry
from labelgrove._names import as_names, as_vector, place_in_list
from labelgrove._sparse import places_of
from labelgrove._targets import Targets, parse_targets
from labelgrove._validation import Rows, check_weights, require_same_length, within_magnitude
from labelgrove.models.engine._learned import (
    CLASSES_ONLY,
    AnyLearned,
    Engine,
    Learned,
    of_kinds,
    suitable_rows,
)
from labelgrove.models.engine._records import Options
from labelgrove.models.engine._staged import StagedEngine
from labelgrove.tuning._second_stage import SecondStage

MOST_WEIGHT = 1e6
"""Largest weight of an example that is learnt online."""

Mask = npt.NDArray[np.bool_] | None

MakeT_co = TypeVar("MakeT_co", bound=Callable[..., Engine], covariant=True)


class Examples(NamedTuple):
    """The examples of a call, validated; row i has the labels ``ids[indptr[i]:indptr[i + 1]]``."""

    rows: Rows
    indptr: npt.NDArray[np.int64]
    ids: npt.NDArray[np.uint32]
    weights: npt.NDArray[np.float32] | None  # None if all are 1
    # False for examples made from names of labels, which say nothing about later predictions.
    own: Mask
    kind: str  # "multiclass", "multilabel" or "indicator"
    n_columns: int  # of the indicator
    dense: bool  # whether the indicator was a dense array
    column_names: npt.NDArray[Any] | None  # if X was a data frame
    fresh: list[Any]  # names of the new labels, whose ids start at `first`
    first: int
    # New labels that become known with the first row learnt; others when a row has them.
    n_announced: int

    def make_known(self, labels: LabelRegistry, n_labels: int) -> None:
        """Add new labels until there are ``n_labels``, and at least the announced ones."""
        n_labels = max(n_labels, self.first + self.n_announced)
        labels.arrive(self.fresh[len(labels) - self.first : n_labels - self.first], self.n_columns)

    def at(self, rows: npt.NDArray[np.int64]) -> Examples:
        """Return the examples of some rows."""
        all_rows, width = self.rows, len(self.rows.ids)
        if all_rows.dense:
            values = all_rows.values.reshape(-1, width)[rows].reshape(-1)
            taken = all_rows._replace(values=values, n_rows=len(rows))
        else:
            ends, places = places_of(all_rows.indptr, rows)
            arrays = ends, all_rows.ids[places], all_rows.values[places]
            taken = Rows(*arrays, len(rows), all_rows.n_features, dense=False)
        indptr, places = places_of(self.indptr, rows)
        return self._replace(
            rows=taken,
            indptr=indptr,
            ids=self.ids[places],
            weights=None if self.weights is None else self.weights[rows],
            own=None if self.own is None else self.own[rows],
        )

    def without_ignored(self) -> Examples:
        """Return the examples whose weight is not 0."""
        if self.weights is None or self.weights.all():
            return self
        return self.at(np.flatnonzero(self.weights))

    def counted(self, begin: int, end: int) -> npt.NDArray[np.uint32]:
        """Return the labels of the rows from ``begin`` to ``end`` with a weight above 0."""
        labels = self.ids[self.indptr[begin] : self.indptr[end]]
        if self.weights is None:
            return labels
        return labels[np.repeat(self.weights[begin:end] > 0, np.diff(self.indptr[begin : end + 1]))]

    def n_weightless(self, begin: int, end: int) -> int:
        """Return the number of rows of weight 0 from ``begin`` to ``end``."""
        return 0 if self.weights is None else int(np.count_nonzero(self.weights[begin:end] == 0))


@dataclass
class Watch:
    """Rows of a call that are predicted just before they are learnt."""

    rows: npt.NDArray[np.uint64]  # ascending
    k: int  # number of labels to predict
    found: list[list[Any]] = field(default_factory=list)  # of each row learnt so far, best first


@dataclass(frozen=True)
class Call:
    """How a call of ``partial_fit`` learns."""

    patience: float | None = None  # seconds to wait for other threads; None to refuse instead
    again: bool = False  # whether the examples have been learnt before
    watch: Watch | None = None


@dataclass(frozen=True)
class Start(Generic[MakeT_co]):
    """The checked parameters of an estimator, before anything is learnt."""

    options: Options
    make: MakeT_co  # makes the engine when the first examples are available
    labels: LabelRegistry = field(default_factory=LabelRegistry)  # of the given tree, if any
    features: FeatureNames | None = None  # if examples are dicts
    stage: SecondStage | None = None

    def learned(self, engine: Engine, examples: Examples) -> AnyLearned:
        """Return the initial state of a model that will learn examples of this kind."""
        if self.stage is not None and not isinstance(engine, StagedEngine):
            engine = StagedEngine(engine, self.stage, sums_bytes=self.options.sums_bytes)
        return Learned(
            engine=engine,
            options=self.options,
            labels=self.labels,
            features=self.features,
            kind=examples.kind,
            n_columns=examples.n_columns,
            n_features=examples.rows.n_features,
            counts=np.zeros(len(self.labels), np.int64),
            dense=examples.dense,
            column_names=examples.column_names,
        )


def take(
    model: Any,
    into: Start[Any] | AnyLearned,
    X: Any,
    y: Any,
    sample_weight: Any,
    classes: Any = None,
    *,
    own: Mask = None,
    some: bool = True,
    zeros: bool = False,
) -> Examples:
    """Validate a call's examples, without adding new labels yet.

    The estimator ``model`` limits the kind of targets, the weights and new labels. At least one
    weight must be positive if ``some``. Stored zeros are dropped unless ``zeros``, as a feature of
    value 0 must not count as one that occurs. Raises DataError if an argument cannot be used; the
    message says which and where. Nothing has changed then.
    """
    learned = into if isinstance(into, Learned) else None
    n_features = 0 if learned is None else learned.n_features
    named_features = len(into.features or ())
    names = column_names(X) if learned is None else learned.column_names
    try:
        check_column_names(X, names)
        rows = suitable_rows(
            X,
            into.features,
            n_features,
            normalize=into.options.normalize,
            grow=True,
            columns=None if learned is None else names,
        )
        if into.options.normalize:
            rows = within_magnitude(rows)
        targets = of_kinds(model._kinds, parse_targets(y))
        if targets.kind not in model._kinds:
            raise DataError("y is a 0/1 matrix; expected one label per row, " + CLASSES_ONLY)
        require_same_length(rows, targets.n_rows)
        if learned is not None:
            targets = learned.of_same_kind(targets)
        weights = check_weights(sample_weight, rows.n_rows, most=model._most_weight, some=some)
        announced = None if classes is None else _announced(classes, targets, learned)
        indptr, ids, fresh, n_announced = into.labels.foresee(targets, announced)
        if targets.n_columns is not None and learned is None:
            _require_columns(into.labels, targets.n_columns)
        if fresh:
            model._check_new_labels(into.options, fresh)
    except BaseException:
        if into.features is not None:
            into.features.truncate(named_features)
        raise
    return Examples(
        rows=rows if zeros else rows.without_zeros(),
        indptr=indptr,
        ids=ids.view(np.uint32),
        weights=weights,
        own=own,
        kind=targets.kind,
        n_columns=targets.n_columns or 0,
        dense=targets.dense,
        column_names=names,
        fresh=fresh,
        first=len(into.labels),
        n_announced=n_announced,
    )


def _require_columns(labels: LabelRegistry, n_columns: int) -> None:
    """Refuse an indicator without a column for every label of the given tree."""
    outside = labels.names[(labels.names < 0) | (labels.names >= n_columns)]
    if outside.size:
        raise DataError(
            f"y has {n_columns} columns, but the given tree has the label {outside[0]}; expected "
            "the number of a column for every label of the tree"
        )


def _announced(classes: Any, targets: Targets, learned: AnyLearned | None) -> npt.NDArray[Any]:
    """Check the labels that a call announces; a later call must announce the known labels."""
    where = "classes: {}".format
    names = as_names(as_vector(classes), place=lambda i: where(place_in_list(i)), classes=True)
    listed = set(names.tolist())
    unknown = [name for name in targets.names.tolist() if name not in listed]
    if unknown:
        raise DataError(f"y: label {unknown[0]!r} is not among the classes given")
    if learned is not None:
        expected, whose = learned.classes(), "classes_"
    elif targets.n_columns is not None:
        expected, whose = np.arange(targets.n_columns), "the columns of y"
    else:
        return names
    if listed != set(expected.tolist()):
        raise DataError(
            f"classes: found {len(listed)} labels that differ from {whose}; expected the same "
            f"{len(expected)} labels, or None"
        )
    return names
