"""Parameters of the batch label tree: domains, what is resolved, and what the core is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from labelgrove import _core
from labelgrove._errors import DataError, ParameterError
from labelgrove._labels import LabelRegistry
from labelgrove._parameters import choice, flag, integer, real, seed_from
from labelgrove.metrics import inverse_propensity
from labelgrove.models._online_plt_options import EngineOptions
from labelgrove.models.engine._options import SavedOptions, word_for

SOLVERS = ("dual", "adagrad")
LOSSES = {loss.name: loss.value for loss in (_core.BatchLoss.squared_hinge, _core.BatchLoss.log)}
LINKS = {link.name: link.value for link in _core.Link}
HINGES = (LINKS["squared_hinge"], LINKS["cubic_hinge"])
_SOFTMAX_LOSS = _core.BatchLoss.softmax.value

# What measured best: docs/decisions/batch-solver.md.
_COSTS = {"squared_hinge": 1.0, "log": 10.0, "softmax": 10.0}
_TOLERANCES = {"squared_hinge": 0.3, "log": 0.05, "softmax": 0.05}
_PASSES = {"dual": 20, "adagrad": 3}
_LARGEST = 1e6

_CLASS_WEIGHTS = ("balanced", "propensity")
_FEWEST_EXAMPLES = 3  # that the model of propensities knows


@dataclass(frozen=True)
class BatchOptions(SavedOptions):
    """All that the core must know, every default resolved and every value checked."""

    solver: int
    loss: int
    link: int
    cost: float
    bias: float
    tolerance: float
    max_passes: int
    weight_threshold: float
    normalize: bool
    seed: int
    online: EngineOptions | None = None

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Self:
        solver = choice(parameters, "solver", SOLVERS)
        if parameters["link"] is not None:
            choice(parameters, "link", ["softmax", "cubic_hinge"])
        competing = parameters["link"] == "softmax"
        cubic = parameters["link"] == "cubic_hinge"
        p = dict(parameters)
        if p["loss"] is None:
            p["loss"] = (
                "log" if competing or (solver == "adagrad" and not cubic) else "squared_hinge"
            )
        loss = choice(p, "loss", LOSSES)
        if competing and loss != "log":
            raise ParameterError(f"loss={loss!r}: with link='softmax' expected 'log' or None")
        if cubic and loss != "squared_hinge":
            raise ParameterError(
                f"loss={loss!r}: with link='cubic_hinge' expected 'squared_hinge' or None"
            )
        if solver == "adagrad" and (competing or loss != "log"):
            raise ParameterError(
                f"solver='adagrad': expected loss='log' and no link; found loss={loss!r}, "
                f"link={p['link']!r}"
            )
        problem = "softmax" if competing else loss
        if p["C"] is None:
            p["C"] = _COSTS[problem]
        if p["tol"] is None:
            p["tol"] = _TOLERANCES[problem]
        if p["max_iter"] is None:
            p["max_iter"] = _PASSES[solver]
        return cls(
            solver=SOLVERS.index(solver),
            loss=_SOFTMAX_LOSS if competing else LOSSES[loss],
            link=LINKS["cubic_hinge" if cubic else "logistic" if problem == "log" else problem],
            cost=real(p, "C", 1e-6, _LARGEST),
            bias=real(p, "bias", 0.0, 1e3),
            tolerance=real(p, "tol", 1e-6, 1.0),
            max_passes=integer("max_iter", p["max_iter"], 1, 10**6),
            weight_threshold=real(p, "weight_threshold", 0.0, _LARGEST),
            normalize=flag("normalize", p["normalize"]),
            seed=seed_from(p["random_state"]),
            online=p.get("online"),
        )

    @classmethod
    def _parameters_of(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        competing = saved["loss"] == _SOFTMAX_LOSS
        online, word = saved["online"], word_for(saved["link"], LINKS)
        return {
            "solver": dict(enumerate(SOLVERS)).get(saved["solver"]),
            "loss": "log" if competing else word_for(saved["loss"], LOSSES),
            "link": word if word in ("softmax", "cubic_hinge") else None,
            "C": saved["cost"],
            "bias": saved["bias"],
            "tol": saved["tolerance"],
            "max_iter": saved["max_passes"],
            "weight_threshold": saved["weight_threshold"],
            "normalize": saved["normalize"],
            "random_state": saved["seed"],
            "online": None if online is None else EngineOptions.from_dict(online),
        }


def check_class_weight(class_weight: Any) -> None:
    """Refuse what `class_weights` could not use.

    Raises
    ------
    ParameterError
    """
    if class_weight is None or (isinstance(class_weight, str) and class_weight in _CLASS_WEIGHTS):
        return
    if not isinstance(class_weight, Mapping):
        raise ParameterError(
            f"class_weight={class_weight!r}: expected 'balanced', 'propensity', a mapping from "
            "labels to numbers, or None"
        )
    for label, weight in class_weight.items():
        number = isinstance(weight, (int, float, np.number)) and not isinstance(weight, bool)
        if not number or not 0 < weight < 1e6:
            raise ParameterError(
                f"class_weight[{label!r}]={weight!r}: expected a number above 0 and below 1e6"
            )


def class_weights(
    class_weight: Any, labels: LabelRegistry, ids: npt.NDArray[np.uint32], n_rows: int
) -> npt.NDArray[np.float32] | None:
    """Give the weight of every label id; None where all are 1.

    Parameters
    ----------
    class_weight : {"balanced", "propensity"}, mapping or None
        Inversely to how often a label occurs, n / (labels that occur × its examples), as
        scikit-learn has it; the inverse propensity of Jain et al. (2016); or by name.
    labels : LabelRegistry
    ids : ndarray of uint32
        The labels of all rows.
    n_rows : int

    Raises
    ------
    DataError
        If a name in the mapping is no label.
    """
    if class_weight is None:
        return None
    counts = np.bincount(ids, minlength=len(labels))
    if class_weight == "balanced":
        shares = max(np.count_nonzero(counts), 1) * np.maximum(counts, 1)
        return np.asarray(n_rows / shares, np.float32)
    if class_weight == "propensity":
        q = inverse_propensity(counts, n_examples=max(n_rows, _FEWEST_EXAMPLES))
        return np.asarray(q, np.float32)
    weights = np.ones(len(labels), np.float32)
    names = list(class_weight)
    known = labels.ids_of(names)
    if (known < 0).any():
        raise DataError(f"class_weight: {names[int(np.argmin(known))]!r} is no label of y")
    weights[known] = list(class_weight.values())
    return weights
