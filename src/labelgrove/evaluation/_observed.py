"""A model's predictions on labelled examples, and what they cost."""

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
from labelgrove._errors import DataError
from labelgrove._targets import parse_targets
from labelgrove.metrics._inputs import MISSING, IntArray

FloatArray = npt.NDArray[np.float64]


class Predictor(Protocol):
    """What a model must be able to do to be measured."""

    def predict_topk(self, X: Any, k: int = ...) -> Any:
        """Return the labels (n, k) and scores (n, k) of the best `k` for every row."""


@dataclass(frozen=True, eq=False)
class Observed:
    """The answers of a model on n examples, beside what is true.

    Attributes
    ----------
    labels : tuple
        What the L columns stand for: first the labels that were named beforehand or that the
        model knows, then those that turned up.
    known : bool array (L,)
        Labels that the model can predict.
    truth : csr_array (n, L)
        0/1.
    ranking : int64 array (n, k)
        The columns of the best labels, -1 in missing places.
    sets : csr_array (n, L) or None
        The labels that were predicted, 0/1.
    estimates : csr_array (n, L) or None
        Probabilities, as far down as they were asked for.
    classifiers, depth : float64 array (n,) or None
        What the search for each ranking evaluated, and how deep it went, if the model says.
    seconds : float
        What the rankings took.
    """

    labels: tuple[Hashable, ...]
    known: npt.NDArray[np.bool_]
    truth: csr_array
    ranking: IntArray
    sets: csr_array | None
    estimates: csr_array | None
    classifiers: FloatArray | None
    depth: FloatArray | None
    seconds: float

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
    """Let a model predict labelled examples, batch by batch.

    Parameters
    ----------
    model : estimator with ``predict_topk``
        It has learnt.
    batches : iterable of (X, Y)
        Rows as the model takes them, and their labels in any form that ``fit`` takes. The columns
        of a matrix are the labels 0, 1, 2, ...
    k : int
        Places of the ranking.
    threshold : float or array (n_classes,), optional
        From which probability on a label is predicted. By default what the model's own
        ``predict`` gives is; of classes that exclude one another it is the best.
    beam_width : int, optional
        Of the search for the rankings.
    estimates_from : float, optional
        Keep the probabilities from this one on.
    labels : sequence, optional
        What the first columns stand for, so that several models have the same columns.
    excluded : mapping of int to collection of labels, optional
        Labels that count neither as true nor as predicted, by row from 0 over all batches.

    Returns
    -------
    Observed

    Raises
    ------
    DataError
        When there are no examples, or some cannot be used; the message names the row.
    """
    columns: dict[Hashable, int] = {label: i for i, label in enumerate(labels)}
    classes = np.asarray(getattr(model, "classes_", ())).tolist()
    of_class = np.array([columns.setdefault(label, len(columns)) for label in classes], np.int64)
    truth, rankings, costs, sets, estimates = [], [], [], [], []
    leave_out: list[tuple[int, set[int]]] = []
    seconds, n = 0.0, 0
    for X, Y in batches:
        targets = parse_targets(Y, n_rows_of(X))
        if not targets.n_rows:
            continue
        numbered = [columns.setdefault(label, len(columns)) for label in targets.labels.tolist()]
        lengths, ids = np.diff(targets.indptr), np.array(numbered, np.int64)
        outside = _outside(excluded, n, targets.n_rows, columns)
        deep = k + max((len(some) for some in outside.values()), default=0)
        best, stats, took = _best(model, X, deep, beam_width)
        ranking = as_columns(*best, columns, (targets.n_rows, deep))
        lengths, ids, ranking = _without(outside, lengths, ids, ranking, k)
        truth.append((lengths, ids))
        rankings.append(ranking)
        leave_out += [(n + row, labels) for row, labels in outside.items()]
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
        raise DataError("there is not a single example to measure on")
    shape = (n, max(len(columns), 1))
    known = np.zeros(shape[1], np.bool_)
    known[of_class] = True
    ranking = np.concatenate(rankings)
    lengths, ids_of_rows = (np.concatenate(parts) for parts in zip(*truth, strict=True))
    classifiers, depth = (
        (np.concatenate(parts).astype(np.float64) for parts in zip(*costs, strict=True))
        if costs
        else (None, None)
    )
    return Observed(
        labels=tuple(columns),
        known=known,
        truth=_ones(lengths, ids_of_rows, shape),
        ranking=ranking,
        sets=_cleared(_sets(sets, ranking, of_class, shape), leave_out),
        estimates=_spread(estimates, of_class, shape) if estimates else None,
        classifiers=classifiers,
        depth=depth,
        seconds=max(seconds, 1e-9),
    )


