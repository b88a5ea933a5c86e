"""An engine with a second stage, which calibrates its scores and re-ranks its best labels.

It has the interface of an engine. When the second stage re-ranks, the `CANDIDATES` best labels of
the first stage have the second stage's probabilities. All other labels follow, with the first
stage's calibrated probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from labelgrove import _core
from labelgrove._sparse import find_sorted
from labelgrove.metrics import inverse_propensity
from labelgrove.metrics._propensity import FEWEST_EXAMPLES
from labelgrove.models.engine._learned import (
    MISSING,
    Arrays,
    Floats,
    Ids,
    Pointers,
    without_prefix,
)
from labelgrove.tuning._second_stage import CANDIDATES, PLACES, SecondStage

RowArrays = tuple[Pointers, Ids, Floats]  # of `Rows`

BUDGET = 512
"""A label's sum of examples is cut to this many features once it has twice as many."""

_FEW = 64
"""Number of best labels among which those that reach their thresholds are sought first."""

_FEW_FROM = 0.05
"""With a lower threshold at the last place there may be many more, and that search is in vain."""

_PREFIX = "stage."
_STAGE = _PREFIX + "numbers"

_BURST = 64
"""Online, this many consecutive examples are predicted before they are learnt, then none for a
while: a prediction makes the nodes that it opens learn their queued examples at once, and is cheap
if the last prediction was near."""

_BEGIN = 128
"""Number of examples before the first prediction: the first ones say nothing about later ones."""


class _Scope(NamedTuple):
    thresholds: Floats
    allowed: Ids | None
    first: Any  # of the first stage: no label outside reaches its threshold, but for the best ones
    # If thresholds differ by place, `first` is for the last one, where they are highest, and no
    # label reaches its threshold with a lower score than that of its place here; shape (1, places).
    least: Floats | None = None


