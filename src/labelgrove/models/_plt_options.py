"""Parameters of online and batch label trees: domains, presets, and the core's options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from labelgrove import _core
from labelgrove._errors import DataError, ParameterError, brief
from labelgrove._labels import LabelRegistry
from labelgrove._parameters import byte_count, choice, flag, integer, number_from, real
from labelgrove.metrics import inverse_propensity
from labelgrove.metrics._propensity import FEWEST_EXAMPLES
from labelgrove.models.engine._records import Options, given, seed, word, word_for, words_of
from labelgrove.tuning._second_stage import SecondStage

LEARNERS = words_of(_core.LearnerKind)
del LEARNERS["nag"]  # LdSM's alone
POLICIES = words_of(_core.Policy)

# Values that the core can multiply in 32-bit floats without underflow or overflow.
FLOATS = (1e-30, 1e30)
LARGEST_STEP = 1e6

PRESETS: dict[str, dict[str, Any]] = {
    # Jasinska-Kobus et al. (2021), section 5, to the letter.
    "paper": {
        "learner": "adagrad",
        "arity": 2,
        "max_leaves": 100,
        "replay": 0,
        "replay_memory": 0,
        "ofo_every": 1,
    },
    # What measured best: docs/decisions/arow.md.
    "default": {
        "learner": "arow",
        "arity": 64,
        "max_leaves": None,  # LEAVES, and FIRST_LEAVES of the first node
        "replay": "auto",
        "replay_memory": 10_000,
        "ofo_every": 4,
    },
}


def with_preset(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters, with the preset's values in place of None.

    If only one of ``arity`` and ``max_leaves`` is given, the other is adjusted to it.
    """
    p = {**PRESETS[choice("preset", parameters["preset"], PRESETS)]}
    arity, max_leaves = parameters["arity"], parameters["max_leaves"]
    if arity is None and max_leaves is not None:
        p["arity"] = min(p["arity"], integer("max_leaves", max_leaves, 2))
    elif arity is not None and p["max_leaves"] is not None:
        p["max_leaves"] = max(p["max_leaves"], integer("arity", arity, 2))
    explicit = {name: value for name, value in parameters.items() if value is not None}
    return {**parameters, **p, **explicit}


LEAST_BUDGET = 100_000
"""The smallest ``max_bytes``."""


# replay="auto": number of replays in mixed streams, and the maximum when labels come in blocks.
CALM, MOST = 2, 12

# Defaults of max_leaves: for the first node if examples have many features, and for all other
# nodes (docs/decisions/tree-shape.md).
FIRST_LEAVES, LEAVES = 256, 64


def _odds(classes: int, of_many: float) -> float:
    """Return `Options.odds` for this number of classes; it approaches ``of_many`` as they multiply.

    Each of two classes is as probable as the other is not: their odds count the same evidence
    twice, so the power is 1/2.
    """
    return round(4 * (of_many - (2 * of_many - 1) / max(classes, 2))) / 4


