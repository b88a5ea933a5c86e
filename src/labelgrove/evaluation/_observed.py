"""A model's predictions on labelled examples, and their cost."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from time import perf_counter
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, vstack

from labelgrove._cuts import Cut
from labelgrove._errors import DataError, ParameterError
from labelgrove._sparse import without
from labelgrove._targets import parse_targets
from labelgrove._validation import n_rows_of
from labelgrove.metrics._inputs import MISSING, IntArray, ranking_indicator
from labelgrove.metrics._score import FloatArray


class Predictor(Protocol):
    """The interface that evaluation requires of a model."""

    def predict_topk(self, X: Any, k: int = ...) -> Any:
        """Return the labels (n, k) and scores (n, k) of the `k` best labels for every row."""


@dataclass(frozen=True, eq=False)
class Observed:
    """The predictions of a model on n examples, and the true labels; matrices are (n, L).

    Columns are labels: first the given ones and those known to the model, then the others in order
    of appearance.
    """

    labels: tuple[Hashable, ...]
    known: npt.NDArray[np.bool_]  # those that the model can predict
    truth: csr_array  # 0/1
    ranking: IntArray  # (n, k): the columns of the best labels, -1 in missing places
    sets: csr_array | None  # predicted labels, 0/1
    estimates: csr_array | None  # probabilities down to the requested minimum
    classifiers: FloatArray | None  # evaluated by the search for each ranking, if reported
    depth: FloatArray | None  # of these searches
    seconds: float  # taken by the rankings
    # 1 if a label counts neither as true nor as predicted; the other matrices omit such labels.
    excluded: csr_array | None

    @property
    def n_rows(self) -> int:
        """Number of examples."""
        return int(self.truth.shape[0])

    @property
    def in_test(self) -> IntArray:
        """Columns of the labels that any example has."""
        return np.unique(self.truth.indices).astype(np.int64)

    @property
    def has_classes(self) -> bool:
        """Whether every example has exactly one label."""
        return bool((np.diff(self.truth.indptr) == 1).all())


def observe(
    model: Any,
    batches: Iterable[tuple[Any, Any]],
    *,
    k: int = 5,
    threshold: Cut | None = None,
    beam_width: int | None = None,
    estimates_from: float | None = None,
    labels: Sequence[Hashable] = (),
    excluded: Mapping[int, Collection[Hashable]] | None = None,
) -> Observed:
    """Let a model predict labelled examples, batch by batch (X, Y); see `evaluate`.

    Without a threshold the model's own ``predict`` is used; for mutually exclusive classes, the
    best label is predicted. Probabilities are kept if they are at least ``estimates_from``.
    ``labels`` are those of the first columns, so that several models share the same columns. Rows
    with excluded labels are numbered from 0 over all batches.

    Raises DataError when there are no examples, or one cannot be used, and ParameterError when the
    model has no ``predict_topk``.
    """
    if not hasattr(model, "predict_topk"):
        raise ParameterError(
            f"{type(model).__name__} has no predict_topk; expected an estimator of LabelGrove, "
            "such as the last step of a pipeline, with the rows that the other steps return"
        )
    columns: dict[Hashable, int] = {label: i for i, label in enumerate(labels)}
    classes = classes_of(model)
    of_class = np.array([columns.setdefault(label, len(columns)) for label in classes], np.int64)
    deep = k + most_excluded(excluded)
    truth, rankings, costs, sets, estimates = [], [], [], [], []
    seconds, n = 0.0, 0
    for X, Y in batches:
        targets = parse_targets(Y, n_rows_of(X))
        if not targets.n_rows:
            continue
        require_same_kind(classes, targets.names.tolist())
        numbered = [columns.setdefault(label, len(columns)) for label in targets.names.tolist()]
        truth.append((np.diff(targets.indptr), np.array(numbered, np.int64)[targets.codes]))
        best, stats, took = _best(model, X, deep, beam_width)
        rankings.append(as_columns(*best, columns, (targets.n_rows, deep)))
        n += targets.n_rows
        seconds += took
        if stats is not None:
            costs.append((stats.classifiers, stats.depth))
        if threshold is not None:
            sets.append(model.predict_proba(X, threshold=threshold))
        elif (getattr(model, "target_type_", None) or targets.kind) == "multiclass":
            sets.append(None)
        elif classes and hasattr(model, "predict"):
            sets.append(model.predict(X))
        if estimates_from is not None:
            estimates.append(model.predict_proba(X, threshold=estimates_from))
    if n == 0:
        raise DataError("there are no examples to evaluate on")
    shape = (n, max(len(columns), 1))
    known = np.zeros(shape[1], np.bool_)
    known[of_class] = True
    outside = excluded_cells(excluded, columns, shape)
    ranking = places_left(np.concatenate(rankings), outside, k)
    lengths, ids = (np.concatenate(parts) for parts in zip(*truth, strict=True))
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    classifiers, depth = (
        (np.concatenate(parts).astype(np.float64) for parts in zip(*costs, strict=True))
        if costs
        else (None, None)
    )
    return Observed(
        labels=tuple(columns),
        known=known,
        truth=without(csr_array((np.ones(indptr[-1]), ids, indptr), shape=shape), outside),
        ranking=ranking,
        sets=without(_sets(sets, ranking, of_class, shape), outside) if sets else None,
        estimates=without(_spread(estimates, of_class, shape), outside) if estimates else None,
        classifiers=classifiers,
        depth=depth,
        seconds=max(seconds, 1e-9),
        excluded=outside,
    )


def classes_of(model: Any) -> list[Any]:
    """Return a model's labels; none if it does not list them."""
    classes: list[Any] = np.asarray(getattr(model, "classes_", ())).tolist()
    return classes


