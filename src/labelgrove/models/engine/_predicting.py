"""Queries to the engine, with label ids converted to names and columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelgrove._errors import DataError
from labelgrove._not_learned import NotLearnedError
from labelgrove._parameters import integer, thread_count
from labelgrove._sparse import csr_of
from labelgrove._targets import Targets, parse_targets
from labelgrove._validation import Rows, require_same_length
from labelgrove.models.engine._learned import ABOVE_ZERO, MISSING, AnyLearned, Ids, of_kinds
from labelgrove.models.engine._records import PLACES
from labelgrove.models.engine._staged import first_stage
from labelgrove.models.engine._tuned import scope_of_predict
from labelgrove.tuning._second_stage import SecondStage

DENSE_LIMIT = 2**30
"""Largest dense result in bytes; for more, the caller must request a sparse result."""

Costs = npt.NDArray[np.uint64]
"""Costs of a search (n, 4): the fields of `SearchStats`."""

_DIGITS = 6
_LEAST_DOUBT = 2.0**-25  # of a probability that is rounded to 1
_FIRST_PART, _PART_SECONDS = 256, 0.1
_FIRST_CELLS = 2**21  # of a dense result; they take some tenths of a second


@dataclass(frozen=True)
class SearchStats:
    """Cost of a prediction, one entry per example.

    Attributes
    ----------
    classifiers : ndarray of uint64, shape (n,)
        Number of node classifiers evaluated, that is inner products of the example with a weight
        vector.
    depth : ndarray of uint64, shape (n,)
        Depth of the deepest node whose probability was computed; the root has depth 0.
    blocks : ndarray of uint64, shape (n,)
        Number of nodes opened. All classifiers of a node's children are evaluated together, which
        takes most of the time. 0 unless the model is a label tree.
    bytes : ndarray of uint64, shape (n,)
        Bytes of weights read; 0 unless the model is a label tree.
    """

    classifiers: npt.NDArray[np.uint64]
    depth: npt.NDArray[np.uint64]
    blocks: npt.NDArray[np.uint64]
    bytes: npt.NDArray[np.uint64]


def best_labels(
    learned: AnyLearned,
    rows: Rows,
    k: int,
    n_jobs: int | None,
    *,
    labels: Any = None,
    beam_width: int = 0,
) -> tuple[Any, ...]:
    """Return ids and scores of the k best labels of every row, both (n, k), and costs.

    ``beam_width`` is 0 for exact search.
    """
    k = integer("k", k, 1)
    _refuse_if_too_large(rows.n_rows, k, 8, "a smaller k")
    search, allowed, threads = learned.engine.top_k, learned.allowed(labels), thread_count(n_jobs)
    first = _first_part(learned.engine, rows.n_rows, threads)
    return _in_parts(
        rows, first, lambda part: search(*part.arrays, k, beam_width, allowed, threads)
    )


def best_classes(learned: AnyLearned, rows: Rows, n_jobs: int | None) -> npt.NDArray[Any]:
    """Return the name of the most probable class of every row."""
    ids, scores, *_ = best_labels(learned, rows, 1, n_jobs)
    if np.isnan(scores).any():
        raise NotLearnedError(
            "there is no class to predict; none has been learnt, or all have been removed"
        )
    return ids_to_names(ids, learned.labels.names)[:, 0]


def estimates(
    learned: AnyLearned,
    rows: Rows,
    threshold: Any,
    n_jobs: int | None,
    *,
    labels: Any = None,
    least_labels: int = 0,
) -> tuple[sp.csr_array, Costs]:
    """Return all probabilities that reach a threshold, one column per class, and costs.

    The ``least_labels`` greatest of every row are among them even if they do not.
    """
    scope = learned.engine.scope(learned.thresholds(threshold), learned.allowed(labels))
    indptr, ids, scores, costs = _found_within(learned, rows, scope, n_jobs)
    found = _to_csr(learned, indptr, ids, scores)
    if least_labels:
        best, more = best_estimates(learned, rows, least_labels, n_jobs, labels=labels)
        found, costs = sp.csr_array(found.maximum(best)), costs + more
    return found, costs


def indicator_of(
    learned: AnyLearned, rows: Rows, otherwise: float, n_jobs: int | None
) -> sp.csr_array | npt.NDArray[np.int64]:
    """Return the labels that reach their tuned thresholds, or ``otherwise`` if none are tuned.

    The result is sparse (int8), unless the targets were dense.
    """
    scope = scope_of_predict(learned, otherwise)
    indptr, ids, *_ = _found_within(learned, rows, scope, n_jobs)
    found = _matrix_of(learned, indptr, ids, np.ones(len(ids), np.int8))
    if learned.tuned is not None and learned.tuned.least_labels:
        best, _ = best_estimates(learned, rows, learned.tuned.least_labels, n_jobs)
        found = sp.csr_array(found.maximum((best > 0).astype(np.int8)))
    if learned.dense:
        return found.toarray().astype(np.int64)
    found.sort_indices()
    return found


def best_estimates(
    learned: AnyLearned,
    rows: Rows,
    k: int,
    n_jobs: int | None,
    *,
    labels: Any = None,
    beam_width: int = 0,
) -> tuple[sp.csr_array, Costs]:
    """Return the k largest probabilities of every row, one column per class, and costs."""
    ids, scores, costs = best_labels(learned, rows, k, n_jobs, labels=labels, beam_width=beam_width)
    there = ids != MISSING
    indptr = np.zeros(len(ids) + 1, np.int64)
    there.sum(axis=1).cumsum(out=indptr[1:])
    return _to_csr(learned, indptr, ids[there], scores[there]), costs


def all_estimates(
    learned: AnyLearned, rows: Rows, n_jobs: int | None, *, labels: Any = None
) -> tuple[Any, Costs]:
    """Return all probabilities: dense if the targets were dense or multi-class, else sparse.

    For multi-class targets every row sums to 1, unless only some labels are allowed. If nodes
    decide about their children independently, class i is the only right one with a probability in
    proportion to a power of its odds, p_i / (1 - p_i), where p_i is not calibrated. A model that
    calibrates has learnt the power (see docs/decisions/calibration.md). After re-ranking,
    probabilities are divided by their sum.
    """
    n_classes = learned.columns()[1]
    _refuse_if_too_large(
        rows.n_rows, n_classes, 12, "the best labels only, for those above a threshold,"
    )
    classes = learned.kind == "multiclass"
    if not (classes or learned.dense):
        return estimates(learned, rows, 0.0, n_jobs, labels=labels)
    engine = learned.engine
    stage: SecondStage | None = getattr(engine, "stage", None)
    power = 0.0 if stage is not None and stage.reranks else learned.options.odds(n_classes)
    if stage is not None and power > 0 and n_classes <= learned.options.learns_odds_to:
        power = stage.power(power)
    if power > 0 and classes and labels is None:
        engine = first_stage(engine)
    scope = engine.scope(ABOVE_ZERO, learned.allowed(labels))
    search, threads = engine.above_threshold, thread_count(n_jobs)
    found = np.empty((rows.n_rows, n_classes), np.float64 if classes else np.float32)
    costs: list[Costs] = []
    first = _first_part(engine, rows.n_rows, threads)
    size = min(first, max(_FIRST_CELLS // max(n_classes, 1), 1))
    begin = 0
    for part in _parts(rows, size):
        indptr, ids, scores, its_costs = search(*part.arrays, scope, threads)
        its = found[begin : begin + part.n_rows]
        its[:] = _matrix_of(learned, indptr, ids, scores).toarray()
        if classes and labels is None:
            _to_shares(its, power)
        costs.append(its_costs)
        begin += part.n_rows
    return found, np.concatenate(costs)


def _to_shares(found: npt.NDArray[np.float64], power: float) -> None:
    """Make rows sum to 1, in proportion to a power of the odds, or to the values if it is 0.

    The power is a multiple of 1/4: processors differ in the last bits of any other.
    """
    if power > 0:
        root = np.sqrt(np.sqrt(found / np.maximum(1 - found, _LEAST_DOUBT)))
        found[:] = 1
        for _ in range(round(4 * power)):
            found *= root
    totals = found.sum(axis=1, keepdims=True)
    found[totals[:, 0] <= 0] = 1 / max(found.shape[1], 1)
    np.divide(found, totals, out=found, where=totals > 0)


def _found_within(
    learned: AnyLearned, rows: Rows, scope: Any, n_jobs: int | None
) -> tuple[Any, ...]:
    """Return row ends, ids, scores and costs of the labels that reach a scope's thresholds."""
    search, threads = learned.engine.above_threshold, thread_count(n_jobs)
    first = _first_part(learned.engine, rows.n_rows, threads)
    return _in_parts(rows, first, lambda part: search(*part.arrays, scope, threads), ends=True)


