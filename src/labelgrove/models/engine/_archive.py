"""Models as (header, arrays), for the model file and for pickling: docs/format.md."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from labelgrove._errors import ModelFileError
from labelgrove._features import FeatureNames
from labelgrove._labels import LabelRegistry
from labelgrove.models.engine._compaction_report import CompactionReport
from labelgrove.models.engine._learned import KINDS, Learned
from labelgrove.models.engine._tuned import thresholds_from_state, thresholds_state
from labelgrove.persistence import read_model, write_model

if TYPE_CHECKING:
    from labelgrove.models._base import LabelClassifier

_FEATURE_PREFIX = "feature."


def model_state(
    model: LabelClassifier, *, for_prediction: bool
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Everything that makes the model what it is, as a JSON header and named arrays."""
    learned = model._require_learned()
    for_prediction = for_prediction or not learned.engine.can_learn
    header = {
        "algorithm": model.algorithm,
        "parameters": _json_parameters(model.get_params(deep=False)),
        "engine": learned.options.to_dict(),
        "for_prediction": for_prediction,
        "targets": learned.kind,
        "columns": learned.n_columns,
        "features": learned.n_features,
        "named_features": learned.features is not None,
        "front_end": getattr(model, "front_end_", None),
    }
    if learned.compaction is not None:
        header["compact"] = learned.compaction.to_dict()
    about, thresholds = thresholds_state(learned, for_prediction=for_prediction)
    if about is not None:
        header["thresholds"] = about
    arrays = dict(learned.engine.save(for_prediction)) | thresholds
    arrays |= learned.labels.to_arrays()
    arrays["label.count"] = learned.counts[: len(learned.labels)]
    if learned.features is not None:
        names = LabelRegistry()
        names.ids_of(learned.features.names(), add=True)
        arrays |= {_FEATURE_PREFIX + name: array for name, array in names.to_arrays().items()}
    return header, arrays


def learned_from_state(
    estimator: type[LabelClassifier],
    header: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
) -> Learned:
    """What :func:`model_state` described.

    Raises
    ------
    ModelFileError
        If anything does not hold that must; the message says what.
    """
    try:
        return _learned(estimator, header, arrays)
    except (LookupError, TypeError, ArithmeticError) as error:
        raise ModelFileError(f"the model is damaged: {error!r}") from error
    except ValueError as error:
        raise ModelFileError(f"the model is damaged: {error}") from error


def _learned(
    estimator: type[LabelClassifier],
    header: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
) -> Learned:
    labels = LabelRegistry.from_arrays(arrays)
    counts = np.array(arrays["label.count"])
    counters = np.array(arrays["counters"])
    if counts.dtype != np.int64 or counts.shape != (len(labels),) or counts.min(initial=0) < 0:
        raise ModelFileError("array 'label.count' must hold one count for every label")
    if counters.dtype != np.uint64 or counters.ndim != 1 or len(counters) < 2:
        raise ModelFileError("array 'counters' must hold counts, of labels and examples first")
    if int(counters[0]) > len(labels):
        raise ModelFileError("array 'counters': there are more labels than names")
    if counts.max(initial=0) > int(counters[1]):
        raise ModelFileError(
            "array 'label.count': a label was seen in more examples than there were"
        )
    options = estimator._options.from_dict(header["engine"])
    for_prediction = header["for_prediction"] is True
    compaction = header.get("compact")
    engine = estimator._engine if compaction is None else estimator._compact_engine
    if engine is None or (compaction is not None and not for_prediction):
        raise ModelFileError("a compact model of this kind is unknown, or could not learn on")
    learned = Learned(
        engine=engine.load(options.to_dict(), dict(arrays), for_prediction),
        options=options,
        labels=labels,
        features=_feature_names(arrays) if header["named_features"] else None,
        kind=header["targets"],
        n_columns=_natural(header, "columns"),
        n_features=_natural(header, "features"),
        counts=counts,
        compaction=None if compaction is None else CompactionReport.from_dict(compaction),
        tuned=thresholds_from_state(header.get("thresholds"), arrays, len(labels)),
    )
    _check_labels(learned)
    return learned


def _check_labels(learned: Learned) -> None:
    labels = learned.labels
    if learned.kind not in KINDS:
        raise ModelFileError(f"unknown kind of targets {learned.kind!r}")
    known, active = learned.engine.labels().astype(np.int64), np.flatnonzero(labels.active)
    expected = active
    if learned.kind == "indicator":
        # Columns are labels before they are learnt.
        expected = np.intersect1d(known, active)
        names = labels.names
        outside = len(names) > 0 and (
            names.dtype != np.int64
            or not 0 <= int(names.min()) <= int(names.max()) < learned.n_columns
        )
        if outside:
            raise ModelFileError("a label of the indicator lies outside its columns")
    if not np.array_equal(known, expected):
        raise ModelFileError("the labels that were learnt and their names do not match")


def _feature_names(arrays: Mapping[str, npt.NDArray[Any]]) -> FeatureNames:
    stored = {
        name.removeprefix(_FEATURE_PREFIX): array
        for name, array in arrays.items()
        if name.startswith(_FEATURE_PREFIX)
    }
    return FeatureNames(LabelRegistry.from_arrays(stored).names.tolist())


def save_model(model: LabelClassifier, path: str | PathLike[str], *, for_prediction: bool) -> None:
    """Write the model file."""
    write_model(path, *model_state(model, for_prediction=for_prediction))


def load(path: str | PathLike[str]) -> Any:
    """Read a model that an estimator's ``save`` has written.

    The weights of a model saved for prediction stay where they are, in the mapped file: they are
    not copied, and processes that load the same file share them.

    Parameters
    ----------
    path : path

    Returns
    -------
    estimator
        Of the class that was saved. It predicts, and unless it was saved for prediction learns
        on, exactly as the saved one.

    Raises
    ------
    ModelFileError
        If the file is no model, is damaged, or is of an unknown version. Nothing in a file can
        run code.
    OSError
        If the file cannot be read.
    """
    from labelgrove.models import ESTIMATORS

    stored = read_model(path)
    algorithm = stored.header.get("algorithm")
    estimator = next((known for known in ESTIMATORS if known.algorithm == algorithm), None)
    if estimator is None:
        raise ModelFileError(f"{path}: unknown algorithm {algorithm!r}")
    model = estimator()
    with stored.checking():
        model._learned = _learned(estimator, stored.header, stored.arrays)
        model.set_params(**_known_parameters(model, stored.header))
        model.front_end_ = _front_end(stored.header)
    return model


def _known_parameters(model: LabelClassifier, header: Mapping[str, Any]) -> dict[str, Any]:
    parameters = header.get("parameters")
    # A file may be older than a parameter, which then has its default.
    if not isinstance(parameters, dict) or not set(parameters) <= set(model.get_params(deep=False)):
        raise ModelFileError("the header's parameters are not those of the estimator")
    return _json_parameters(parameters)


def _front_end(header: Mapping[str, Any]) -> dict[str, Any] | None:
    front_end = header.get("front_end")
    if front_end is not None and not isinstance(front_end, dict):
        raise ModelFileError("the header's front_end must be an object or null")
    return front_end


def _natural(header: Mapping[str, Any], name: str) -> int:
    value = header[name]
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise ModelFileError(f"the header's {name!r} must be a count")
    return value


def _json_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters that JSON can hold; the tree and a generator live on in the engine's state."""
    plain: dict[str, Any] = {}
    for name, given in parameters.items():
        value = given.item() if isinstance(given, np.generic) else given
        is_plain = value is None or isinstance(value, (bool, int, float, str))
        plain[name] = value if is_plain else None
    return plain
