"""The thresholds that a model keeps, for the commands that use or show them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from labelgrove._errors import ParameterError
from labelgrove.cli._models import Model

Cut = float | npt.NDArray[np.float64]
"""One threshold for all labels, or one for each, in the order of ``classes_``."""

_NAMES = ("least", "lower_quartile", "median", "upper_quartile", "greatest")


def chosen_cut(model: Model, threshold: float | None, thresholds: bool) -> Cut | None:
    """What ``--threshold`` and ``--thresholds`` say together.

    Parameters
    ----------
    model : Model
        Whose thresholds are meant.
    threshold : float or None
        One for all labels.
    thresholds : bool
        Whether to take those of the model.

    Returns
    -------
    float, ndarray of float64 of shape (n_classes,), or None
        None where nothing was said.

    Raises
    ------
    ParameterError
        When both are given, or the model has none.
    """
    if not thresholds:
        return threshold
    if threshold is not None:
        raise ParameterError("--threshold and --thresholds exclude each other")
    kept: npt.NDArray[np.float64] | None = getattr(model.classifier, "thresholds_", None)
    if kept is None:
        raise ParameterError(
            "--thresholds: this model has none; `labelgrove tune` gives them to it, and so does "
            "training with --set thresholds=ofo"
        )
    return kept


def distribution(thresholds: npt.NDArray[np.float64]) -> dict[str, float]:
    """Tell the least, the quartiles and the greatest threshold."""
    if not len(thresholds):
        return {}
    values = np.quantile(thresholds, (0.0, 0.25, 0.5, 0.75, 1.0))
    return dict(zip(_NAMES, values.tolist(), strict=True))


def in_words(found: Mapping[str, float]) -> str:
    """Write a distribution for people."""
    if not found:
        return "none"
    return f"{found['least']:.3g} to {found['greatest']:.3g}, the median {found['median']:.3g}"