def _first_part(engine: Any, n_rows: int, threads: int) -> int:
    """Return the most rows that the first part may have; forests route many rows at once."""
    if n_rows <= _FIRST_PART:
        return _FIRST_PART
    return max(_FIRST_PART, getattr(engine, "rows_together", 0) * threads)


def _parts(rows: Rows, size: int) -> Iterator[Rows]:
    """Yield some rows at a time, first ``size``, so that Ctrl-C takes effect soon."""
    begin = 0
    while begin < rows.n_rows:
        started, end = perf_counter(), min(begin + size, rows.n_rows)
        yield rows if end - begin == rows.n_rows else rows.part(begin, end)
        begin = end
        if perf_counter() - started < _PART_SECONDS:
            size *= 2


def _in_parts(
    rows: Rows, size: int, search: Callable[[Rows], tuple[Any, ...]], *, ends: bool = False
) -> tuple[Any, ...]:
    """Search for some rows at a time, as `_parts` yields them.

    With ``ends`` the first array that the search returns holds the ends of rows, from 0.
    """
    found = [search(part) for part in _parts(rows, size)]
    if len(found) == 1:
        return found[0]
    arrays = [*zip(*found, strict=True)]
    if not ends:
        return tuple(map(np.concatenate, arrays))
    sizes = np.concatenate([np.diff(part) for part in arrays[0]])
    return np.concatenate([[0], np.cumsum(sizes)]), *map(np.concatenate, arrays[1:])