class StagedEngine:
    """An engine, and a second stage that learns from its predictions.

    Online, some examples are predicted just before they are learnt, in bursts: about the same
    number each time that the stream doubles. The choice depends only on the number of earlier
    examples.

    Parameters
    ----------
    first : Engine
        Its `top_k` also takes ``least``, an array (n, places) or (1, places): labels with lower
        scores than that of their place, or of the last place, may be left out.
    stage : SecondStage
    sums : LabelSums, optional
        Sum of the examples of every label; by default empty.
    met : int
        Number of examples learnt so far, except those of weight 0 and those made from names.
    sums_bytes : int
        Memory limit of new sums; 0 for none.
    """

    def __init__(
        self,
        first: Any,
        stage: SecondStage,
        sums: _core.LabelSums | None = None,
        met: int = 0,
        sums_bytes: int = 0,
    ) -> None:
        self.first = first
        self.stage = stage
        self.sums = _core.LabelSums(BUDGET, sums_bytes) if sums is None else sums
        self.met = met
        self.bursts = 4 if stage.tail is None else 16  # re-ranking needs more than calibration

    def __getattr__(self, name: str) -> Any:
        return getattr(self.first, name)

    # --- learning ------------------------------------------------------------------------------

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
        weights: Floats | None = None,
        asked: npt.NDArray[np.uint64] | None = None,
        k: int = 0,
        *,
        own: npt.NDArray[np.bool_] | None = None,
        again: bool = False,
    ) -> tuple[Any, Any]:
        """Learn from the rows ``begin`` to ``end``, some of which are predicted first.

        The answers are ranked as the second stage would have ranked them before the call. The
        second stage observes no predictions for rows that are not the caller's ``own``, and learns
        nothing from rows that have been learnt before (``again``).
        """
        counted = np.arange(begin, end)
        for mask in (own, weights):
            counted = counted if mask is None else counted[mask[counted] > 0]
        watched = [] if again else [*self._observed(counted)]
        predicted = np.array([row for row, _ in watched], np.uint64)
        given = predicted[:0] if asked is None else asked
        if len(predicted) > 0 and len(given) > 0:
            questions = np.union1d(predicted, given)
        else:
            questions = predicted if watched else given
        seen, most = self.first.examples_seen, max(PLACES, k)
        found, scores = np.empty((0, PLACES), np.uint32), np.empty((0, PLACES), np.float32)
        arrays = indptr, ids, values, label_indptr, labels
        try:
            every, all_scores = self.first.learn(
                *arrays, begin, end, threads, weights, questions, most
            )
            best, best_scores = every[:0], all_scores[:0]
            if len(given) > 0:
                its = questions.searchsorted(given)
                best, best_scores = every[its], all_scores[its]
            if self.stage.reranks:
                for row, ranked, its_scores in zip(given, best, best_scores, strict=True):
                    x, k_best = _one_row(arrays[:3], row), ranked[:CANDIDATES].copy()
                    _, [order] = self._reranked(x, k_best[None], its_scores[None, :CANDIDATES], 1)
                    ranked[:CANDIDATES] = k_best[order]
            found, scores = every, all_scores
        except _core.BudgetExceeded as refused:
            _, found, scores = refused.args
            raise
        finally:
            at, stop = begin, begin + self.first.examples_seen - seen
            if watched and len(found) > 0:
                its = questions.searchsorted(predicted[predicted < stop])
                if len(its) > 0:
                    found, scores = found[its, :PLACES], scores[its, :PLACES]
                    at = self._watch(arrays, begin, weights, watched[: len(its)], found, scores)
            if not again:
                self.add(*arrays, at, stop, weights)
            self.met += int(counted.searchsorted(stop))
        return best[:, :k], best_scores[:, :k]

    def _watch(
        self,
        arrays: tuple[Pointers, Ids, Floats, Pointers, Ids],
        at: int,
        weights: Floats | None,
        watched: list[tuple[int, float]],
        found: Ids,
        scores: Floats,
    ) -> int:
        """Learn from the predictions for these rows; return the row that examples were added to."""
        *_, label_indptr, labels = arrays
        rows, keeps = zip(*watched, strict=True)
        true = [labels[label_indptr[row] : label_indptr[row + 1]] for row in rows]
        right = _right(found, np.repeat(np.arange(len(true)), [*map(len, true)]), true)
        cosines, worth = _no_evidence(len(rows))
        if self.stage.tail is not None:  # with the sums as they were before each example
            for i, row in enumerate(rows):
                self.add(*arrays, at, row, weights)
                at, x, best = row, _one_row(arrays[:3], row), found[i : i + 1, :CANDIDATES]
                cosines[i], worth[i] = self._cosines(x, best, 1), self._inverse_propensity(best)
        self.stage.observe(scores, cosines, worth, right, np.array(keeps))
        return at

    def _observed(self, rows: npt.NDArray[np.int64]) -> Iterator[tuple[int, float]]:
        """Yield those to predict, and the factor by which earlier predictions are discounted.

        All of the first ``2 * bursts`` bursts are predicted, then every second one up to twice as
        many, then every fourth, and so on. Early predictions say little about the later model: each
        counts by the square of its place in the stream, so the factor is the squared ratio of its
        place to the next.
        """
        first, last = self.met, self.met + len(rows)
        for burst in range(first // _BURST, -(-last // _BURST)):
            since = 1 << max(0, (burst // self.bursts).bit_length() - 1)
            if burst % since:
                continue
            after = (burst + 1) * _BURST
            for number in range(max(burst * _BURST, first, _BEGIN), min(after, last)):
                following = number + 1 if number + 1 < after else (burst + since) * _BURST
                share = number / following
                yield int(rows[number - first]), share * share  # a power may be rounded differently

    def add(self, *examples: Any) -> None:
        """Add examples, given as to `_core.LabelSums.add`, to the sums of their labels."""
        if self.stage.tail is not None:
            self.sums.add(*examples)

    def observe(
        self, rows: RowArrays, row_of: npt.NDArray[np.int64], labels: Ids, threads: int
    ) -> None:
        """Learn from predictions for held-out rows; ``row_of`` are the rows of the true labels."""
        found, scores, *_ = self.first.top_k(*rows, PLACES, 0, None, threads)
        cosines, worth = _no_evidence(len(found))
        if self.stage.tail is not None:
            best = found[:, :CANDIDATES]
            cosines, worth = self._cosines(rows, best, threads), self._inverse_propensity(best)
        right = _right(found, row_of, [labels])
        self.stage.observe(scores, cosines, worth, right, np.ones(len(found)))

    def calibrated(
        self, rows: RowArrays, row_of: npt.NDArray[np.int64], products: Floats
    ) -> Floats:
        """Return the probabilities of labels or nodes that the first stage gives these ones."""
        if self.stage.examples == 0:
            return products
        _, best, *_ = self.first.top_k(*rows, PLACES, 0, None, 1)
        return self.stage.calibrated(products, row_of, best)

    def remove_labels(self, labels: Ids) -> None:
        """Never predict these labels again."""
        self.first.remove_labels(labels)
        self.sums.forget(labels)

    # --- prediction ----------------------------------------------------------------------------

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
        """Return labels (n, k), probabilities (n, k), and costs of the first stage (n, 4)."""
        rows, most = (indptr, ids, values), max(k, CANDIDATES) if self.stage.reranks else k
        labels, scores, costs = self.first.top_k(*rows, most, beam_width, allowed, threads)
        if self.stage.examples == 0:
            return labels, scores, costs
        best = scores
        if allowed is not None and not self.stage.reranks and self.stage.counts_places:
            lowest = np.nanmin(scores, axis=1, keepdims=True, initial=np.inf)
            _, best, more = self.first.top_k(*rows, PLACES, 0, None, threads, lowest)
            costs = _both(costs, more)
        row_of = np.arange(len(scores)).repeat(most)
        found = self.stage.calibrated(scores.reshape(-1), row_of, best[:, :PLACES])
        found = found.reshape(scores.shape)
        if self.stage.reranks:
            best = labels[:, :CANDIDATES]
            probabilities, order = self._reranked(rows, best, scores[:, :CANDIDATES], threads)
            labels[:, :CANDIDATES] = np.take_along_axis(best, order, axis=1)
            found[:, CANDIDATES:] = _at_most(found[:, CANDIDATES:], probabilities)
            found[:, :CANDIDATES] = np.take_along_axis(probabilities, order, axis=1)
        return labels[:, :k], found[:, :k], costs

    def above_threshold(
        self,
        indptr: Pointers,
        ids: Ids,
        values: Floats,
        scope: _Scope,
        threads: int,
    ) -> tuple[Any, ...]:
        """Return row ends (n + 1,), labels, probabilities, and costs of the searches (n, 4)."""
        rows = (indptr, ids, values)
        ranked: tuple[Any, ...] | None = None
        if scope.least is not None and scope.least[0, -1] >= _FEW_FROM:
            ranked = self.first.top_k(*rows, _FEW, 0, None, threads, scope.least)
            if self._are_all(ranked[1], scope.least):
                return self._among(ranked, scope)
        found: tuple[Any, ...] = self.first.above_threshold(*rows, scope.first, threads)
        if self.stage.examples == 0:
            return found
        ends, labels, scores, costs = found
        allowed = scope.allowed
        row_of = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        if self.stage.reranks or scope.least is not None:
            if ranked is None:
                among = allowed if self.stage.reranks else None
                ranked = self.first.top_k(*rows, PLACES + 1, 0, among, threads, scope.least)
            best, best_scores, more = ranked
            costs = _both(costs, more)
            if scope.least is not None:
                tied = np.flatnonzero(best_scores[:, PLACES] == best_scores[:, PLACES - 1])
                row_of, labels, scores = self._with_ties(rows, scope, tied, row_of, labels, scores)
            best_scores = best_scores[:, :PLACES]
            best = best[:, : CANDIDATES if self.stage.reranks else PLACES]
            there = _which(best, allowed)
            best_of = np.nonzero(there)[0]
            rest = ~np.isin(_pairs(row_of, labels), _pairs(best_of, best[there]))
            row_of = np.concatenate([best_of, row_of[rest]])
            labels = np.concatenate([best[there], labels[rest]])
            scores = np.concatenate([best_scores[:, : best.shape[1]][there], scores[rest]])
        else:
            best_scores = _best_of_rows(scores, row_of, ends, PLACES)
        estimates = self.stage.calibrated(scores, row_of, best_scores)
        if self.stage.reranks:
            probabilities, _ = self._reranked(rows, best, best_scores[:, :CANDIDATES], threads)
            others = estimates[len(best_of) :, None]
            others = _at_most(others, probabilities[row_of[len(best_of) :]])[:, 0]
            estimates = np.concatenate([probabilities[there], others])
        return *_reaching(len(ends) - 1, row_of, labels, estimates, scope.thresholds), costs

    def _are_all(self, scores: Floats, least: Floats) -> bool:
        """Whether no label reaches its threshold but those with these scores, best first."""
        last = scores[:, -1:]  # not always at the last place: all of them may be equal
        places = (scores[:, :PLACES] > last).sum(axis=1, keepdims=True)
        return not (last >= least[0, places]).any()

    def _among(self, ranked: tuple[Any, ...], scope: _Scope) -> tuple[Any, ...]:
        """Return what `above_threshold` returns, of the labels of a ranking.

        The labels ranked before one that reaches its threshold reach those of their places.
        """
        best, scores, costs = ranked
        there = _which(best, scope.allowed)
        row_of = np.ascontiguousarray(np.nonzero(there)[0])
        estimates = self.stage.calibrated(scores[there], row_of, scores[:, :PLACES])
        return *_reaching(len(best), row_of, best[there], estimates, scope.thresholds), costs

    def _with_ties(
        self,
        rows: RowArrays,
        scope: _Scope,
        tied: npt.NDArray[np.int64],
        row_of: npt.NDArray[np.int64],
        labels: Ids,
        scores: Floats,
    ) -> tuple[npt.NDArray[np.int64], Ids, Floats]:
        """Add the labels of these rows that reach their thresholds only at an earlier place.

        In all other rows, labels beyond the best are worse than those, so at the last place.
        """
        if len(tied) == 0:
            return row_of, labels, scores
        found = [(row_of, labels, scores)]
        anywhere = self.first.scope(self.stage.uncalibrated(scope.thresholds), scope.allowed)
        for row in tied.tolist():
            _, more, its_scores, _ = self.first.above_threshold(*_one_row(rows, row), anywhere, 1)
            fresh = ~np.isin(more, labels[row_of == row])
            found.append((np.full(fresh.sum(), row), more[fresh], its_scores[fresh]))
        row_of, labels, scores = map(np.concatenate, zip(*found, strict=True))
        return row_of, labels, scores

    def scope(self, thresholds: Floats, allowed: Ids | None = None) -> _Scope:
        """Return a scope for searches until the engine changes."""
        if self.stage.examples == 0:
            return _Scope(thresholds, allowed, self.first.scope(thresholds, allowed))
        least = self.stage.uncalibrated(thresholds)
        if self.stage.reranks or not self.stage.counts_places:
            return _Scope(thresholds, allowed, self.first.scope(least, allowed))
        at_last = self.stage.uncalibrated(thresholds, PLACES)
        by_place = self.stage.uncalibrated_by_place(float(thresholds.min(initial=np.inf)))
        first, last = by_place[0, [0, -1]]
        # With a single threshold over all labels, every better-ranked label is found as well. One
        # search is then enough, and faster unless it finds many labels in vain.
        if allowed is None and len(thresholds) == 1 and last < _FEW_FROM and last <= 2 * first:
            return _Scope(thresholds, allowed, self.first.scope(least))
        return _Scope(thresholds, allowed, self.first.scope(at_last, allowed), by_place)

    def _reranked(
        self, rows: RowArrays, labels: Ids, scores: Floats, threads: int
    ) -> tuple[Floats, npt.NDArray[np.int64]]:
        """Return the probabilities of candidates (n, k) and their order."""
        cosines = self._cosines(rows, labels, threads)
        found = self.stage.rescored(scores, cosines).astype(np.float32)
        merit = self.stage.merit(self._inverse_propensity(labels))
        order = np.argsort(-np.where(labels == MISSING, -1.0, found * merit), axis=1, kind="stable")
        return found, order

    def _cosines(self, rows: RowArrays, labels: Ids, threads: int) -> Floats:
        return self.sums.cosines(*rows, labels.ravel(), threads)

    def cosine(self, row: RowArrays, label: int) -> float | None:
        """Return the cosine of a single row to a label's centroid; None if it is not used."""
        if not self.stage.reranks:
            return None
        if label not in self.first.top_k(*row, CANDIDATES, 0, None, 1)[0]:
            return None
        return float(self._cosines(row, np.array([label], np.uint32), 1)[0, 0])

    def _inverse_propensity(self, labels: Ids) -> npt.NDArray[np.float64]:
        counts = self.sums.counts(labels.ravel())
        n_examples = max(self.sums.examples, FEWEST_EXAMPLES)
        return inverse_propensity(counts, n_examples=n_examples).reshape(labels.shape)

    # --- files ---------------------------------------------------------------------------------

    def size(self) -> dict[str, int]:
        """Return the number of weights, and bytes."""
        size: dict[str, int] = self.first.size()
        return {**size, "model_bytes": size["model_bytes"] + self.sums.bytes}

    def save(self, for_prediction: bool, *, streamed: bool = False) -> dict[str, Any]:
        """Return the learnt state."""
        first: dict[str, Any] = self.first.save(for_prediction, streamed=streamed)
        return first | self._own_arrays()

    def compact(self, dtype: int, threshold: float) -> Arrays:
        """Return the arrays of a compact engine and of its second stage."""
        first: Arrays = self.first.compact(dtype, threshold)
        return first | self._own_arrays()

    def _own_arrays(self) -> Arrays:
        numbers = np.concatenate([[self.met], self.stage.to_array()])
        sums = {_PREFIX + name: array for name, array in self.sums.save().items()}
        return {_STAGE: numbers, **sums}

    @classmethod
    def load(cls, first: Any, arrays: Mapping[str, npt.NDArray[Any]], sums_bytes: int = 0) -> Any:
        """Return the engine with the second stage saved with it, if any; check what was saved."""
        if _STAGE not in arrays:
            return first
        numbers = np.array(arrays[_STAGE])
        if not 0 <= numbers[0] < 2**53:
            raise ValueError(f"array '{_STAGE}' must begin with a number of examples")
        sums = _core.LabelSums.load(without_prefix(_PREFIX, arrays), sums_bytes)
        return cls(first, SecondStage.from_array(numbers[1:]), sums, int(numbers[0]))


def first_stage(engine: Any) -> Any:
    """Return the engine without its second stage, if it has one."""
    return engine.first if isinstance(engine, StagedEngine) else engine


def with_stage(engine: Any, stage: SecondStage | None, other: Any, sums_bytes: int) -> Any:
    """Add a second stage, if there is one, to an engine.

    The sums of the labels' examples come from another engine with the same labels, if that has a
    second stage.
    """
    if stage is None:
        return engine
    known = isinstance(other, StagedEngine)
    sums = _core.LabelSums.load(other.sums.save(), sums_bytes) if known else None
    return StagedEngine(engine, stage, sums, sums_bytes=sums_bytes)


def _no_evidence(n_rows: int) -> tuple[Floats, npt.NDArray[np.float64]]:
    """Return the cosines and inverse propensities of a second stage that does not re-rank."""
    return np.zeros((n_rows, CANDIDATES), np.float32), np.zeros((n_rows, CANDIDATES))


def _one_row(rows: RowArrays, row: int) -> RowArrays:
    indptr, ids, values = rows
    if len(indptr) == 0:
        width = len(ids)
        return indptr, ids, values[row * width : (row + 1) * width]
    begin, end = int(indptr[row]), int(indptr[row + 1])
    return np.array([0, end - begin], np.int64), ids[begin:end], values[begin:end]


def _right(found: Ids, row_of: npt.NDArray[np.int64], labels: list[Ids]) -> npt.NDArray[np.bool_]:
    """Return whether the labels found for each row are true.

    ``labels`` increase within a row, and their rows, ``row_of``, in all.
    """
    true = np.concatenate([np.empty(0, np.uint32), *labels])
    pairs = _pairs(np.arange(len(found))[:, None], found)
    return find_sorted(_pairs(row_of, true), pairs)[1]


def _pairs(rows: npt.NDArray[Any], labels: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Encode each pair of a row and a label as one number."""
    return rows.astype(np.int64) * 2**32 + labels.astype(np.int64)


def _both(costs: Any, more: Any) -> Any:
    """Combine the costs of two searches: the sum, and the larger depth."""
    deepest = np.maximum(costs[:, 1], more[:, 1])
    costs = costs + more
    costs[:, 1] = deepest
    return costs


def _which(labels: Ids, allowed: Ids | None) -> npt.NDArray[np.bool_]:
    """Return which places of a ranking hold a label, and one that is allowed."""
    there: npt.NDArray[np.bool_] = labels != MISSING
    return there if allowed is None else there & np.isin(labels, allowed)


def _reaching(
    n: int, row_of: npt.NDArray[np.int64], labels: Ids, estimates: Floats, thresholds: Floats
) -> tuple[Pointers, Ids, Floats]:
    """Return the labels of n rows that reach their thresholds: row ends, labels, estimates."""
    reached = estimates >= (thresholds[labels] if len(thresholds) > 1 else thresholds[0])
    row_of, labels, estimates = row_of[reached], labels[reached], estimates[reached]
    order = np.argsort(row_of, kind="stable")
    ends = np.searchsorted(row_of[order], np.arange(n + 1))
    return ends.astype(np.int64), labels[order], estimates[order]


def _best_of_rows(scores: Floats, row_of: npt.NDArray[np.int64], ends: Pointers, k: int) -> Floats:
    """Return the first k scores of every row; NaN if there are fewer."""
    at = np.arange(len(scores)) - ends[row_of]
    first = at < k
    best = np.full((len(ends) - 1, k), np.nan, np.float32)
    best[row_of[first], at[first]] = scores[first]
    return best


def _at_most(found: Floats, before: Floats) -> Floats:
    """Limit the probabilities of labels to those of the labels ranked before them."""
    least = np.where(np.isnan(before), np.float32(np.inf), before)
    least = least.min(axis=1, keepdims=True, initial=np.float32(np.inf))
    return np.asarray(np.minimum(found, least))
