"""Parameters of LdSM: domains, and what the core is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from labelgrove._errors import ParameterError
from labelgrove._parameters import choice, integer, real, seed_from

LEARNERS = {"adagrad": 0, "sgd": 1, "nag": 3}
SHARES = {"examples": 0, "labels": 1}


@dataclass(frozen=True)
class LdsmOptions:
    """All that the core must know, every value checked."""

    trees: int
    arity: int
    max_nodes: int
    epochs: int
    min_examples: int
    lambda1: float
    lambda2: float
    learner: int
    rate: float
    spread: float
    share: int
    tail_weight: float
    tail_gamma: float
    shuffle: bool
    normalize: bool
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """As the core takes it, and as the model file keeps it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> LdsmOptions:
        """What :meth:`to_dict` gave, checked again.

        Raises
        ------
        ParameterError
        """
        names = [field.name for field in fields(cls)]
        if sorted(saved) != sorted(names):
            raise ParameterError(f"engine options: expected {', '.join(names)}")
        learners = {value: name for name, value in LEARNERS.items()}
        shares = {value: name for name, value in SHARES.items()}
        options = cls.from_parameters(
            {
                **saved,
                "n_estimators": saved["trees"],
                "epochs_per_node": saved["epochs"],
                "min_samples_split": saved["min_examples"],
                "learner": learners.get(saved["learner"]),
                "learning_rate": saved["rate"],
                "initial_spread": saved["spread"],
                "leaf_share": shares.get(saved["share"]),
                "random_state": saved["seed"],
            }
        )
        if options.to_dict() != dict(saved):
            raise ParameterError("engine options: found a value of the wrong type")
        return options

    @classmethod
    def from_parameters(cls, p: Mapping[str, Any]) -> LdsmOptions:
        """Check an estimator's parameters.

        Raises
        ------
        ParameterError
            Naming the parameter, its value and its domain.
        """
        return cls(
            trees=integer("n_estimators", p["n_estimators"], 1, 10_000),
            arity=integer("arity", p["arity"], 2, 8),
            max_nodes=integer("max_nodes", p["max_nodes"], 1),
            epochs=integer("epochs_per_node", p["epochs_per_node"], 1, 10_000),
            min_examples=integer("min_samples_split", p["min_samples_split"], 2),
            lambda1=real(p, "lambda1", 0.0, 1e6),
            lambda2=real(p, "lambda2", 0.0, 1e6),
            learner=LEARNERS[choice(p, "learner", LEARNERS)],
            rate=real(p, "learning_rate", 1e-30, 1e6),
            spread=real(p, "initial_spread", 0.0, 1e6),
            share=SHARES[choice(p, "leaf_share", SHARES)],
            tail_weight=real(p, "tail_weight", 0.0, 1.0),
            tail_gamma=real(p, "tail_gamma", 0.0, 1e6),
            shuffle=bool(p["shuffle"]),
            normalize=bool(p["normalize"]),
            seed=seed_from(p["random_state"]),
        )
