"""The online models that are measured, and how they learn."""

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
"""LabelGrove's default."""


def learn(chunks: list[Chunk], options: dict[str, Any]) -> tuple[OnlinePLTClassifier, Clock]:
    """Learn a stream in one pass with a new model, and time it."""
    model = OnlinePLTClassifier(**options)
    with Clock() as clock:
        for X, labels in chunks:
            model.partial_fit(X, labels)
    return model, clock
