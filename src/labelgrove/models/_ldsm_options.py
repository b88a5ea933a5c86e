"""Parameters of LdSM: domains, and what the core is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from labelgrove import _core
from labelgrove._parameters import choice, flag, integer, real, seed_from
from labelgrove.models.engine._options import SavedOptions, word_for, words_of

LEARNERS = words_of(_core.LearnerKind)
del LEARNERS["arow"]  # which has no squared loss
SHARES = words_of(_core.LeafShare)


@dataclass(frozen=True)
class LdsmOptions(SavedOptions):
    """All that the core must know, every value checked."""

    trees: int
    arity: int
    max_nodes: int
    epochs: int
    min_examples: int
    min_count: int
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

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Self:
        p = parameters
        return cls(
            trees=integer("n_estimators", p["n_estimators"], 1, 10_000),
            arity=integer("arity", p["arity"], 2, 8),
            max_nodes=integer("max_nodes", p["max_nodes"], 1),
            epochs=integer("epochs_per_node", p["epochs_per_node"], 1, 10_000),
            min_examples=integer("min_samples_split", p["min_samples_split"], 2),
            min_count=integer("min_feature_count", p["min_feature_count"], 1),
            lambda1=real(p, "lambda1", 0.0, 1e6),
            lambda2=real(p, "lambda2", 0.0, 1e6),
            learner=LEARNERS[choice(p, "learner", LEARNERS)],
            rate=real(p, "learning_rate", 1e-30, 1e6),
            spread=real(p, "initial_spread", 0.0, 1e6),
            share=SHARES[choice(p, "leaf_share", SHARES)],
            tail_weight=real(p, "tail_weight", 0.0, 1.0),
            tail_gamma=real(p, "tail_gamma", 0.0, 1e6),
            shuffle=flag("shuffle", p["shuffle"]),
            normalize=flag("normalize", p["normalize"]),
            seed=seed_from(p["random_state"]),
        )

    @classmethod
    def _parameters_of(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        return {
            **saved,
            "n_estimators": saved["trees"],
            "epochs_per_node": saved["epochs"],
            "min_samples_split": saved["min_examples"],
            "min_feature_count": saved["min_count"],
            "learner": word_for(saved["learner"], LEARNERS),
            "learning_rate": saved["rate"],
            "initial_spread": saved["spread"],
            "leaf_share": word_for(saved["share"], SHARES),
            "random_state": saved["seed"],
        }
