"""Base of the online estimators, and how they learn from a stream."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt

from labelgrove import _core
from labelgrove._errors import LearningInterrupted, ModelStateError
from labelgrove._parameters import integer, thread_count
from labelgrove._validation import Rows, is_dict_rows
from labelgrove.models._base import LabelClassifier
from labelgrove.models._shared import SharedModel
from labelgrove.models.engine._examples import MOST_WEIGHT, Call, Examples, Mask, Start, Watch, take
from labelgrove.models.engine._guard import Turn
from labelgrove.models.engine._learned import MISSING, Learned, OnlineEngine, known
from labelgrove.models.engine._records import Options
from labelgrove.models.engine._staged import StagedEngine

# Ctrl-C takes effect between two runs. Several threads get longer runs, since all but one of them
# begin each run by waiting.
_RUN_NONZEROS = 2_000_000
_RUN_ROWS = 8192

# Shorter runs for shared models, since readers have to wait for one.
_STEP_SECONDS = 0.003
_STEP_NONZEROS = 200

Prepare = Callable[[Rows, int, int, int], Rows]
"""Turns the rows from ``begin`` to ``end`` into their learnt form, just before they are learnt."""


OnlineStart = Start[Callable[[Examples | None], OnlineEngine]]


class OnlineClassifier(LabelClassifier):
    """Base of the online estimators, which learn from one example after another."""

    epochs: int

    @property
    def _most_weight(self) -> float:
        return MOST_WEIGHT

    def _fit(self, X: Any, y: Any, sample_weight: Any, own: Mask = None) -> None:
        passes, threads = integer("epochs", self.epochs, 1), thread_count(self.n_jobs)
        with self._guard.changing() as turn:
            start = self._started(named=is_dict_rows(X))
            examples = take(self, start, X, y, sample_weight, own=own)
            self._adopt(start.learned(start.make(examples), examples), turn)
            self._run(examples, passes, turn, threads, Call())

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        again: bool = False,
    ) -> Self:
        """Continue learning from X and y, in the given order, with any new labels and features.

        Parameters
        ----------
        X, y
            As for :meth:`fit`. One call with n rows is equivalent to n calls with one row.
        classes : array-like, optional
            Not needed. As in scikit-learn, the first call may announce all labels, which then
            appear in ``classes_`` at once, with probability 0 until an example has them. Later
            calls may repeat ``classes_``. If given, y must not contain other labels.
        sample_weight
            As for :meth:`fit`.
        again : bool
            Whether the examples have been learnt before. A second stage does not learn from
            them, since predictions for learnt examples are too good.

        Returns
        -------
        self

        Raises
        ------
        DataError
            As for :meth:`fit`; the model does not change.
        LearningInterrupted
            On Ctrl-C; ``examples_learned`` is the number of rows of this call that were learnt.
        """
        self._partial_fit(X, y, classes, sample_weight, Call(again=again))
        return self

    def shared(self, timeout: float | None = None) -> SharedModel:
        """Return a handle through which one thread can learn while others predict.

        A model used directly refuses other threads while one is learning. Through the handle,
        threads wait for each other.

        Parameters
        ----------
        timeout : float, optional
            As for :class:`SharedModel`.

        Returns
        -------
        SharedModel
        """
        return SharedModel(self, timeout)

    def _partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any,
        sample_weight: Any,
        call: Call,
        prepare: Prepare | None = None,
        *,
        own: Mask = None,
        still: Callable[[], bool] = lambda: True,
    ) -> bool:
        """Learn without waiting; with patience, wait for others and admit them between runs.

        Returns False, having learnt nothing, if what the caller read in the model does not hold
        ``still``, now that no other thread can change it.
        """
        threads = thread_count(self.n_jobs)
        with self._guard.changing(call.patience) as turn:
            if not still():
                return False
            into = self._learned or self._started(named=is_dict_rows(X))
            if isinstance(into, Learned) and not into.engine.can_learn:
                raise ModelStateError(
                    "this model was saved for prediction only and cannot learn; load the full model"
                )
            given, zeros = (X, y, sample_weight, classes), prepare is not None
            examples = take(self, into, *given, own=own, some=False, zeros=zeros)
            if isinstance(into, Start):  # nothing has been learnt yet
                self._adopt(into.learned(into.make(None), examples), turn)
            self._run(examples, 1, turn, threads, call, prepare)
        return True

    def _run(
        self,
        examples: Examples,
        passes: int,
        turn: Turn,
        threads: int,
        call: Call,
        prepare: Prepare | None = None,
    ) -> None:
        pace = Pace.of_runs(threads) if call.patience is None else Pace.of_steps()
        learned = cast("Learned[Options, OnlineEngine]", known(self._learned))
        n, done = examples.rows.n_rows, 0
        while done < n * passes and not turn.interrupts.pending:
            begin = done % n
            end = pace.end_of_run(examples.rows, begin)
            with turn.alone():
                started = perf_counter()
                run = examples
                if prepare is not None:
                    rows = prepare(examples.rows, begin, end, threads).without_zeros()
                    run = examples._replace(rows=rows)
                again = call.again or done >= n
                learn_run(learned, run, begin, end, threads, call.watch, again=again)
                pace.adapt(perf_counter() - started)
            done += end - begin
        if turn.interrupts.pending:
            turn.interrupts.pending = False
            raise LearningInterrupted(
                f"learning stopped after {done} of {n * passes} examples of this call; the model "
                f"is valid and has learnt from {learned.engine.examples_seen} examples in total",
                done,
            )

    @abstractmethod
    def _start(self) -> OnlineStart:
        """Check the parameters.

        The engine is made from all examples of a ``fit``, or from None by ``partial_fit``.
        """


@dataclass
class Pace:
    """Length of the runs into which a call's examples are divided."""

    most_rows: int
    nonzeros: float  # the most in a run, unless a single row has more
    seconds: float = math.inf  # target duration of a run, to which `nonzeros` is adjusted

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
        """Return the end of the run that begins at this row."""
        if rows.dense:
            end = begin + int(self.nonzeros) // max(rows.n_features, 1)
        else:
            most = rows.indptr[begin] + int(self.nonzeros)
            end = int(rows.indptr.searchsorted(most, "right")) - 1
        return min(max(end, begin + 1), begin + self.most_rows, rows.n_rows)

    def adapt(self, seconds: float) -> None:
        """Adjust to the duration of the last run. The learnt model does not depend on it."""
        if math.isfinite(self.seconds):
            change = min(max(self.seconds / max(seconds, 1e-9), 0.25), 2.0)
            self.nonzeros = min(max(self.nonzeros * change, 1.0), _RUN_NONZEROS)


