"""The course of a progressive validation: what is counted, and how it is told."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelgrove.evaluation._stream import Example
from labelgrove.evaluation._targets import MULTICLASS, Row
from labelgrove.metrics._inputs import IntArray
from labelgrove.metrics._multiclass import log2_ratio
from labelgrove.metrics._score import FloatArray


@dataclass(frozen=True)
class ProgressPoint:
    """How well a model has predicted the examples of a stream so far.

    Attributes
    ----------
    task : {"multilabel", "multiclass"}
    examples : int
        Examples predicted and learnt from.
    n_labels : int
        Distinct labels among them.
    precision : tuple of float
        P@1 to P@k over all examples so far; P@1 is the accuracy when each has one label.
    recent_precision : tuple of float
        The same over the latest examples, as many as the window holds.
    entropy_reduction : float
        log2(Acc) - log2(Acc_const) over all examples so far, minus infinity before the first
        right prediction; nan for multi-label streams.
    seconds : float
        Time spent in the model's methods.
    """

    task: str
    examples: int
    n_labels: int
    precision: tuple[float, ...]
    recent_precision: tuple[float, ...]
    entropy_reduction: float
    seconds: float

    @property
    def accuracy(self) -> float:
        """Share of examples whose first predicted label is right: P@1."""
        return self.precision[0]

    @property
    def recent_accuracy(self) -> float:
        """The same over the latest examples."""
        return self.recent_precision[0]


@dataclass(frozen=True, eq=False)
class ProgressiveResult:
    """The course of a progressive validation: one entry of each array a checkpoint.

    Attributes
    ----------
    task : {"multilabel", "multiclass"}
    examples, n_labels : int64 arrays (n_points,)
    precision, recent_precision : float64 arrays (n_points, k)
        Columns are P@1 to P@k.
    entropy_reduction, seconds : float64 arrays (n_points,)
        All as in `ProgressPoint`.
    """

    task: str
    examples: IntArray
    n_labels: IntArray
    precision: FloatArray
    recent_precision: FloatArray
    entropy_reduction: FloatArray
    seconds: FloatArray

    @property
    def accuracy(self) -> FloatArray:
        """P@1 at every checkpoint, shape (n_points,)."""
        return self.precision[:, 0]

    @property
    def recent_accuracy(self) -> FloatArray:
        """Recent P@1 at every checkpoint, shape (n_points,)."""
        return self.recent_precision[:, 0]


def as_result(points: Sequence[ProgressPoint]) -> ProgressiveResult:
    """Return checkpoints, at least one, as arrays."""
    return ProgressiveResult(
        task=points[-1].task,
        examples=np.array([point.examples for point in points], dtype=np.int64),
        n_labels=np.array([point.n_labels for point in points], dtype=np.int64),
        precision=np.array([point.precision for point in points]),
        recent_precision=np.array([point.recent_precision for point in points]),
        entropy_reduction=np.array([point.entropy_reduction for point in points]),
        seconds=np.array([point.seconds for point in points]),
    )


class Record:
    """Counts along the stream; whole numbers, so nothing drifts."""

    def __init__(self, k: int, window: int) -> None:
        self.examples = 0
        self._task = ""
        self._places: IntArray = np.arange(1, k + 1)
        self._hits: IntArray = np.zeros(k, dtype=np.int64)  # within the first 1 to k places
        self._recent_hits: IntArray = np.zeros(k, dtype=np.int64)
        self._ring: npt.NDArray[np.int32] = np.zeros((window, k), dtype=np.int32)
        self._seen: Counter[Hashable] = Counter()
        self._most_frequent = 0
        self._seconds = 0.0

    @property
    def n_labels(self) -> int:
        return len(self._seen)

    def add(self, example: Example, predicted: Row, seconds: float) -> None:
        self._task = example.task
        hits = np.zeros(self._places.size, dtype=np.int64)
        hits[: len(predicted)] = [label in example.labels for label in predicted]
        within = np.cumsum(hits)
        slot = self.examples % len(self._ring)
        self._hits += within
        self._recent_hits += within - self._ring[slot]
        self._ring[slot] = within
        for label in example.labels:
            self._seen[label] += 1
            self._most_frequent = max(self._most_frequent, self._seen[label])
        self.examples += 1
        self._seconds += seconds

    def point(self) -> ProgressPoint:
        n, n_recent = self.examples, min(self.examples, len(self._ring))
        bits = math.nan
        if self._task == MULTICLASS:
            bits = log2_ratio(int(self._hits[0]) / n, self._most_frequent / n)
        return ProgressPoint(
            task=self._task,
            examples=n,
            n_labels=self.n_labels,
            precision=tuple((self._hits / (n * self._places)).tolist()),
            recent_precision=tuple((self._recent_hits / (n_recent * self._places)).tolist()),
            entropy_reduction=bits,
            seconds=self._seconds,
        )
