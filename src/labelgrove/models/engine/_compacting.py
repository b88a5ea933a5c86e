"""Small copies of models, for prediction."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from labelgrove._errors import ParameterError
from labelgrove._parameters import thread_count
from labelgrove.models.engine._archive import About, Format, model_state
from labelgrove.models.engine._learned import AnyLearned, Arrays, Learned, TreeEngine
from labelgrove.models.engine._records import DTYPES, PLACES, CompactionReport, Options
from labelgrove.models.engine._staged import StagedEngine
from labelgrove.models.engine._tuned import thresholds_in_force
from labelgrove.persistence import model_bytes

_MOST = float(np.finfo(np.float32).max)

# Placeholders for figures of a report that are not known yet. In the file they are never shorter
# than the final figures.
_UNKNOWN = 10**15
_UNMEASURED = (0.123456,) * len(PLACES)

LearnedTree = Learned[Options, TreeEngine]


def compact_copy(
    form: Format,
    learned: LearnedTree,
    about: About,
    dtype: str,
    threshold: float,
    max_bytes: int | None,
    measure: Callable[[AnyLearned], tuple[float, ...]] | None,
    n_jobs: int | None,
) -> LearnedTree:
    """Return a compact copy of the learnt state, which shares nothing with the original.

    ``measure`` returns the precision for the report, before and after.
    """
    report = CompactionReport(
        dtype,
        threshold,
        int(learned.engine.size()["weights"]),
        _UNKNOWN,
        model_bytes(*model_state(learned, about, for_prediction=True)),
        _UNKNOWN,
        None if measure is None else measure(learned),
        None if measure is None else _UNMEASURED,
    )
    if max_bytes is not None:
        least = _least_threshold(form, learned, about, report, max_bytes, thread_count(n_jobs))
        report = replace(report, threshold=least)
    arrays = learned.engine.compact(DTYPES[dtype], report.threshold)
    compacted = _loaded(form, learned, arrays, report)
    report = replace(
        _for_json(report),
        weights_after=int(compacted.engine.size()["weights"]),
        precision_after=None if measure is None else measure(compacted),
    )
    for _ in range(2):  # the file contains its own size
        compacted.compaction = report
        report = replace(report, bytes_after=_file_bytes(compacted, about, arrays))
    compacted.compaction = report
    return compacted


def _least_threshold(
    form: Format,
    learned: LearnedTree,
    about: About,
    report: CompactionReport,
    max_bytes: int,
    threads: int,
) -> float:
    """Return the smallest threshold with which the model's file has at most ``max_bytes``.

    A copy without any droppable weights shows the size of everything else. Only the header grows
    with its numbers, and the placeholders reserve room for the longest.
    """
    dtype = DTYPES[report.dtype]
    hollow = learned.engine.compact(dtype, math.inf)
    empty = _loaded(form, learned, hollow, report)
    least = _file_bytes(empty, about, hollow)
    if least > max_bytes:
        raise ParameterError(
            f"max_bytes={max_bytes}: this model takes {least} bytes even without all that a "
            "threshold can drop"
        )
    full = {
        name: array if array.size else np.broadcast_to(array.dtype.type(0), max_bytes)
        for name, array in hollow.items()
    }
    weights = sum(full[name].nbytes for name in full if not hollow[name].size)
    rest = _file_bytes(empty, about, full) - weights
    return learned.engine.compact_threshold(dtype, max(max_bytes - rest, 0), threads)


def _loaded(
    form: Format, learned: LearnedTree, arrays: Arrays, report: CompactionReport
) -> LearnedTree:
    assert form.load_compact is not None  # all label trees have it
    engine = form.load_compact(learned.options.to_dict(), arrays, True, None, False)
    return replace(
        learned.copy_around(StagedEngine.load(engine, arrays)),
        tuned=thresholds_in_force(learned),
        compaction=_for_json(report),
    )


def _for_json(report: CompactionReport) -> CompactionReport:
    return replace(report, threshold=min(report.threshold, _MOST))  # JSON has no infinity


def _file_bytes(compacted: LearnedTree, about: About, arrays: Any) -> int:
    return model_bytes(*model_state(compacted, about, for_prediction=True, arrays=arrays))
