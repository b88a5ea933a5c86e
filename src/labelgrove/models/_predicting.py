"""How every estimator over a label tree predicts."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from labelgrove._errors import DataError, NotLearnedError, ParameterError
from labelgrove._labels import Targets, parse_targets
from labelgrove._parameters import finite, integer, thread_count
from labelgrove._validation import Rows, check_weights
from labelgrove.models.engine._guard import Guard
from labelgrove.models.engine._learned import Learned
from labelgrove.models.engine._results import (
    SearchStats,
    found_to_csr,
    ids_to_names,
    ranked_to_csr,
    refuse_if_too_large,
)
from labelgrove.models.engine._tuned import tuned_by_class


class Predicting:
    """Prediction from ``_learned``, which is None before the first example."""

    _learned: Learned | None = None
    _own_guard: Guard | None = None
    _takes_beam = True
    n_jobs: int | None
    threshold: float

    @overload
    def predict_topk(
        self,
        X: Any,
        k: int = 5,
        *,
        labels: Any = None,
        beam_width: int | None = None,
        return_stats: Literal[False] = False,
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32]]: ...

    @overload
    def predict_topk(
        self,
        X: Any,
        k: int = 5,
        *,
        labels: Any = None,
        beam_width: int | None = None,
        return_stats: Literal[True],
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32], SearchStats]: ...

    def predict_topk(
        self,
        X: Any,
        k: int = 5,
        *,
        labels: Any = None,
        beam_width: int | None = None,
        return_stats: bool = False,
    ) -> tuple[Any, ...]:
        """The k most probable labels of every row, best first.

        Uniform-cost search (Jasinska-Kobus et al. 2021, Algorithm 10) finds exactly the best; a
        beam may miss some. Among equal probabilities the label that arrived first comes first.

        Parameters
        ----------
        X
            As for ``fit``; features that the model does not know are ignored.
        k : int
        labels : collection of labels, optional
            Return no others.
        beam_width : int, optional
            Open only that many inner nodes on each level, in place of exact search. Estimators
            without a search of their tree refuse it.
        return_stats : bool

        Returns
        -------
        labels : ndarray of shape (n, k)
            Where there are fewer than k labels, the missing places hold None, or -1 where labels
            are integers.
        scores : ndarray of float32, shape (n, k)
            Probabilities, falling; NaN in missing places.
        stats : SearchStats
            If asked for.

        Raises
        ------
        NotLearnedError
            Before the first example.
        DataError, ParameterError
            If X, k, labels or beam_width cannot be used.
        """
        with self._guard.reading():
            learned = self._require_learned()
            rows = learned.check_rows(X)
            ids, scores, costs = self._top_k(learned, rows, k, labels, beam_width)
        found = ids_to_names(ids, learned.labels.names)
        if return_stats:
            return found, scores, SearchStats(*costs.T)
        return found, scores

    def predict_proba(
        self,
        X: Any,
        *,
        top_k: int | None = None,
        threshold: Any = None,
        labels: Any = None,
        beam_width: int | None = None,
        return_stats: bool = False,
    ) -> Any:
        """Sparse probability estimates: those that are among the best k, or reach a threshold.

        Parameters
        ----------
        X
            As for :meth:`predict_topk`.
        top_k : int, optional
            Only the k best of every row.
        threshold : float or array-like of shape (n_classes,), optional
            Only those that are at least this, or their label's, in the order of ``classes_``.
        labels, beam_width
            As for :meth:`predict_topk`; a beam goes with ``top_k``.
        return_stats : bool

        Returns
        -------
        probabilities : csr_array of shape (n, n_classes), float32
            One column a class, in the order of ``classes_``; what is not stored was not asked
            for. For multi-class targets and neither ``top_k`` nor ``threshold``: a dense
            ndarray whose rows are scaled to sum to 1.
        stats : SearchStats
            If asked for.

        Raises
        ------
        NotLearnedError, DataError, ParameterError
            As for :meth:`predict_topk`; also if all probabilities would take more than a GiB.
        """
        if top_k is not None and threshold is not None:
            raise ParameterError("top_k and threshold exclude each other; expected one of them")
        if beam_width is not None and top_k is None:
            raise ParameterError("beam_width goes with top_k")
        with self._guard.reading():
            learned = self._require_learned()
            rows = learned.check_rows(X)
            column_of, n_columns = learned.columns()
            if top_k is not None:
                ids, scores, costs = self._top_k(learned, rows, top_k, labels, beam_width)
                ranked = ranked_to_csr(ids, scores, column_of, n_columns)
                return (ranked, SearchStats(*costs.T)) if return_stats else ranked
            if threshold is None:
                refuse_if_too_large(rows.n_rows, n_columns, 12)
            indptr, ids, scores, costs = learned.engine.above_threshold(
                *rows.arrays,
                learned.thresholds(0.0 if threshold is None else threshold),
                learned.allowed(labels),
                thread_count(self.n_jobs),
            )
        found: Any = found_to_csr(indptr, ids, scores, column_of, n_columns)
        if threshold is None and learned.kind == "multiclass":
            dense = found.toarray().astype(np.float64)
            totals = dense.sum(axis=1, keepdims=True)
            even = np.full_like(dense, 1 / max(n_columns, 1))
            found = np.divide(dense, totals, out=even, where=totals > 0)
        return (found, SearchStats(*costs.T)) if return_stats else found

    def predict(self, X: Any) -> Any:
        """The most probable class of every row, or all labels from their thresholds on.

        The thresholds are those of ``thresholds_``, or ``threshold`` for all as long as none have
        been tuned.

        Parameters
        ----------
        X
            As for :meth:`predict_topk`.

        Returns
        -------
        ndarray of shape (n,) or csr_array of shape (n, n_classes)
            Multi-class: labels. Multi-label: a 0/1 indicator (int8), columns as in ``classes_``.

        Raises
        ------
        NotLearnedError, DataError, ParameterError
            As for :meth:`predict_topk`; also if every class has been removed.
        """
        learned = self._require_learned()
        if learned.kind != "multiclass":
            with self._guard.reading():
                tuned = tuned_by_class(self._require_learned())
                cut = self._checked_threshold() if tuned is None else tuned
                probabilities = self.predict_proba(X, threshold=cut)
            probabilities.data = np.ones(len(probabilities.data), np.int8)
            return probabilities
        found, scores = self.predict_topk(X, 1)
        if np.isnan(scores).any():
            raise NotLearnedError("all classes have been removed; there is none to predict")
        return found[:, 0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy for multi-class targets, precision at 1 for multi-label ones.

        Parameters
        ----------
        X, y
            As for ``fit``. Labels that the model does not know count as not predicted.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        float
            Between 0 and 1.

        Raises
        ------
        NotLearnedError, DataError
            As for :meth:`predict_topk`; also if y or sample_weight cannot be used.
        """
        self._require_learned()
        targets = parse_targets(y)
        with self._guard.reading():
            learned = self._require_learned()
            rows = learned.check_rows(X)
            require_same_kind(learned, targets)
            require_same_length(rows, targets)
            check_weights(sample_weight, rows.n_rows)
            best = self._top_k(learned, rows, 1, None, None)[0][:, 0]
        indptr, ids = learned.labels.ids_for(targets, add=False)
        row_of = np.repeat(np.arange(targets.n_rows), np.diff(indptr))
        hits = np.zeros(targets.n_rows)
        hits[row_of[(ids >= 0) & (ids.view(np.uint32) == best[row_of])]] = 1.0
        return float(np.average(hits, weights=sample_weight))

    def _top_k(
        self, learned: Learned, rows: Rows, k: int, labels: Any, beam_width: int | None
    ) -> tuple[Any, ...]:
        k = integer("k", k, 1)
        if beam_width is not None and not self._takes_beam:
            raise ParameterError(
                f"beam_width={beam_width!r}: {type(self).__name__} searches nothing that a beam "
                "could narrow; expected None"
            )
        width = 0 if beam_width is None else integer("beam_width", beam_width, 1)
        refuse_if_too_large(rows.n_rows, k, 8)
        result: tuple[Any, ...] = learned.engine.top_k(
            *rows.arrays, k, width, learned.allowed(labels), thread_count(self.n_jobs)
        )
        return result

    def _checked_threshold(self) -> float:
        return finite("threshold", self.threshold)

    @property
    def _guard(self) -> Guard:
        """Entered by every method that uses what was learnt."""
        if self._own_guard is None:
            # One step, so that two threads get the same guard without a lock, which a forked
            # process could inherit locked.
            self.__dict__.setdefault("_own_guard", Guard())
            assert self._own_guard is not None
        return self._own_guard

    def _require_learned(self) -> Learned:
        if self._learned is None:
            raise NotLearnedError(
                f"this {type(self).__name__} has not learnt from any example yet; call fit or "
                "partial_fit first"
            )
        return self._learned


def require_same_kind(learned: Learned, targets: Targets) -> None:
    """Refuse targets of another kind than those learnt."""
    if targets.kind != learned.kind:
        raise DataError(f"y: {targets.kind} targets, but the model has learnt {learned.kind} ones")


def require_same_length(rows: Rows, targets: Targets) -> None:
    """Refuse X and y of different lengths."""
    if rows.n_rows != targets.n_rows:
        raise DataError(
            f"X has {rows.n_rows} rows, y has {targets.n_rows}; expected as many "
            "(Found input variables with inconsistent numbers of samples)"
        )
