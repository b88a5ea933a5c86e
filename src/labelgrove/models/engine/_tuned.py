"""Thresholds of a model by label id, in memory and in the model file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove import _core
from labelgrove._errors import ModelFileError
from labelgrove._parameters import numbers
from labelgrove.models._plt_options import EngineOptions
from labelgrove.models.engine._learned import AnyLearned, KeptScope
from labelgrove.tuning import Thresholds

_ARRAY = "threshold.value"


def scope_of_predict(learned: AnyLearned, otherwise: float) -> Any:
    """Return the engine's scope for the thresholds in force, kept until either changes.

    ``otherwise`` is the threshold of all labels if there are none.
    """
    labels, engine = learned.labels, learned.engine
    state = (engine.examples_seen, len(labels), labels.n_active, otherwise)
    kept = learned.scope
    if kept is None or kept.tuned is not learned.tuned or kept.state != state:
        tuned = tuned_by_class(learned)
        scope = engine.scope(learned.thresholds(otherwise if tuned is None else tuned.values))
        kept = learned.scope = KeptScope(scope, learned.tuned, state)
    return kept.scope


def tuned_by_class(learned: AnyLearned) -> Thresholds | None:
    """Return the thresholds with a value for every class, or None if there are no thresholds."""
    tuned = thresholds_in_force(learned)
    if tuned is None:
        return None
    column_of, n_columns = learned.columns()
    values = np.full(n_columns, tuned.default)
    active = np.flatnonzero(learned.labels.active[: len(tuned.values)])
    values[column_of[active]] = tuned.values[active]
    return replace(tuned, values=values)


def keep_thresholds(
    learned: AnyLearned, thresholds: Thresholds | npt.ArrayLike | None, *, default: float
) -> None:
    """Set a threshold for each class of a model, or remove the thresholds.

    ``default`` is for future labels, unless the thresholds have a default.
    """
    if thresholds is None:
        learned.tuned = None
        return
    if not isinstance(thresholds, Thresholds):
        values = numbers("thresholds", learned.in_class_order(thresholds))
        thresholds = Thresholds(values, default, "given", "macro", math.nan)
    learned.thresholds(thresholds.values)  # raises an error unless they fit
    column_of, _ = learned.columns()
    active = learned.labels.active
    values = np.full(len(active), thresholds.default)
    values[active] = thresholds.values[column_of[active]]
    learned.tuned = Thresholds(
        values,
        thresholds.default,
        thresholds.method,
        thresholds.average,
        thresholds.score,
        least_labels=thresholds.least_labels,
    )


def thresholds_state(
    learned: AnyLearned, *, for_prediction: bool
) -> tuple[dict[str, Any] | None, dict[str, npt.NDArray[Any]]]:
    """Return the thresholds as a part of the model file's header, and arrays.

    Thresholds tuned while learning belong to the engine's state, unless the file is for
    prediction.
    """
    tuned = thresholds_in_force(learned) if for_prediction else learned.tuned
    if tuned is None:
        return None, {}
    about = {
        "method": tuned.method,
        "average": tuned.average,
        "score": tuned.score if math.isfinite(tuned.score) else None,
        "default": tuned.default,
        "least_labels": tuned.least_labels,
    }
    return about, {_ARRAY: tuned.values}


def thresholds_in_force(learned: AnyLearned) -> Thresholds | None:
    """Return the thresholds by label id: set by the user, tuned while learning, or None."""
    options, engine = learned.options, learned.engine
    if learned.tuned is None and isinstance(options, EngineOptions) and options.ofo_b:
        if not engine.can_learn:
            return None
        assert isinstance(engine, _core.OnlinePlt)  # with OFO there is no second stage
        start = min(options.ofo_a / options.ofo_b, 0.5)  # of an unseen label
        return Thresholds(engine.thresholds(), start, "ofo", "macro", math.nan)
    return learned.tuned


def thresholds_from_state(
    about: Any, arrays: Mapping[str, npt.NDArray[Any]], n_labels: int
) -> Thresholds | None:
    """Restore and check thresholds from the result of :func:`thresholds_state`."""
    if about is None:
        return None
    values = np.array(arrays[_ARRAY])
    if values.dtype != np.float64 or values.ndim != 1 or len(values) > n_labels:
        raise ModelFileError(f"array '{_ARRAY}' must have at most one number for every label")
    score = math.nan if about["score"] is None else about["score"]
    least = about.get("least_labels", 0)  # files of earlier versions have none
    told = about["default"], about["method"], about["average"], score
    return Thresholds(values, *told, least_labels=least)