@dataclass(frozen=True, kw_only=True)
class BudgetedOptions(Options):
    """Options of an online engine, whose memory ``max_bytes`` limits."""

    max_bytes: int = 0  # limit of the engine; 0 for none
    sums_bytes: int = 0  # limit of the sums of a second stage that re-ranks; 0 for none

    @classmethod
    def _with(cls, parameters: Mapping[str, Any], **others: Any) -> Self:
        most = sums = 0
        if parameters["max_bytes"] is not None:
            most = byte_count("max_bytes", parameters["max_bytes"], LEAST_BUDGET)
            stage = SecondStage.of(parameters.get("second_stage"))
            sums = 0 if stage is None or stage.tail is None else most * 3 // 16
        return super()._with(parameters, max_bytes=most - sums, sums_bytes=sums, **others)

    @classmethod
    def _parameters_of(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        most, sums = saved["max_bytes"], saved["sums_bytes"]
        budget = {"max_bytes": most + sums or None, "second_stage": "head" if sums else None}
        return {**super()._parameters_of(saved), **budget}


@dataclass(frozen=True, kw_only=True)
class EngineOptions(BudgetedOptions):
    """Options of the core, with presets resolved and values checked."""

    learner: int = word("learner", LEARNERS)
    rate: float = given("learning_rate", real, FLOATS[0], LARGEST_STEP)
    epsilon: float = given("epsilon", real, *FLOATS)
    l2: float = given("l2", real, 0.0, LARGEST_STEP)
    r: float = given("r", real, *FLOATS)
    policy: int = word("policy", POLICIES)
    alpha: float = given("alpha", real, 0.0, 1.0)
    arity: int = given("arity", integer, 2)
    max_leaves: int
    replay: int
    replay_memory: int = given("replay_memory", integer, 0)
    normalize: bool = given("normalize", flag)
    seed: int = seed()
    first_leaves: int = 0  # 0: the first node has no limit of its own
    replay_most: int = 0  # 0: the number of replays is fixed
    ofo_a: float = 0.0  # both 0 if no thresholds are tuned
    ofo_b: float = 0.0
    ofo_every: int = 1  # OFO predicts one example in this many; 1 if no thresholds are tuned
    n_trees: int = given("n_trees", integer, 1, 1000, default=1)

    def odds(self, classes: int, /) -> float:
        """As `Options.odds`: the probabilities of unlikely labels are too high with AROW's link."""
        return _odds(classes, 1.5 if self.learner == LEARNERS["arow"] else 1.0)

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Self:
        p = with_preset(parameters)
        arity = integer("arity", p["arity"], 2)
        if p["max_leaves"] is None:
            p = {"first_leaves": FIRST_LEAVES, **p, "max_leaves": max(LEAVES, arity)}
        if p["learning_rate"] is None:
            p["learning_rate"] = 1.0
        b = real("ofo_b", p["ofo_b"], 1e-9, 1e9)
        a = real("ofo_a", p["ofo_a"], 0.0, b)
        every = integer("ofo_every", p["ofo_every"], 1, 1000)
        tunes = p["thresholds"] is not None
        if tunes and not (isinstance(p["thresholds"], str) and p["thresholds"] == "ofo"):
            raise ParameterError(f"thresholds={brief(p['thresholds'])}: expected None or 'ofo'")
        adapts = isinstance(p["replay"], str)
        if adapts and p["replay"] != "auto":
            raise ParameterError(
                f"replay={p['replay']!r}: expected a whole number from 0 to 1000, or 'auto'"
            )
        return cls._with(
            {**p, "second_stage": resolved_stage(p)},
            max_leaves=integer("max_leaves", p["max_leaves"], arity),
            first_leaves=integer("first_leaves", p.get("first_leaves", 0), 0),
            replay=CALM if adapts else integer("replay", p["replay"], 0, 1000),
            replay_most=MOST if adapts else 0,
            ofo_a=a if tunes else 0.0,
            ofo_b=b if tunes else 0.0,
            ofo_every=every if tunes else 1,
        )

    @classmethod
    def _parameters_of(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        return {
            **saved,
            **super()._parameters_of(saved),
            "preset": "default",
            "replay": "auto" if saved["replay_most"] else saved["replay"],
            "thresholds": "ofo" if saved["ofo_b"] else None,
            "ofo_b": saved["ofo_b"] or 1.0,
        }


def with_rate(parameters: Mapping[str, Any], rates: Mapping[str, float]) -> dict[str, Any]:
    """Return the parameters, with the learner's default as ``learning_rate`` in place of None."""
    default = rates[choice("learner", parameters["learner"], rates)]
    rate = parameters["learning_rate"]
    return {**parameters, "learning_rate": default if rate is None else rate}


def resolved_stage(parameters: Mapping[str, Any]) -> Any:
    """Return the second stage that ``second_stage`` asks for; "auto" is "calibrate" or None."""
    stage = parameters.get("second_stage")
    if not isinstance(stage, str) or stage != "auto":
        return stage
    keeps = parameters["preset"] == "paper" or parameters["thresholds"] is not None
    return None if keeps else "calibrate"


SOLVERS = {"dual": 0, "adagrad": 1}
LOSSES = {loss.name: loss.value for loss in (_core.BatchLoss.squared_hinge, _core.BatchLoss.log)}
LINKS = {link.name: link.value for link in _core.Link}
HINGES = (LINKS["squared_hinge"], LINKS["cubic_hinge"], LINKS["calibrated"])
_SOFTMAX_LOSS = _core.BatchLoss.softmax.value

# What measured best: docs/decisions/batch-solver.md.
_COSTS = {"squared_hinge": 1.0, "log": 10.0, "softmax": 10.0}
_PLENTY = 400.0  # for the squared hinge only
_TOLERANCES = {"squared_hinge": 0.3, "log": 0.05, "softmax": 0.05}
_PASSES = {"squared_hinge": 20, "log": 20, "softmax": 100}
_PASSES_OF_ADAGRAD = 3
_LARGEST = 1e6

# Of the examples that calibrate the link: docs/decisions/calibration.md.
_HELD_OUT, _LARGEST_HELD_OUT = 0.1, 0.3
_FEWEST_HELD_OUT, _MOST_HELD_OUT = 100, 4096
_FEWEST_TO_HOLD_OUT, _FEWEST_PASSES = 100, 8

_CLASS_WEIGHTS = ("balanced", "propensity")


@dataclass(frozen=True, kw_only=True)
class BatchOptions(Options):
    """Options of the core, with defaults resolved and values checked."""

    solver: int = word("solver", SOLVERS)
    loss: int
    link: int
    cost: float = given("C", real, 1e-6, _LARGEST)
    bias: float = given("bias", real, 0.0, 1e3)
    tolerance: float = given("tol", real, 1e-6, 1.0)
    max_passes: int = given("max_iter", integer, 1, 10**6)
    weight_threshold: float = given("weight_threshold", real, 0.0, _LARGEST)
    normalize: bool = given("normalize", flag)
    seed: int = seed()
    online: EngineOptions | None = None
    plenty: float = 0.0  # C falls for children with more examples; 0: the same C for all

    def odds(self, classes: int, /) -> float:
        """As `Options.odds`."""
        return 0.0 if self.link == LINKS["softmax"] else _odds(classes, 1.0)

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Self:
        solver = choice("solver", parameters["solver"], SOLVERS)
        link = parameters["link"]
        if link is not None:
            choice("link", link, ["calibrated", "squared_hinge", "cubic_hinge", "softmax"])
        competing = link == "softmax"
        hinge = link is not None and not competing
        p = dict(parameters)
        if p["loss"] is None:
            logistic = competing or (solver == "adagrad" and not hinge)
            p["loss"] = "log" if logistic else "squared_hinge"
        loss = choice("loss", p["loss"], LOSSES)
        if competing and loss != "log":
            raise ParameterError(f"loss={brief(loss)}: with link='softmax' expected 'log' or None")
        if hinge and loss != "squared_hinge":
            raise ParameterError(
                f"loss={brief(loss)}: with link={brief(link)} expected 'squared_hinge' or None"
            )
        if solver == "adagrad" and (competing or loss != "log"):
            raise ParameterError(
                f"solver='adagrad': expected loss='log' and no link; found loss={brief(loss)}, "
                f"link={brief(link)}"
            )
        problem = "softmax" if competing else loss
        falls = p["C"] is None and problem == "squared_hinge" and solver == "dual"
        if p["C"] is None:
            p["C"] = _COSTS[problem]
        if p["tol"] is None:
            p["tol"] = _TOLERANCES[problem]
        if p["max_iter"] is None:
            p["max_iter"] = _PASSES[problem] if solver == "dual" else _PASSES_OF_ADAGRAD
        return cls._with(
            p,
            loss=_SOFTMAX_LOSS if competing else LOSSES[loss],
            link=LINKS[link or ("logistic" if loss == "log" else "calibrated")],
            online=p.get("online"),
            plenty=real("plenty", p.get("plenty", _PLENTY if falls else 0.0), 0.0, _LARGEST),
        )

    def for_training(
        self, n_rows: int, *, row_scale: float = 1.0, measure: bool = True
    ) -> dict[str, Any]:
        """Return the options as the core's trainer takes them, for this number of examples.

        Examples that are not scaled to unit length have the factor `row_scale`. Unless ``measure``,
        the calibrated link is not measured, whatever their number.
        """
        link, held_out = self.link, 0.0
        if link == LINKS["calibrated"]:
            few = n_rows < _FEWEST_TO_HOLD_OUT or self.max_passes < _FEWEST_PASSES
            if few or not measure:
                link = LINKS["squared_hinge"]
            else:
                share = max(_HELD_OUT, _FEWEST_HELD_OUT / n_rows)
                held_out = min(share, _LARGEST_HELD_OUT, _MOST_HELD_OUT / n_rows)
        return {**self.to_dict(), "link": link, "held_out": held_out, "row_scale": row_scale}

    @classmethod
    def _parameters_of(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        competing = saved["loss"] == _SOFTMAX_LOSS
        online, link = saved["online"], word_for(saved["link"], LINKS)
        return {
            **super()._parameters_of(saved),
            "loss": "log" if competing else word_for(saved["loss"], LOSSES),
            "link": None if link == "logistic" else link,
            "plenty": saved["plenty"],
            "online": None if online is None else EngineOptions.from_dict(online),
        }

    @classmethod
    def completed(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        full = super().completed(saved)
        if isinstance(full["online"], Mapping):
            full["online"] = EngineOptions.completed(full["online"])
        return full


def check_class_weight(class_weight: Any) -> None:
    """Refuse a ``class_weight`` that `class_weights` cannot use."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight in _CLASS_WEIGHTS):
        return
    if not isinstance(class_weight, Mapping):
        raise ParameterError(
            f"class_weight={brief(class_weight)}: expected 'balanced', 'propensity', a mapping "
            "from labels to numbers, or None"
        )
    for label, weight in class_weight.items():
        if not 0 < number_from(weight) < 1e6:
            raise ParameterError(
                f"class_weight[{label!r}]={brief(weight)}: expected a number above 0 and below 1e6"
            )


def class_weights(
    class_weight: Any, labels: LabelRegistry, ids: npt.NDArray[np.uint32], n_rows: int
) -> npt.NDArray[np.float32] | None:
    """Return the weight of every label id, or None if all are 1; `ids` are the labels of all rows.

    "balanced" is as in scikit-learn, n / (number of labels × examples of the label); "propensity"
    is the inverse propensity of Jain et al. (2016); a mapping gives weights by label name. As in
    scikit-learn, one that names every label of y may name others too, since a fold of a
    cross-validation may lack a rare class. In any other mapping, a name that is not a label of y
    raises a DataError.
    """
    if class_weight is None:
        return None
    counts = np.bincount(ids, minlength=len(labels))
    if class_weight == "balanced":
        shares = max(np.count_nonzero(counts), 1) * np.maximum(counts, 1)
        return np.asarray(n_rows / shares, np.float32)
    if class_weight == "propensity":
        q = inverse_propensity(counts, n_examples=max(n_rows, FEWEST_EXAMPLES))
        return np.asarray(q, np.float32)
    weights = np.ones(len(labels), np.float32)
    names, costs = list(class_weight), np.fromiter(class_weight.values(), np.float32)
    try:
        found = labels.ids_of(names)
    except DataError as error:
        raise DataError(f"class_weight: {error}") from error
    known = found >= 0
    if not known.all() and np.count_nonzero(known) < len(labels):
        raise DataError(f"class_weight: {names[int(np.argmin(known))]!r} is not a label of y")
    weights[found[known]] = costs[known]
    return weights
