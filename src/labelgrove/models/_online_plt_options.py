"""Parameters of the online label tree: presets, domains, and what the core is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from labelgrove import _core
from labelgrove._parameters import choice, flag, integer, real, seed_from
from labelgrove.models.engine._options import SavedOptions, word_for, words_of

LEARNERS = words_of(_core.LearnerKind)
del LEARNERS["nag"]  # LdSM's alone
POLICIES = words_of(_core.Policy)

# What the core's 32-bit floats can multiply without becoming 0 or infinite.
FLOATS = (1e-30, 1e30)
LARGEST_STEP = 1e6

PRESETS: dict[str, dict[str, Any]] = {
    # Jasinska-Kobus et al. (2021), section 5, to the letter.
    "paper": {"learner": "adagrad", "arity": 2, "max_leaves": 100, "replay": 0, "replay_memory": 0},
    # What measured best: docs/decisions/arow.md.
    "default": {
        "learner": "arow",
        "arity": 64,
        "max_leaves": 64,
        "replay": 2,
        "replay_memory": 10_000,
    },
}


@dataclass(frozen=True)
class EngineOptions(SavedOptions):
    """All that the core must know, every preset resolved and every value checked."""

    learner: int
    rate: float
    epsilon: float
    l2: float
    r: float
    policy: int
    alpha: float
    arity: int
    max_leaves: int
    replay: int
    replay_memory: int
    normalize: bool
    seed: int
    ofo_a: float = 0.0  # both 0 where no thresholds are tuned
    ofo_b: float = 0.0

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Self:
        preset = choice(parameters, "preset", PRESETS)
        given = {name: value for name, value in parameters.items() if value is not None}
        p = {**parameters, **PRESETS[preset], **given}
        learner = choice(p, "learner", LEARNERS)
        # Either of the two may be given alone: the other one follows where it would be in the way.
        if parameters["arity"] is None and parameters["max_leaves"] is not None:
            p["arity"] = min(p["arity"], integer("max_leaves", p["max_leaves"], 2))
        arity = integer("arity", p["arity"], 2)
        if parameters["max_leaves"] is None:
            p["max_leaves"] = max(p["max_leaves"], arity)
        rate = p["learning_rate"]
        b = real(p, "ofo_b", 1e-9, 1e9)
        a = real(p, "ofo_a", 0.0, b)
        tunes = p["thresholds"] is not None and choice(p, "thresholds", ["ofo"]) == "ofo"
        return cls(
            learner=LEARNERS[learner],
            rate=1.0 if rate is None else real(p, "learning_rate", FLOATS[0], LARGEST_STEP),
            epsilon=real(p, "epsilon", *FLOATS),
            l2=real(p, "l2", 0.0, LARGEST_STEP),
            r=real(p, "r", *FLOATS),
            policy=POLICIES[choice(p, "policy", POLICIES)],
            alpha=real(p, "alpha", 0.0, 1.0),
            arity=arity,
            max_leaves=integer("max_leaves", p["max_leaves"], arity),
            replay=integer("replay", p["replay"], 0, 1000),
            replay_memory=integer("replay_memory", p["replay_memory"], 0),
            normalize=flag("normalize", p["normalize"]),
            seed=seed_from(p["random_state"]),
            ofo_a=a if tunes else 0.0,
            ofo_b=b if tunes else 0.0,
        )

    @classmethod
    def _parameters_of(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        return {
            **saved,
            "preset": "default",
            "learner": word_for(saved["learner"], LEARNERS),
            "policy": word_for(saved["policy"], POLICIES),
            "learning_rate": saved["rate"],
            "thresholds": "ofo" if saved["ofo_b"] else None,
            "ofo_b": saved["ofo_b"] or 1.0,
            "random_state": saved["seed"],
        }