def _outside(
    excluded: Mapping[int, Collection[Hashable]] | None,
    first: int,
    n_rows: int,
    columns: Mapping[Hashable, int],
) -> dict[int, set[int]]:
    """Columns that do not count in the rows of a batch, which begins at row `first` of all."""
    if not excluded:
        return {}
    found = {
        row: {columns[label] for label in excluded.get(first + row, ()) if label in columns}
        for row in range(n_rows)
    }
    return {row: labels for row, labels in found.items() if labels}


def _without(
    outside: Mapping[int, set[int]], lengths: IntArray, ids: IntArray, ranking: IntArray, k: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Leave columns out of true labels, (lengths, ids), and of rankings, which get k places."""
    if not outside:
        return lengths, ids, ranking
    ends = np.concatenate(([0], np.cumsum(lengths)))
    lengths, kept = lengths.copy(), np.ones(len(ids), np.bool_)
    for row, columns in outside.items():
        these = slice(int(ends[row]), int(ends[row + 1]))
        kept[these] = ~np.isin(ids[these], list(columns))
        lengths[row] = kept[these].sum()
        best = ranking[row][~np.isin(ranking[row], list(columns))]
        ranking[row] = MISSING
        ranking[row, : len(best)] = best
    return lengths, ids[kept], ranking[:, :k]


def _cleared(sets: csr_array | None, leave_out: Iterable[tuple[int, set[int]]]) -> csr_array | None:
    """Leave columns out of predicted label sets."""
    if sets is None:
        return None
    for row, columns in leave_out:
        these = slice(int(sets.indptr[row]), int(sets.indptr[row + 1]))
        sets.data[these][np.isin(sets.indices[these], list(columns))] = 0.0
    sets.eliminate_zeros()
    return sets


def _best(
    model: Any, X: Any, k: int, beam_width: int | None
) -> tuple[tuple[Any, FloatArray], Any, float]:
    """Return labels (n, k) and scores (n, k), what the search reports or None, and the seconds."""
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
    """Return predicted labels as columns, -1 where a place holds none; new labels get new ones."""
    if labels.shape != shape or scores.shape != shape:
        raise DataError(
            f"predict_topk returned labels of shape {labels.shape} and scores of shape "
            f"{scores.shape}: expected {shape} for both"
        )
    # A place without a score is empty, whatever stands in for its label.
    numbered = [
        MISSING if empty or label is None else columns.setdefault(label, len(columns))
        for label, empty in zip(
            labels.ravel().tolist(), np.isnan(scores).ravel().tolist(), strict=True
        )
    ]
    return np.array(numbered, np.int64).reshape(shape)


def _ones(lengths: IntArray, columns: IntArray, shape: tuple[int, int]) -> csr_array:
    """A 0/1 matrix from the number of ones in each row and their columns."""
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    return csr_array((np.ones(columns.size), columns, indptr), shape=shape)


def _sets(
    parts: list[Any], ranking: IntArray, of_class: IntArray, shape: tuple[int, int]
) -> csr_array | None:
    """What was predicted as 0/1; where a part is None, the best label of every row."""
    if not parts:
        return None
    if parts[0] is None:
        there = ranking[:, 0] != MISSING
        return _ones(there.astype(np.int64), ranking[there, 0], shape)
    found = _spread(parts, of_class, shape)
    found.data = np.ones(found.nnz)
    return found


def _spread(parts: list[Any], of_class: IntArray, shape: tuple[int, int]) -> csr_array:
    """Put batches of a matrix with a column for each class among all columns."""
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


def n_rows_of(X: Any) -> int:
    """Number of rows of an array, a sparse matrix or a list."""
    shape = getattr(X, "shape", None)
    return int(shape[0]) if shape else len(X)
