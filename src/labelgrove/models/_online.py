"""How estimators learn from one example after another."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any, Self, cast

import numpy as np

from labelgrove import _core
from labelgrove._errors import LearningInterrupted, ModelStateError
from labelgrove._parameters import integer, thread_count
from labelgrove._validation import Rows, check_weights, is_dict_rows
from labelgrove.models._base import LabelClassifier
from labelgrove.models._shared import SharedModel
from labelgrove.models.engine._examples import MOST_WEIGHT, Examples, Start, Weigh, take
from labelgrove.models.engine._guard import Turn
from labelgrove.models.engine._learned import Learned, OnlineEngine, known
from labelgrove.models.engine._records import Options
from labelgrove.models.engine._staged import StagedEngine

# A run is what Ctrl-C waits for. Several threads get longer ones: all but one begin by waiting.
_RUN_NONZEROS = 2_000_000
_RUN_ROWS = 8192

# Runs of a shared model: readers wait for one of these.
_STEP_SECONDS = 0.003
_STEP_NONZEROS = 200

Prepare = Callable[[Rows, int, int, int], Rows]
"""Makes the rows from ``begin`` to ``end`` what is learnt of them, just before they are learnt."""

OnlineStart = Start[Callable[[Examples | None], OnlineEngine]]


class OnlineClassifier(LabelClassifier):
    """Base of the estimators that learn from one example after another."""

    epochs: int

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        passes, threads = integer("epochs", self.epochs, 1), thread_count(self.n_jobs)
        with self._guard.changing() as turn:
            start = self._started(named=is_dict_rows(X))
            examples = take(
                start,
                X,
                y,
                self._kinds,
                partial(check_weights, sample_weight, most=MOST_WEIGHT),
                check=self._check_new_labels,
            )
            self._adopt(start.learned(start.make(examples), examples), turn)
            self._run(examples, passes, turn, threads, Pace.of_runs(threads))

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        again: bool = False,
    ) -> Self:
        """Go on learning from X and y, in the given order; new labels and features are welcome.

        Parameters
        ----------
        X, y
            As for :meth:`fit`. A call of n rows is the same as n calls of one.
        classes : array-like, optional
            Not needed. As scikit-learn has it, the first call may announce all labels: they are
            in ``classes_`` at once, with probability 0 until an example has them. Later calls may
            repeat ``classes_``. Where it is given, y must hold no other labels.
        sample_weight
            As for :meth:`fit`.
        again : bool
            Whether the examples have been learnt before, so that predictions of them would
            flatter: a second stage learns nothing from them.

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
        return self._partial_fit(X, y, classes, sample_weight, None, again=again)

    def shared(self, timeout: float | None = None) -> SharedModel:
        """Give threads a handle to this model, through which one learns while others predict.

        Used directly, a model that learns in one thread refuses all others. Through the handle
        they wait for each other, and while :meth:`SharedModel.partial_fit` runs no
        prediction waits longer than a few milliseconds for it.

        Parameters
        ----------
        timeout : float, optional
            Seconds after which a thread gives up waiting, by a ModelStateError.

        Returns
        -------
        SharedModel

        Examples
        --------
        >>> from labelgrove import OnlinePLTClassifier
        >>> model = OnlinePLTClassifier().partial_fit([[1, 0], [0, 1]], ["cat", "dog"]).shared()
        >>> model.partial_fit([[1, 1]], ["bird"]).predict_topk([[1, 0]], k=1)[0].tolist()
        [['cat']]
        """
        return SharedModel(self, timeout)

    def _partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any,
        sample_weight: Any,
        patience: float | None,
        prepare: Prepare | None = None,
        *,
        again: bool = False,
    ) -> Self:
        """Learn without waiting; with patience, wait for others and let them in between runs."""
        threads = thread_count(self.n_jobs)
        pace = Pace.of_runs(threads) if patience is None else Pace.of_steps()
        with self._guard.changing(patience) as turn:
            weigh = partial(check_weights, sample_weight, most=MOST_WEIGHT, some=False)
            examples = self._take_more(X, y, classes, weigh, turn)
            self._run(examples, 1, turn, threads, pace, prepare, again=again)
        return self

    def _take_more(self, X: Any, y: Any, classes: Any, weigh: Weigh, turn: Turn) -> Examples:
        """Validate a call's examples; a model that has learnt nothing is started."""
        into = self._learned or self._started(named=is_dict_rows(X))
        if isinstance(into, Learned) and not into.engine.can_learn:
            raise ModelStateError("this model was saved for prediction only; it cannot learn on")
        examples = take(into, X, y, self._kinds, weigh, classes, self._check_new_labels)
        if isinstance(into, Start):
            self._adopt(into.learned(into.make(None), examples), turn)
        return examples

    def _run(
        self,
        examples: Examples,
        passes: int,
        turn: Turn,
        threads: int,
        pace: Pace,
        prepare: Prepare | None = None,
        *,
        again: bool = False,
    ) -> None:
        learned = cast("Learned[Options, OnlineEngine]", known(self._learned))
        n, done = examples.rows.n_rows, 0
        while done < n * passes and not turn.interrupts.pending:
            begin = done % n
            end = pace.end_of_run(examples.rows, begin)
            with turn.alone():
                started = perf_counter()
                run = examples
                if prepare is not None:
                    run = replace(examples, rows=prepare(examples.rows, begin, end, threads))
                if isinstance(learned.engine, StagedEngine):
                    learned.engine.again = again or done >= n
                learn_run(learned, run, begin, end, threads)
                pace.adapt(perf_counter() - started)
            done += end - begin
        if turn.interrupts.pending:
            turn.interrupts.pending = False
            raise LearningInterrupted(
                f"learning stopped after {done} of {n * passes} examples of this call; the model "
                f"is valid and has learnt from {learned.engine.examples_seen} in all",
                done,
            )

    @abstractmethod
    def _start(self, *, named: bool) -> OnlineStart:
        """Check the parameters; ``named`` tells that features have names.

        The engine is made of all of a fit's examples, or of none.
        """

    def _check_new_labels(self, options: Any, fresh: list[Any]) -> None:
        """Refuse labels that a model with these options cannot take."""