def predict_and_learn(
    model: Any, X: Any, y: Any, rows: npt.NDArray[np.uint64], k: int
) -> list[list[Any]]:
    """Continue learning, and return the k best labels of some rows, as just before each was learnt.

    ``model`` is an OnlineClassifier or a TextClassifier of one; ``rows`` ascend.
    """
    watch = Watch(rows, k)
    model._partial_fit(X, y, None, None, Call(watch=watch))
    return watch.found


def learn_run(
    learned: Learned[Options, OnlineEngine],
    examples: Examples,
    begin: int,
    end: int,
    threads: int,
    watch: Watch | None = None,
    *,
    again: bool = False,
) -> None:
    """Learn some rows, making labels known no earlier than their examples.

    The model is consistent before and after.
    """

    def count(end: int) -> None:
        # A row said to be learnt before may hold a new label, which needs a count, if of 0.
        learned.count(examples.counted(begin, begin if again else end))
        learned.uncounted += end - begin if again else examples.n_weightless(begin, end)

    label_indptr, ids, engine = examples.indptr, examples.ids, learned.engine
    labels = ids[label_indptr[begin] : label_indptr[end]]
    before, seen = len(learned.labels), engine.examples_seen
    n_labels = before
    if examples.fresh:
        n_labels = max(int(labels.max(initial=0)) + 1, engine.label_count, before)
    examples.make_known(learned.labels, n_labels)
    learned.n_features = max(learned.n_features, examples.rows.n_features)
    learned.n_columns = max(learned.n_columns, examples.n_columns)
    arrays, weights = examples.rows.arrays, examples.weights
    asked, k = None, 0
    if watch is not None:
        first, last = np.searchsorted(watch.rows, [begin, end])
        asked, k = watch.rows[first:last], watch.k
    given = (*arrays, label_indptr, ids, begin, end, threads, weights, asked, k)
    try:
        if isinstance(engine, StagedEngine):
            found, _ = engine.learn(*given, own=examples.own, again=again)
        else:
            found, _ = engine.learn(*given)
    except BaseException as error:
        announced = examples.first + examples.n_announced
        learned.labels.truncate(max(engine.label_count, before, announced))
        count(begin + engine.examples_seen - seen)
        if not isinstance(error, _core.BudgetExceeded):
            raise
        message, sums, trees = error.args[0], learned.options.sums_bytes, learned.options.n_trees
        if sums:
            message = f"second_stage reserves {sums} bytes of max_bytes, which leaves {message}"
        if trees > 1:
            message += (
                f" (this is the share of one of {trees} trees, which may now have learnt different "
                "numbers of examples: load the last saved model)"
            )
        raise ModelStateError(message) from None
    count(end)
    if watch is not None:
        names = learned.labels.names
        watch.found += [names[row[row != MISSING]].tolist() for row in found]
