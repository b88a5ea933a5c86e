"""Base of the batch estimators, and how they learn from all examples at once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove import _core
from labelgrove._interrupts import run_watched
from labelgrove._parameters import thread_count
from labelgrove._validation import is_dict_rows
from labelgrove.models._base import LabelClassifier
from labelgrove.models.engine._examples import Examples, Mask, Start, take
from labelgrove.models.engine._learned import Engine
from labelgrove.models.engine._staged import StagedEngine

_SHARE, _MOST = 0.2, 8192
"""Examples held out for a second stage: this share of the rows, up to this number."""

BatchStart = Start[Callable[[Examples, _core.Progress, Engine | None], Engine]]


class BatchClassifier(LabelClassifier):
    """Base of the batch estimators, which learn from all examples at once."""

    _progress: _core.Progress | None = None

    @property
    def fit_progress(self) -> float:
        """Progress of a :meth:`fit` in another thread, from 0 to 1; 0 if none is running."""
        progress = self._progress
        return 0.0 if progress is None else progress.share

    def _fit(self, X: Any, y: Any, sample_weight: Any, own: Mask = None) -> None:
        fit_at_once(self, X, y, sample_weight, own)

    @abstractmethod
    def _start(self) -> BatchStart:
        """Check the parameters.

        The engine is made from the examples and the engine whose predictions the second stage has
        seen, or None if there is none. Its scores must mean the same as that engine's.
        """


def fit_at_once(model: Any, X: Any, y: Any, sample_weight: Any, own: Mask) -> None:
    """Learn from all examples in a separate thread; an unfinished fit does not change the model.

    The model's ``_start`` returns a `BatchStart`. Its ``_progress`` exists during the fit.
    """
    with model._guard.changing() as turn:
        start: BatchStart = model._started(named=is_dict_rows(X))
        examples = take(model, start, X, y, sample_weight, own=own)
        examples.make_known(start.labels, examples.first + len(examples.fresh))
        examples = examples.without_ignored()
        model._progress = _core.Progress()

        def stop() -> None:
            model._progress.stop()  # the current one: a second stage begins another

        try:
            engine = run_watched(partial(_train, model, start, examples), turn.interrupts, stop)
        finally:
            del model._progress
        learned = start.learned(engine, examples)
        learned.count(examples.counted(0, examples.rows.n_rows))
        if not turn.interrupts.pending:
            model._adopt(learned, turn)


def _train(model: Any, start: BatchStart, examples: Examples) -> Engine:
    """Train a second stage, if any, on held-out examples; then learn from all examples."""
    if start.stage is None:
        return start.make(examples, model._progress, None)
    seen: Engine | None = None
    held_out, others = _split(examples, start.options)
    if len(held_out) > 0:
        tried, shown = examples.at(others), examples.at(held_out)
        seen = start.make(tried, model._progress, None)
        before = StagedEngine(seen, start.stage)
        _add_to_sums(before, tried)
        row_of = np.repeat(np.arange(len(held_out)), np.diff(shown.indptr))
        before.observe(shown.rows.arrays, row_of, shown.ids, thread_count(model.n_jobs))
        model._progress = _core.Progress()
    engine = StagedEngine(start.make(examples, model._progress, seen), start.stage)
    _add_to_sums(engine, examples)
    return engine


def _split(examples: Examples, options: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Draw the rows to hold out; return them and all others."""
    n_rows, own = examples.rows.n_rows, examples.own
    may_be_drawn = np.arange(n_rows) if own is None else np.flatnonzero(own)
    n = min(int(_SHARE * len(may_be_drawn)), _MOST)
    held_out = np.sort(np.random.default_rng(options.seed).permutation(may_be_drawn)[:n])
    return held_out, np.setdiff1d(np.arange(n_rows), held_out, assume_unique=True)


def _add_to_sums(engine: StagedEngine, examples: Examples) -> None:
    weights = examples.weights
    if weights is not None and weights.max(initial=0) > 0:
        weights = weights / weights.max()
    rows = examples.rows
    engine.add(*rows.arrays, examples.indptr, examples.ids, 0, rows.n_rows, weights)
