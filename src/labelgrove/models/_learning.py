"""How estimators learn: their examples validated, and learnt one after another."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from labelgrove import _core
from labelgrove._errors import DataError, LearningInterrupted, ModelStateError
from labelgrove._interrupts import Interrupts
from labelgrove._labels import Targets, parse_targets
from labelgrove._parameters import integer, thread_count
from labelgrove._validation import Rows, check_weights, is_dict_rows
from labelgrove.models._base import LabelClassifier
from labelgrove.models._predicting import require_same_kind, require_same_length
from labelgrove.models.engine._learned import KINDS, Learned
from labelgrove.models.engine._watching import run_watched

# A run is what Ctrl-C waits for. Several threads get longer ones: all but one begin by waiting.
_RUN_NONZEROS = 2_000_000
_RUN_ROWS = 4096


class OnlineClassifier(LabelClassifier):
    """Base of the estimators that learn from one example after another."""

    epochs: int

    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything, then learn from X and y in ``epochs`` passes, in the given order.

        Parameters
        ----------
        X : sparse array or matrix, array-like of shape (n, d), or list of dicts
            Features; dicts map names to numbers, or to strings for categories.
        y : array-like of shape (n,), sequence of n collections of labels, or indicator (n, L)
            Multi-class targets, or multi-label targets by name or as a 0/1 array.

        Returns
        -------
        self

        Raises
        ------
        DataError
            If X or y cannot be used; the message names the place. The model stays as it was.
        ParameterError
            If a parameter lies outside its domain.
        LearningInterrupted
            On Ctrl-C; the model is valid and keeps what it has learnt.
        """
        return self._learn(X, y, None, integer("epochs", self.epochs, 1), afresh=True)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Go on learning from X and y, in the given order; new labels and features are welcome.

        Parameters
        ----------
        X, y
            As for :meth:`fit`. A call of n rows is the same as n calls of one.
        classes : array-like, optional
            Not needed. Where it is given, y must hold no other labels.

        Returns
        -------
        self

        Raises
        ------
        DataError
            As for :meth:`fit`; whatever was learnt before stays as it was.
        LearningInterrupted
            On Ctrl-C; ``examples_learned`` tells how many rows of this call have been learnt.
        """
        return self._learn(X, y, classes, 1, afresh=False)

    def _learn(self, X: Any, y: Any, classes: Any, passes: int, *, afresh: bool) -> Self:
        threads = thread_count(self.n_jobs)
        with self._guard.changing() as interrupts:
            learned = None if afresh else self._learned
            if learned is None:
                learned = self._start(named=is_dict_rows(X))
            if not learned.engine.can_learn:
                raise ModelStateError(
                    "this model was saved for prediction only; it cannot learn on"
                )
            known_labels = len(learned.labels)
            rows, indptr, ids = take(learned, X, y, classes, self._kinds, self._check_labels)
            if afresh:
                self._begin(learned, rows, indptr, ids)
            if learned is not self._learned:
                self._learned = learned
                self.front_end_: dict[str, Any] | None = None
            _run(learned, rows, indptr, ids, known_labels, passes, threads, interrupts)
        return self

    @abstractmethod
    def _start(self, *, named: bool) -> Learned:
        """A model that has not learnt anything yet, and has no kind of targets.

        ``named`` tells that features have names. Parameters are checked here.
        """

    def _begin(
        self,
        learned: Learned,
        rows: Rows,
        indptr: npt.NDArray[np.int64],
        ids: npt.NDArray[np.uint32],
    ) -> None:
        """Look at all of a fit's examples before the first one is learnt."""

    @staticmethod
    def _check_labels(learned: Learned, known: int) -> None:
        """Refuse labels that the model cannot take; those from id ``known`` on are new."""


