"""How an estimator over label trees is made compact."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from labelgrove import _core
from labelgrove._errors import ParameterError
from labelgrove._labels import parse_targets
from labelgrove._parameters import choice, integer, real, thread_count
from labelgrove.models._predicting import Predicting, require_same_kind, require_same_length
from labelgrove.models.engine._archive import learned_from_state, model_state
from labelgrove.models.engine._compaction_report import DTYPES, PLACES, CompactionReport
from labelgrove.models.engine._learned import Learned
from labelgrove.persistence import model_bytes

_ATTEMPTS = 8
_DIGITS = 6
_MOST = float(np.finfo(np.float32).max)

# What a report holds until it is known: never shorter, in the file, than what it will hold.
_UNKNOWN = 10**15
_UNMEASURED = (0.123456,) * len(PLACES)


class Compacting(Predicting):
    """Making a small copy of a model, for prediction."""

    def compact(
        self,
        *,
        dtype: str = "float32",
        threshold: float | None = None,
        max_bytes: int | None = None,
        X: Any = None,
        y: Any = None,
    ) -> Self:
        """Make a copy that takes few bytes, predicts, and cannot learn on.

        Weights may be dropped and rounded; each row of weights is written in the way that takes
        the fewest bytes. A copy with ``dtype="float32"`` and no threshold predicts exactly what
        this model does. Saved and loaded, the weights stay in the mapped file, and processes that
        load the same file share them.

        Parameters
        ----------
        dtype : {"float32", "float16", "int8"}
            How weights are held: in 4, 2 or 1 bytes. With "int8" every classifier has a scale of
            its own. The bias is always a float32.
        threshold : float, optional
            Drop weights that add less than this to the linear score of a feature of value 1.
        max_bytes : int, optional
            In place of ``threshold``: how large the model's file may be. The least threshold that
            makes it fit is taken.
        X, y : optional
            As for ``fit``, better not learnt from: the report then holds P@1, P@3 and P@5 on them,
            of this model and of the copy.

        Returns
        -------
        estimator
            Of the same class; its ``compaction_`` tells what it has cost.

        Raises
        ------
        NotLearnedError
            Before the first example.
        ParameterError
            If a parameter lies outside its domain, or no threshold makes the model fit.
        DataError
            If X and y cannot be used.

        Examples
        --------
        >>> from labelgrove import OnlinePLTClassifier
        >>> X, y = [[1.0, 0.0], [0.0, 1.0]], [["a"], ["b"]]
        >>> small = OnlinePLTClassifier().fit(X, y).compact(dtype="float16", X=X, y=y)
        >>> small.predict_topk(X, k=1)[0].tolist(), small.compaction_.precision_after[0]
        ([['a'], ['b']], 1.0)
        """
        given = {"dtype": dtype, "threshold": threshold}
        choice(given, "dtype", DTYPES)
        if threshold is not None and max_bytes is not None:
            raise ParameterError("threshold and max_bytes exclude each other; expected one of them")
        if (X is None) != (y is None):
            raise ParameterError("X and y go together; expected both or none")
        cut = 0.0 if threshold is None else real(given, "threshold", 0.0, math.inf)
        most = None if max_bytes is None else integer("max_bytes", max_bytes, 1)
        with self._guard.reading():
            learned = self._require_learned()
            report = CompactionReport(
                dtype,
                cut,
                int(learned.engine.size()["weights"]),
                _UNKNOWN,
                _size(self),
                _UNKNOWN,
                None if X is None else _precision(self, X, y),
                None if X is None else _UNMEASURED,
            )
            if most is None:
                copy = _compact_copy(self, learned, report)
            else:
                copy = _fitting_copy(self, learned, report, most)
            _finish_report(copy, None if X is None else _precision(copy, X, y))
        compacted: Self = copy
        return compacted

    @property
    def compaction_(self) -> CompactionReport:
        """What :meth:`compact` has cost, on the copy that it gave."""
        learned = self._learned
        if learned is None or learned.compaction is None:
            raise AttributeError("compaction_ is there on the copies that compact() gives")
        return learned.compaction


def _compact_copy(model: Any, learned: Learned, report: CompactionReport) -> Any:
    """A model compacted as the report says, which is not finished yet."""
    arrays = learned.engine.compact(DTYPES[report.dtype], report.threshold)
    engine = _core.CompactPlt.load(learned.options.to_dict(), arrays, True)
    report = replace(report, threshold=min(report.threshold, _MOST))  # JSON knows no infinity
    copy = clone(model)
    copy.front_end_ = getattr(model, "front_end_", None)
    copy._learned = replace(learned, engine=engine, compaction=report)
    # By way of its state, so that the two share nothing.
    copy._learned = learned_from_state(type(model), *model_state(copy, for_prediction=True))
    return copy


def _fitting_copy(model: Any, learned: Learned, report: CompactionReport, most: int) -> Any:
    """The compact model with the least threshold whose file takes so many bytes at most."""
    empty = _compact_copy(model, learned, replace(report, threshold=math.inf))
    least = _size(empty)
    if least > most:
        raise ParameterError(
            f"max_bytes={most}: this model takes {least} bytes even without a weight but the biases"
        )
    arrays = empty._require_learned().engine.save(True)
    budget = most - least + arrays["weights.bias"].nbytes + arrays["weights.scale"].nbytes
    threads = thread_count(model.n_jobs)
    for _ in range(_ATTEMPTS):
        threshold = learned.engine.compact_threshold(DTYPES[report.dtype], budget, threads)
        copy = _compact_copy(model, learned, replace(report, threshold=float(threshold)))
        excess = _size(copy) - most
        if excess <= 0:
            return copy
        budget = max(budget - excess, 0)  # the header grows with its numbers
    return empty


def _finish_report(copy: Any, precision: tuple[float, ...] | None) -> None:
    learned = copy._require_learned()
    weights = int(learned.engine.size()["weights"])
    learned.compaction = replace(
        learned.compaction, weights_after=weights, precision_after=precision
    )
    for _ in range(2):  # the size is part of what it is the size of
        learned.compaction = replace(learned.compaction, bytes_after=_size(copy))


def _size(model: Any) -> int:
    return model_bytes(*model_state(model, for_prediction=True))


def _precision(model: Predicting, X: Any, y: Any) -> tuple[float, ...]:
    """P@k for every k of `PLACES`; labels that the model does not know count as not predicted."""
    targets = parse_targets(y)
    learned = model._require_learned()
    rows = learned.check_rows(X)
    require_same_kind(learned, targets)
    require_same_length(rows, targets)
    best = model._top_k(learned, rows, max(PLACES), None, None)[0]
    indptr, ids = learned.labels.ids_for(targets, add=False)
    row_of = np.repeat(np.arange(targets.n_rows), np.diff(indptr))
    right = (best[row_of] == ids.view(np.uint32)[:, None]) & (ids >= 0)[:, None]
    hits = [right[:, :k].sum() / (k * max(targets.n_rows, 1)) for k in PLACES]
    return tuple(round(float(share), _DIGITS) for share in hits)
