"""The models that are measured, and how they are taught."""

from __future__ import annotations

from typing import Any

from benchmarks._data import Chunk
from benchmarks._measure import Clock
from labelgrove import OnlinePLTClassifier

PAPER: dict[str, Any] = {
    "preset": "paper",
    "policy": "best-greedy",
    "alpha": 0.75,
    "arity": 2,
    "max_leaves": 100,
}
"""OPLT as published: AdaGrad, no replay, b = 2, b_max = 100."""

DEFAULT: dict[str, Any] = {"preset": "default"}
"""What a user gets who says nothing."""


def learn(chunks: list[Chunk], options: dict[str, Any]) -> tuple[OnlinePLTClassifier, Clock]:
    """Let a new model learn a stream in one pass, and see how long it takes."""
    model = OnlinePLTClassifier(**options)
    with Clock() as clock:
        for X, labels in chunks:
            model.partial_fit(X, labels)
    return model, clock