class BatchClassifier(LabelClassifier):
    """Base of the estimators that learn from all examples at once."""

    _progress: _core.Progress | None = None

    @property
    def fit_progress(self) -> float:
        """How far the :meth:`fit` is that another thread runs, from 0 to 1; 0 if there is none."""
        progress = self._progress
        return 0.0 if progress is None else progress.share

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn from X and y.

        Parameters
        ----------
        X : sparse array or matrix, array-like of shape (n, d), or list of dicts
            Features; dicts map names to numbers, or to strings for categories.
        y : array-like of shape (n,), sequence of n collections of labels, or indicator (n, L)
            Multi-class targets, or multi-label targets by name or as a 0/1 array.
        sample_weight : array-like of shape (n,), optional
            How much each example counts; 1 by default.

        Returns
        -------
        self

        Raises
        ------
        DataError
            If X, y or sample_weight cannot be used; the message names the place. The model stays
            as it was.
        ParameterError
            If a parameter lies outside its domain.
        KeyboardInterrupt
            On Ctrl-C; the model stays as it was.
        """
        with self._guard.changing() as interrupts:
            learned = self._start(named=is_dict_rows(X))
            rows, indptr, ids = take(learned, X, y, kinds=self._kinds)
            weights = check_weights(sample_weight, rows.n_rows)
            self._progress = _core.Progress()
            try:
                train = partial(self._train, learned, rows, indptr, ids, weights, self._progress)
                run_watched(train, interrupts, self._progress)
            finally:
                del self._progress
            learned.count(ids, 1)
            if not interrupts.pending:
                self._learned = learned
                self.front_end_: dict[str, Any] | None = None
        return self

    @abstractmethod
    def _start(self, *, named: bool) -> Learned:
        """Parameters checked, and nothing learnt yet; ``named`` tells that features have names."""

    @abstractmethod
    def _train(
        self,
        learned: Learned,
        rows: Rows,
        indptr: npt.NDArray[np.int64],
        ids: npt.NDArray[np.uint32],
        weights: npt.NDArray[np.float32] | None,
        progress: _core.Progress,
    ) -> None:
        """Give ``learned`` its engine, trained on the rows and their labels."""


def take(
    learned: Learned,
    X: Any,
    y: Any,
    classes: Any = None,
    kinds: Collection[str] = KINDS,
    check: Callable[[Learned, int], None] | None = None,
) -> tuple[Rows, npt.NDArray[np.int64], npt.NDArray[np.uint32]]:
    """Validate a call's examples, and make their labels and features known; all or nothing.

    ``check(learned, known)`` may refuse, by an exception, labels from id ``known`` on.

    Returns
    -------
    rows : Rows
    indptr, ids : ndarray
        The labels of row i are ``ids[indptr[i]:indptr[i + 1]]``.
    """
    known_labels, known_features = len(learned.labels), len(learned.features or ())
    try:
        rows = learned.check_rows(X, grow=True)
        targets = parse_targets(y)
        if tuple(kinds) == ("multiclass",):
            targets = _as_classes(targets)
        if targets.kind not in kinds:
            raise DataError(f"y: {targets.kind} targets; expected {' or '.join(kinds)} ones")
        if classes is not None:
            _require_among(targets, classes)
        require_same_length(rows, targets)
        if learned.kind:
            require_same_kind(learned, targets)
        indptr, ids = learned.labels.ids_for(targets, add=True)
        if check is not None:
            check(learned, known_labels)
    except BaseException:
        learned.labels.truncate(known_labels)
        if learned.features is not None:
            learned.features.truncate(known_features)
        raise
    learned.kind = targets.kind
    learned.n_features = max(learned.n_features, rows.n_features)
    learned.n_columns = max(learned.n_columns, targets.n_columns or 0)
    return rows, indptr, ids.view(np.uint32)


def _run(
    learned: Learned,
    rows: Rows,
    label_indptr: npt.NDArray[np.int64],
    labels: npt.NDArray[np.uint32],
    known_labels: int,
    passes: int,
    threads: int,
    interrupts: Interrupts,
) -> None:
    n, nonzeros = rows.n_rows, max(len(rows.values), 1)
    share = min(threads, 4)
    step = int(np.clip(share * _RUN_NONZEROS * n // nonzeros, 1, share * _RUN_ROWS))
    engine = learned.engine
    before = engine.examples_seen
    try:
        for begin in (begin for _ in range(passes) for begin in range(0, n, step)):
            end = min(begin + step, n)
            engine.learn(*rows.arrays, label_indptr, labels, begin, end, threads)
            if interrupts.pending:
                break
    finally:
        if learned.kind != "indicator":  # whose columns are labels before they are in the tree
            learned.labels.truncate(max(engine.label_count, known_labels))
        done = engine.examples_seen - before
        passes_done, rows_done = divmod(done, n)
        if passes_done:
            learned.count(labels, passes_done)
        learned.count(labels[: label_indptr[rows_done]], 1)
    if interrupts.pending:
        interrupts.pending = False
        raise LearningInterrupted(
            f"learning stopped after {done} of {n * passes} examples of this call; the model is "
            f"valid and has learnt from {engine.examples_seen} in all",
            done,
        )


def _as_classes(targets: Targets) -> Targets:
    """Collections of one label each, as files hold them, are classes too."""
    if targets.kind != "multilabel":
        return targets
    sizes = np.diff(targets.indptr)
    if (sizes != 1).any():
        row = int(np.argmax(sizes != 1))
        raise DataError(
            f"y: row {row} has {sizes[row]} labels; expected one class in every row (multilabel "
            "targets are for other estimators)"
        )
    return replace(targets, kind="multiclass")


def _require_among(targets: Targets, classes: Any) -> None:
    known = set(np.asarray(classes).ravel().tolist())
    unknown = [name for name in np.unique(targets.labels).tolist() if name not in known]
    if unknown:
        raise DataError(f"y: label {unknown[0]!r} is not among the classes given")
