"""Models as (header, arrays), for the model file and for pickling: docs/format.md.

The same data and parameters give the same bytes for any number of threads and, but for the few
parts that NumPy computes (docs/decisions/processors.md), on any processor.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove._errors import ModelFileError, ParameterError
from labelgrove._features import FeatureNames
from labelgrove._label_arrays import names_from_arrays, names_to_arrays
from labelgrove._labels import LabelRegistry
from labelgrove.data import Columns
from labelgrove.models.engine._learned import (
    KINDS,
    AnyLearned,
    Arrays,
    Engine,
    Learned,
    without_prefix,
)
from labelgrove.models.engine._records import CompactionReport, Options
from labelgrove.models.engine._staged import StagedEngine
from labelgrove.models.engine._tuned import thresholds_from_state, thresholds_state
from labelgrove.persistence import Storable
from labelgrove.persistence._read import FAULTS, fault
from labelgrove.text import FrontEnd
from labelgrove.text._front_ends import front_end_from_state
from labelgrove.vocabulary import Vocabulary

LoadEngine = Callable[[dict[str, Any], Arrays, bool, Callable[[], None] | None, bool], Engine]
"""Makes an engine from (options, arrays, for_prediction, let_go, check_only); see the binding."""

State = tuple[dict[str, Any], Arrays]

_FEATURE_PREFIX = "feature."
_COLUMN_PREFIX = "column."
_VOCABULARY = "vocabulary"
_TEXT_PREFIX = "text."
_OF_THE_MACHINE = ("n_jobs",)
"""Parameters that are not saved but chosen when a model is loaded."""
_MOST_COLUMNS = 2**31 - 1


@dataclass(frozen=True)
class Format:
    """The format of an estimator's saved models."""

    options: type[Options]
    load: LoadEngine
    load_compact: LoadEngine | None = None  # if the estimator has compact models


@dataclass(frozen=True)
class About:
    """Contents of a model file apart from the learnt state."""

    algorithm: str
    parameters: dict[str, Any]  # all of the estimator's
    front_end: State | None = None  # its entry in the header, and its arrays
    vocabulary: Vocabulary | None = None
    names: str | None = None  # the parameter of `TextClassifier`
    columns: Columns | None = None  # of a table that the model learnt from


def model_state(
    learned: AnyLearned,
    about: About,
    *,
    for_prediction: bool,
    arrays: Mapping[str, Storable] | None = None,
) -> tuple[dict[str, Any], dict[str, Storable]]:
    """Return the whole model as a JSON header and named arrays.

    ``arrays`` are the engine's, if the caller has them. Large arrays are streamed, so the model
    must not change while they are in use.
    """
    for_prediction = for_prediction or not learned.engine.can_learn
    header = {
        "algorithm": about.algorithm,
        "parameters": _json_parameters(about.parameters),
        "engine": learned.options.to_dict(),
        "for_prediction": for_prediction,
        "targets": learned.kind,
        "columns": learned.n_columns,
        "features": learned.n_features,
        "named_features": learned.features is not None,
        "named_columns": learned.column_names is not None,
        "dense_targets": learned.dense,
        "front_end": None if about.front_end is None else about.front_end[0],
    }
    if about.names is not None:
        header["names"] = about.names
    if about.columns is not None and about.columns.are_given:
        text, labels, separator = about.columns.text, about.columns.labels, about.columns.separator
        header["table"] = {"text": list(text), "labels": list(labels), "separator": separator}
    if learned.uncounted:
        header["repeated"] = learned.uncounted
    if learned.compaction is not None:
        header["compact"] = learned.compaction.to_dict()
    tuned, thresholds = thresholds_state(learned, for_prediction=for_prediction)
    if tuned is not None:
        header["thresholds"] = tuned
    if arrays is None:
        arrays = learned.engine.save(for_prediction, streamed=True)
    arrays = {**arrays, **thresholds}
    if about.front_end is not None:
        arrays |= {_TEXT_PREFIX + name: array for name, array in about.front_end[1].items()}
    if about.vocabulary is not None:
        arrays[_VOCABULARY] = about.vocabulary.to_array()
    arrays |= learned.labels.to_arrays()
    arrays["label.count"] = learned.counts[: len(learned.labels)]
    if learned.features is not None:
        names = LabelRegistry()
        names.ids_of(learned.features.names(), add=True)
        arrays |= {_FEATURE_PREFIX + name: array for name, array in names.to_arrays().items()}
    if learned.column_names is not None:
        columns = names_to_arrays(learned.column_names)
        arrays |= {_COLUMN_PREFIX + name: array for name, array in columns.items()}
    return header, arrays