def require_same_kind(
    classes: Sequence[Hashable], found: Sequence[Hashable], name: str = "y"
) -> None:
    """Refuse integer labels if the model's are strings, or vice versa: none would match."""
    if classes and found and isinstance(classes[0], str) != isinstance(found[0], str):
        raise DataError(
            f"{name}: found labels such as {found[0]!r}, but the model has labels such as "
            f"{classes[0]!r}; expected strings in both or integers in both"
        )


def most_excluded(excluded: Mapping[int, Collection[Hashable]] | None) -> int:
    """Return the number of extra places that a ranking needs to make up for excluded labels."""
    return max(map(len, (excluded or {}).values()), default=0)


def excluded_cells(
    excluded: Mapping[int, Collection[Hashable]] | None,
    columns: Mapping[Hashable, int],
    shape: tuple[int, int],
) -> csr_array | None:
    """Return a matrix with 1 for each excluded label of a row; None if there is none."""
    cells = {
        (row, columns[label])
        for row, labels in (excluded or {}).items()
        for label in labels
        if row < shape[0] and label in columns
    }
    if not cells:
        return None
    return csr_array((np.ones(len(cells)), tuple(zip(*sorted(cells), strict=True))), shape=shape)


def places_left(ranking: IntArray, excluded: csr_array | None, k: int) -> IntArray:
    """Return the first k places of rankings after removing excluded labels."""
    if excluded is not None:
        rows = np.arange(len(ranking))[:, None]
        # A missing place (-1) reads the last column, which is harmless: it stays missing.
        gone = excluded[rows, ranking].toarray() > 0
        ranking = np.where(gone, MISSING, ranking)
        order = np.argsort(ranking == MISSING, axis=1, kind="stable")
        ranking = np.take_along_axis(ranking, order, axis=1)
    return ranking[:, :k]


def _best(
    model: Any, X: Any, k: int, beam_width: int | None
) -> tuple[tuple[Any, FloatArray], Any, float]:
    """Return labels (n, k) and scores (n, k), statistics of the search or None, and the seconds."""
    options: dict[str, Any] = {} if beam_width is None else {"beam_width": beam_width}
    if "return_stats" in signature(model.predict_topk).parameters:
        options["return_stats"] = True
    start = perf_counter()
    labels, scores, *stats = model.predict_topk(X, k=k, **options)
    seconds = perf_counter() - start
    return (np.asarray(labels), np.asarray(scores)), stats[0] if stats else None, seconds


def as_columns(
    labels: Any, scores: FloatArray, columns: dict[Hashable, int], shape: tuple[int, int]
) -> IntArray:
    """Return predicted labels as columns, -1 in empty places; new labels get new columns."""
    if labels.shape != shape or scores.shape != shape:
        raise DataError(
            f"predict_topk returned labels of shape {labels.shape} and scores of shape "
            f"{scores.shape}: expected {shape} for both"
        )
    # A place without a score is empty, whatever placeholder its label has.
    numbered = [
        MISSING if empty or label is None else columns.setdefault(label, len(columns))
        for label, empty in zip(
            labels.ravel().tolist(), np.isnan(scores).ravel().tolist(), strict=True
        )
    ]
    return np.array(numbered, np.int64).reshape(shape)


def _sets(
    parts: list[Any], ranking: IntArray, of_class: IntArray, shape: tuple[int, int]
) -> csr_array:
    """Return the predictions as 0/1; if parts are None, the best label of every row."""
    if parts[0] is None:
        return ranking_indicator(ranking[:, :1], shape[1])
    found = _spread(parts, of_class, shape)
    found.data = np.ones(found.nnz)
    return found


def _spread(parts: list[Any], of_class: IntArray, shape: tuple[int, int]) -> csr_array:
    """Stack batches that have one column per class, and spread them over all columns."""
    found = csr_array(vstack([csr_array(part) for part in parts]))
    if found.shape[1] != of_class.size:
        raise DataError(
            f"the model predicted {found.shape[1]} columns: expected {of_class.size}, one for "
            "each of its classes"
        )
    spread = csr_array(
        (found.data.astype(np.float64), of_class[found.indices], found.indptr), shape=shape
    )
    spread.sort_indices()
    return spread
