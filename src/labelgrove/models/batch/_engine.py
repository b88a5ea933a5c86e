"""The batch engine, with an online one beside it where a model is to learn on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from labelgrove import _core
from labelgrove.models.engine._learned import Arrays

_PREFIX = "online."


class BatchEngine:
    """A batch engine for prediction, with an online engine beside it that can go on learning.

    Parameters
    ----------
    batch : the compiled batch model
    online : the compiled online model, or None
        In the batch model's place as soon as somebody learns on.
    """

    def __init__(self, batch: Any, online: Any = None) -> None:
        self.batch = batch
        self.online = online

    def __getattr__(self, name: str) -> Any:
        return getattr(self.batch, name)

    @property
    def can_learn(self) -> bool:
        """Whether an online model is there to go on with."""
        return self.online is not None

    def remove_labels(self, labels: npt.NDArray[np.uint32]) -> None:
        """Never predict these again."""
        self.batch.remove_labels(labels)
        if self.online is not None:
            self.online.remove_labels(labels)

    def size(self) -> dict[str, int]:
        """Weights held, and bytes, those of the online model included."""
        size: dict[str, int] = self.batch.size()
        held = {"model_bytes": 0, "memory_bytes": 0} if self.online is None else self.online.size()
        size["model_bytes"] += held["model_bytes"]
        return {**size, "memory_bytes": held["memory_bytes"]}

    def save(self, for_prediction: bool) -> Arrays:
        """Everything learnt."""
        arrays: Arrays = self.batch.save(for_prediction)
        if self.online is not None and not for_prediction:
            arrays |= {_PREFIX + name: array for name, array in self.online.save(False).items()}
        return arrays

    @classmethod
    def load(cls, options: Mapping[str, Any], arrays: Arrays, for_prediction: bool) -> Self:
        """What :meth:`save` gave.

        Raises
        ------
        ValueError
            If anything does not hold that must.
        """
        batch = _core.CompactPlt.load(dict(options), arrays, True)
        if options["online"] is None or for_prediction:
            return cls(batch)
        stored = {
            name.removeprefix(_PREFIX): array
            for name, array in arrays.items()
            if name.startswith(_PREFIX)
        }
        online = _core.OnlinePlt.load(options["online"], stored, False)
        if not np.array_equal(online.labels(), batch.labels()):
            raise ValueError("the labels of the online and the batch model do not match")
        return cls(batch, online)
