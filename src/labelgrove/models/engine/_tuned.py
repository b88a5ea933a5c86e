"""Thresholds that a model keeps: by label id, in memory and in the model file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove import _core
from labelgrove._errors import ModelFileError
from labelgrove.models.engine._learned import AnyLearned, Prepared
from labelgrove.tuning import Thresholds

FloatArray = npt.NDArray[np.float64]

_ARRAY = "threshold.value"


def tuned_by_label(learned: AnyLearned) -> FloatArray | None:
    """One threshold for every label id: those given, else those tuned while learning, else None."""
    n_labels = len(learned.labels)
    if learned.tuned is not None:
        return _padded(learned.tuned.values, learned.tuned.default, n_labels)
    start = _online_start(learned)
    return None if start is None else _padded(_online(learned), start, n_labels)


def prepared_thresholds(learned: AnyLearned) -> Any | None:
    """Thresholds prepared for the engine, once for each state of the model; None without any."""
    labels, engine = learned.labels, learned.engine
    state = (engine.examples_seen, len(labels), labels.n_active, learned.n_columns)
    kept = learned.prepared
    same = kept is not None and kept.engine is engine and kept.tuned is learned.tuned
    if kept is None or not same or kept.state != state:
        values = tuned_by_class(learned)
        if values is None:
            return None
        thresholds = engine.prepare_thresholds(learned.thresholds(values))
        kept = learned.prepared = Prepared(thresholds, engine, learned.tuned, state)
    return kept.thresholds


def tuned_by_class(learned: AnyLearned) -> FloatArray | None:
    """The same for every class; None if there are no thresholds."""
    by_label = tuned_by_label(learned)
    if by_label is None:
        return None
    column_of, n_columns = learned.columns()
    start = _online_start(learned) if learned.tuned is None else learned.tuned.default
    values = np.full(n_columns, start, np.float64)
    active = learned.labels.active
    values[column_of[active]] = by_label[active]
    return values


def keep_thresholds(
    learned: AnyLearned, thresholds: Thresholds | npt.ArrayLike | None, *, default: float
) -> None:
    """Give a model thresholds, one for each of its classes, or take them away.

    ``default`` is that of labels to come, unless the thresholds bring their own.
    """
    if thresholds is None:
        learned.tuned = None
        return
    if not isinstance(thresholds, Thresholds):
        thresholds = Thresholds(np.asarray(thresholds), default, "given", "macro", math.nan)
    learned.thresholds(thresholds.values)  # raises unless they fit
    column_of, _ = learned.columns()
    active = learned.labels.active
    values = np.full(len(active), thresholds.default)
    values[active] = thresholds.values[column_of[active]]
    learned.tuned = Thresholds(
        values, thresholds.default, thresholds.method, thresholds.average, thresholds.score
    )


def thresholds_state(
    learned: AnyLearned, *, for_prediction: bool
) -> tuple[dict[str, Any] | None, dict[str, npt.NDArray[Any]]]:
    """What the model file keeps: a part of its header, and arrays.

    Those tuned while learning are a part of the engine's state, unless it will learn no more.
    """
    tuned = thresholds_for_prediction(learned) if for_prediction else learned.tuned
    if tuned is None:
        return None, {}
    about = {
        "method": tuned.method,
        "average": tuned.average,
        "score": tuned.score if math.isfinite(tuned.score) else None,
        "default": tuned.default,
    }
    return about, {_ARRAY: tuned.values}


def thresholds_for_prediction(learned: AnyLearned) -> Thresholds | None:
    """What a copy that learns no more keeps; those tuned while learning too."""
    start = _online_start(learned)
    if learned.tuned is not None or start is None:
        return learned.tuned
    return Thresholds(_online(learned), start, "ofo", "macro", math.nan)


def thresholds_from_state(
    about: Any, arrays: Mapping[str, npt.NDArray[Any]], n_labels: int
) -> Thresholds | None:
    """What :func:`thresholds_state` gave, checked."""
    if about is None:
        return None
    values = np.array(arrays[_ARRAY])
    if values.dtype != np.float64 or values.ndim != 1 or len(values) > n_labels:
        raise ModelFileError(f"array '{_ARRAY}' must hold at most one number for every label")
    score = math.nan if about["score"] is None else about["score"]
    return Thresholds(values, about["default"], about["method"], about["average"], score)


def _online_start(learned: AnyLearned) -> float | None:
    """The threshold of a label not seen yet, where they are tuned while learning; else None."""
    options = learned.options.to_dict()
    if not options.get("ofo_b") or not learned.engine.can_learn:
        return None
    return float(min(options["ofo_a"] / options["ofo_b"], 0.5))


def _online(learned: AnyLearned) -> FloatArray:
    engine = learned.engine
    assert isinstance(engine, _core.OnlinePlt)
    return engine.thresholds()


def _padded(values: FloatArray, default: float, size: int) -> FloatArray:
    padded = np.full(size, default, np.float64)
    padded[: min(len(values), size)] = values[:size]
    return padded