@dataclass
class Pace:
    """How long runs are.

    Attributes
    ----------
    most_rows : int
    nonzeros : float
        Most non-zeros in a run, unless a single row has more.
    seconds : float
        How long a run should take; ``nonzeros`` is adjusted to it.
    """

    most_rows: int
    nonzeros: float
    seconds: float = math.inf

    @classmethod
    def of_runs(cls, threads: int) -> Self:
        """Long runs, for a model that no other thread waits for."""
        share = min(threads, 4)
        return cls(share * _RUN_ROWS, share * _RUN_NONZEROS)

    @classmethod
    def of_steps(cls) -> Self:
        """Short runs, between which other threads predict."""
        return cls(_RUN_ROWS, _STEP_NONZEROS, _STEP_SECONDS)

    def end_of_run(self, rows: Rows, begin: int) -> int:
        """The end of the run that begins at this row."""
        if rows.dense:
            end = begin + int(self.nonzeros) // max(rows.n_features, 1)
        else:
            most = rows.indptr[begin] + int(self.nonzeros)
            end = int(np.searchsorted(rows.indptr, most, side="right")) - 1
        return min(max(end, begin + 1), begin + self.most_rows, rows.n_rows)

    def adapt(self, seconds: float) -> None:
        """Adjust to how long the last run took. What is learnt does not depend on it."""
        if math.isfinite(self.seconds):
            change = min(max(self.seconds / max(seconds, 1e-9), 0.25), 2.0)
            self.nonzeros = min(max(self.nonzeros * change, 1.0), _RUN_NONZEROS)


def learn_run(
    learned: Learned[Options, OnlineEngine], examples: Examples, begin: int, end: int, threads: int
) -> None:
    """Learn some rows. Before and after, the model is consistent and knows no label too early."""
    label_indptr, ids, engine = examples.indptr, examples.ids, learned.engine
    labels = ids[label_indptr[begin] : label_indptr[end]]
    before, seen = len(learned.labels), engine.examples_seen
    n_labels = max(int(labels.max(initial=0)) + 1, engine.label_count, before)
    examples.make_known(learned.labels, n_labels)
    learned.n_features = max(learned.n_features, examples.rows.n_features)
    learned.n_columns = max(learned.n_columns, examples.n_columns)
    try:
        engine.learn(
            *examples.rows.arrays, label_indptr, ids, begin, end, threads, examples.weights
        )
    except BaseException as error:
        announced = examples.first + examples.n_announced
        learned.labels.truncate(max(engine.label_count, before, announced))
        if not isinstance(error, _core.BudgetExceeded):
            raise
        learned.count(examples.counted(begin, begin + engine.examples_seen - seen), 1)
        told, sums = str(error), getattr(learned.options, "sums_bytes", 0)
        if sums:
            told = f"{sums} bytes of max_bytes are for second_stage, which leaves {told}"
        raise ModelStateError(told) from None
    learned.count(examples.counted(begin, end), 1)