def right_among_best(
    learned: AnyLearned, rows: Rows, targets: Targets, k: int, n_jobs: int | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the row of every true label, and whether it is predicted at each of the k ranks.

    Labels that the model does not know are not predicted at any rank.
    """
    targets = learned.of_same_kind(targets)
    require_same_length(rows, targets.n_rows)
    best = best_labels(learned, rows, k, n_jobs)[0]
    indptr, ids = learned.labels.ids_for(targets, add=False)
    row_of = np.repeat(np.arange(targets.n_rows), np.diff(indptr))
    right = (best[row_of] == ids.view(np.uint32)[:, None]) & (ids >= 0)[:, None]
    return row_of, right


def precision_at(
    learned: AnyLearned, X: Any, y: Any, kinds: Collection[str], n_jobs: int | None
) -> tuple[float, ...]:
    """Return P@k for every k in `PLACES`, rounded; unknown labels count as not predicted."""
    targets = of_kinds(kinds, parse_targets(y))
    _, right = right_among_best(learned, learned.check_rows(X), targets, max(PLACES), n_jobs)
    hits = [right[:, :k].sum() / (k * max(targets.n_rows, 1)) for k in PLACES]
    return tuple(round(float(share), _DIGITS) for share in hits)


def ids_to_names(ids: npt.NDArray[np.uint32], names: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Convert label ids to names; missing labels become None, or -1 if labels are integers."""
    try:
        return names.take(ids)
    except IndexError:  # MISSING is out of range; this is cheaper than searching for it first
        missing = ids == MISSING
    if len(names) == 0:
        return np.full(ids.shape, None if names.dtype == object else -1, names.dtype)
    named = names[np.where(missing, 0, ids)]
    named[missing] = None if names.dtype == object else -1
    return named


def _to_csr(
    learned: AnyLearned, indptr: npt.NDArray[np.int64], ids: Ids, scores: npt.NDArray[Any]
) -> sp.csr_array:
    """Convert found labels to a sparse array with a column for each class, sorted in every row."""
    result = _matrix_of(learned, indptr, ids, scores)
    result.sort_indices()
    return result


def _matrix_of(
    learned: AnyLearned, indptr: npt.NDArray[np.int64], ids: Ids, scores: npt.NDArray[Any]
) -> sp.csr_array:
    """Convert found labels to a sparse array, each row in the order in which they were found.

    Enough for a dense result: sorting takes much longer than writing the cells.
    """
    column_of, n_columns = learned.columns()
    return csr_of(scores, column_of[ids], indptr, (len(indptr) - 1, n_columns))


def _refuse_if_too_large(n_rows: int, n_classes: int, cell_bytes: int, instead: str) -> None:
    """Refuse a dense result of more than a GiB, and tell what to ask for ``instead``."""
    size = n_rows * n_classes * cell_bytes
    if size > DENSE_LIMIT:
        raise DataError(
            f"scores of {n_classes} labels for each of {n_rows} rows would take "
            f"{size / 2**30:.1f} GiB; ask for {instead} or for fewer rows"
        )
