"""Models as (header, arrays), for the model file and for pickling: docs/format.md."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from labelgrove import _core
from labelgrove._errors import ModelFileError
from labelgrove._features import FeatureNames
from labelgrove._labels import LabelRegistry
from labelgrove.models._options import EngineOptions
from labelgrove.persistence import StoredModel, read_model, write_model

if TYPE_CHECKING:
    from labelgrove.models._online_plt import OnlinePLTClassifier

ALGORITHM = "online-plt"
_FEATURE_PREFIX = "feature."
_KINDS = ("multiclass", "multilabel", "indicator")


def model_state(
    model: OnlinePLTClassifier, for_prediction: bool
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Everything that makes the model what it is, as a JSON header and named arrays."""
    header = {
        "algorithm": ALGORITHM,
        "parameters": _json_parameters(model.get_params(deep=False)),
        "engine": model._options.to_dict(),
        "for_prediction": for_prediction,
        "targets": model._kind,
        "columns": model._n_columns,
        "features": model.n_features_in_,
        "named_features": model._features is not None,
        "front_end": model.front_end_,
    }
    arrays = dict(model._engine.save(for_prediction))
    arrays |= model._labels.to_arrays()
    arrays["label.count"] = model._counts
    if model._features is not None:
        names = LabelRegistry()
        names.ids_of(model._features.names(), add=True)
        arrays |= {_FEATURE_PREFIX + name: array for name, array in names.to_arrays().items()}
    return header, arrays


def model_from_state(
    model: OnlinePLTClassifier, header: dict[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Bring a new estimator into a saved state.

    Raises
    ------
    ModelFileError
        If anything does not hold that must; the message says what.
    """
    try:
        _restore(model, header, arrays)
    except ModelFileError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError, RuntimeError) as error:
        raise ModelFileError(f"the model is damaged: {error}") from error


def _restore(
    model: OnlinePLTClassifier, header: dict[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> None:
    parameters = dict(header["parameters"])
    type(model).__init__(model)
    model.set_params(**parameters)
    # What the engine was told must be what the parameters say; the seed alone may have been drawn.
    resolved = EngineOptions.from_parameters(
        {**parameters, "random_state": header["engine"]["seed"]}
    )
    if resolved.to_dict() != header["engine"]:
        raise ModelFileError("the header's engine options do not follow from its parameters")
    labels = LabelRegistry.from_arrays(arrays)
    counts = np.array(arrays["label.count"])
    counters = np.array(arrays["counters"])
    if counts.dtype != np.int64 or counts.shape != (len(labels),) or counts.min(initial=0) < 0:
        raise ModelFileError("array 'label.count' must hold one count for every label")
    if counters.dtype != np.uint64 or counters.shape != (3,) or int(counters[0]) > len(labels):
        raise ModelFileError("array 'counters' must hold 3 numbers, the first at most the labels'")
    for_prediction = header["for_prediction"] is True
    model._options = resolved
    model._engine = _core.OnlinePlt.load(resolved.to_dict(), dict(arrays), for_prediction)
    if header["targets"] not in _KINDS:
        raise ModelFileError(f"unknown kind of targets {header['targets']!r}")
    in_tree, active = _labels_in_tree(model._engine.tree()), np.flatnonzero(labels.active)
    # Columns of an indicator are labels before they are in the tree.
    expected = np.intersect1d(in_tree, active) if header["targets"] == "indicator" else active
    if not np.array_equal(in_tree, expected):
        raise ModelFileError("the tree's leaves and the labels do not match")
    model._labels = labels
    model._counts = counts
    model._kind = header["targets"]
    model._n_columns = _natural(header, "columns")
    if (
        model._kind == "indicator"
        and len(labels)
        and (
            labels.names.dtype != np.int64
            or not 0 <= int(labels.names.min()) <= int(labels.names.max()) < model._n_columns
        )
    ):
        raise ModelFileError("a label of the indicator lies outside its columns")
    model.n_features_in_ = _natural(header, "features")
    model._features = None
    if header["named_features"]:
        stored = {
            name.removeprefix(_FEATURE_PREFIX): array
            for name, array in arrays.items()
            if name.startswith(_FEATURE_PREFIX)
        }
        model._features = FeatureNames(LabelRegistry.from_arrays(stored).names.tolist())
    front_end = header["front_end"]
    if front_end is not None and not isinstance(front_end, dict):
        raise ModelFileError("the header's front_end must be an object or null")
    model.front_end_ = front_end


def save_model(model: OnlinePLTClassifier, path: str | PathLike[str], for_prediction: bool) -> None:
    """Write the model file."""
    for_prediction = for_prediction or not model._engine.can_learn
    write_model(path, *model_state(model, for_prediction))


def load(path: str | PathLike[str]) -> OnlinePLTClassifier:
    """Read a model that :meth:`OnlinePLTClassifier.save` has written.

    A model saved for prediction is not read but mapped: its weights come from the file when they
    are needed, and processes that map the same file share them.

    Parameters
    ----------
    path : path

    Returns
    -------
    OnlinePLTClassifier
        It predicts, and unless it was saved for prediction learns on, exactly as the saved one.

    Raises
    ------
    ModelFileError
        If the file is no model, is damaged, or is of an unknown version. Nothing in a file can
        run code.
    OSError
        If the file cannot be read.
    """
    from labelgrove.models._online_plt import OnlinePLTClassifier

    stored: StoredModel = read_model(path)
    if stored.header.get("algorithm") != ALGORITHM:
        raise ModelFileError(f"{path}: unknown algorithm {stored.header.get('algorithm')!r}")
    model = OnlinePLTClassifier()
    try:
        model_from_state(model, stored.header, stored.arrays)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error
    return model


def _natural(header: dict[str, Any], name: str) -> int:
    value = header[name]
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise ModelFileError(f"the header's {name!r} must be a count")
    return value


def _labels_in_tree(arrays: dict[str, Any]) -> npt.NDArray[np.int64]:
    labels = arrays["label"][(arrays["silent"] == 0) & (arrays["label"] != 0xFFFFFFFF)]
    return np.sort(labels.astype(np.int64))


def _json_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters that JSON can hold; the tree and a generator live on in the engine's state."""
    plain: dict[str, Any] = {}
    for name, value in parameters.items():
        if isinstance(value, np.generic):
            value = value.item()
        is_plain = value is None or isinstance(value, (bool, int, float, str))
        plain[name] = value if is_plain else None
    return plain