def learned_from_state(
    form: Format, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> AnyLearned:
    """Restore a learnt state from the result of :func:`model_state`, or raise ModelFileError."""
    try:
        return learned_from_file(form, header, arrays)
    except FAULTS as error:
        raise ModelFileError(f"the model is damaged: {fault(error)}") from error


def learned_from_file(
    form: Format,
    header: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    *,
    check_only: bool = False,
) -> AnyLearned:
    """Restore a learnt state; the caller turns errors of other types into ModelFileError.

    With ``check_only`` the engine may stay empty, so the result must not be used.
    """
    labels = LabelRegistry.from_arrays(arrays, check_only=check_only)
    counts = np.array(arrays["label.count"])
    counters = np.array(arrays["counters"])
    if counts.dtype != np.int64 or counts.shape != (len(labels),) or counts.min(initial=0) < 0:
        raise ModelFileError("array 'label.count' must have one count for every label")
    if counters.dtype != np.uint64 or counters.ndim != 1 or len(counters) < 2:
        raise ModelFileError("array 'counters' must begin with the counts of labels and examples")
    if int(counters[0]) > len(labels):
        raise ModelFileError("array 'counters': the model has more labels than names")
    if counts.max(initial=0) > int(counters[1]):
        raise ModelFileError(
            "array 'label.count': a label was counted in more examples than the model has seen"
        )
    options = form.options.from_dict(header["engine"])
    for_prediction = header["for_prediction"] is True
    compaction = header.get("compact")
    load = form.load if compaction is None else form.load_compact
    if load is None or (compaction is not None and not for_prediction):
        raise ModelFileError(
            "the header declares a compact model that cannot exist for this algorithm, or that "
            "could learn"
        )
    let_go = getattr(arrays, "let_go", None)
    first = load(options.to_dict(), dict(arrays), for_prediction, let_go, check_only)
    learned = Learned(
        engine=StagedEngine.load(first, arrays, options.sums_bytes),
        options=options,
        labels=labels,
        features=_feature_names(header, arrays),
        kind=header["targets"],
        n_columns=_count(header, "columns", _MOST_COLUMNS),
        n_features=_count(header, "features", _MOST_COLUMNS),
        counts=counts,
        uncounted=_count(header, "repeated", int(counters[1]), 0),
        dense=header.get("dense_targets") is True,
        column_names=_column_names(header, arrays),
        compaction=None if compaction is None else CompactionReport.from_dict(compaction),
        tuned=thresholds_from_state(header.get("thresholds"), arrays, len(labels)),
    )
    _check_labels(learned)
    return learned


def _check_labels(learned: AnyLearned) -> None:
    labels = learned.labels
    if learned.kind not in KINDS:
        raise ModelFileError(f"unknown kind of targets {learned.kind!r}")
    if learned.n_columns > (len(labels) if learned.kind == "indicator" else 0):
        raise ModelFileError("the header's 'columns' exceed the number of labels")
    learnt = np.zeros(len(labels), bool)
    learnt[learned.engine.labels()] = True
    if learned.kind == "indicator":
        names = labels.names
        outside = len(names) > 0 and (
            names.dtype != np.int64
            or not 0 <= int(names.min()) <= int(names.max()) < learned.n_columns
        )
        if outside:
            raise ModelFileError("a label of the indicator lies outside its columns")
    # Columns and announced classes have names before they have examples.
    if (learnt & ~labels.active).any() or learned.counts[labels.active & ~learnt].any():
        raise ModelFileError("the learnt labels do not match the labels' names and counts")


def _feature_names(
    header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> FeatureNames | None:
    if header["named_features"] is False:
        return None
    names = LabelRegistry.from_arrays(without_prefix(_FEATURE_PREFIX, arrays))
    if names.label_type == "int" or not names.active.all():
        raise ModelFileError("the names of features must be text, and all must be in use")
    if max(len(names), 1) != header["features"]:
        raise ModelFileError(f"there are {len(names)} names for {header['features']!r} features")
    return FeatureNames(names.names.tolist())


def _column_names(
    header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> npt.NDArray[Any] | None:
    if header.get("named_columns", False) is False:
        return None
    names = names_from_arrays(without_prefix(_COLUMN_PREFIX, arrays))
    if names.dtype != object or not 0 < len(names) <= header["features"]:
        raise ModelFileError(
            f"there are {len(names)} column names for {header['features']!r} features"
        )
    return names


def parameters_from(header: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return an estimator's parameters from a file; older files lack some and have ``n_jobs``."""
    parameters = header.get("parameters")
    if not isinstance(parameters, dict) or not set(parameters) <= set(names):
        raise ModelFileError("the header has parameters that the estimator does not have")
    return _json_parameters(parameters)


def front_end_from(
    header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], *, trust_pattern: bool
) -> FrontEnd | None:
    """Return the text front end, if the model has one."""
    front_end = header.get("front_end")
    if front_end is None:
        return None
    kept = without_prefix(_TEXT_PREFIX, arrays)
    return front_end_from_state(front_end, kept, trust_pattern=trust_pattern)


def vocabulary_from(arrays: Mapping[str, npt.NDArray[Any]]) -> Vocabulary | None:
    """Return the names of the labels, if the model has them."""
    kept = arrays.get(_VOCABULARY)
    return None if kept is None else Vocabulary.from_array(kept)


def columns_from(header: Mapping[str, Any]) -> Columns | None:
    """Return the columns of the table that the model learnt from, if they are known."""
    table = header.get("table")
    if table is None:
        return None
    try:
        text, labels, separator = (table[name] for name in ("text", "labels", "separator"))
        if isinstance(text, list) and isinstance(labels, list):
            return Columns(tuple(text), tuple(labels), separator)
    except (LookupError, TypeError, ParameterError):
        pass
    raise ModelFileError("the header's 'table' must name columns of texts and labels")


def _count(header: Mapping[str, Any], name: str, most: int, default: int | None = None) -> int:
    value = header.get(name, default)
    if type(value) is not int or not 0 <= value <= most:
        raise ModelFileError(f"the header's {name!r} must be a count of at most {most}")
    return value


def _json_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Keep parameters that JSON can represent; the engine's state covers trees and generators."""
    plain: dict[str, Any] = {}
    for name, given in parameters.items():
        if name in _OF_THE_MACHINE:
            continue
        value = given.item() if isinstance(given, np.generic) else given
        is_plain = value is None or isinstance(value, (bool, int, float, str))
        plain[name] = value if is_plain else None
    return plain
