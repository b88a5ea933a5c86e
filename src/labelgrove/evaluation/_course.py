"""Progress along a stream: how well a model predicted examples before it learnt them."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from labelgrove._errors import DataError
from labelgrove.metrics._inputs import IntArray
from labelgrove.metrics._multiclass import log2_ratio
from labelgrove.metrics._score import FloatArray

_STEP = 1.02  # ratio between points: a few hundred, however long the stream


@dataclass(frozen=True)
class ProgressPoint:
    """How well a model has predicted the examples of a stream so far.

    Attributes
    ----------
    examples : int
        Number of examples predicted and learnt from.
    n_labels : int
        Number of distinct labels among them and among those known before.
    precision : tuple of float
        P@1 to P@k over all examples so far; P@1 is the accuracy if each has one label.
    recent_precision : tuple of float
        The same over the latest examples within the window.
    entropy_reduction : float
        log2(Acc) - log2(Acc_const) over all examples so far, minus infinity before the first
        right prediction; nan unless every example has exactly one label.
    seconds : float
        Time spent in the model's methods.
    nodes : int
        Number of nodes of the model's tree, if counted; else 0.
    """

    examples: int
    n_labels: int
    precision: tuple[float, ...]
    recent_precision: tuple[float, ...]
    entropy_reduction: float
    seconds: float
    nodes: int = 0

    @property
    def accuracy(self) -> float:
        """Share of examples whose first predicted label is right: P@1."""
        return self.precision[0]

    @property
    def recent_accuracy(self) -> float:
        """P@1 over the latest examples."""
        return self.recent_precision[0]


@dataclass(frozen=True, eq=False)
class ProgressiveResult:
    """The course of a progressive validation, with one array entry per checkpoint.

    Attributes
    ----------
    examples, n_labels : int64 arrays (n_points,)
    precision, recent_precision : float64 arrays (n_points, k)
        Columns are P@1 to P@k.
    entropy_reduction, seconds : float64 arrays (n_points,)
        As in `ProgressPoint`.
    """

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
    """Return one or more checkpoints as arrays."""
    names = [field.name for field in fields(ProgressiveResult)]
    columns = {name: np.array([getattr(point, name) for point in points]) for name in names}
    return ProgressiveResult(**columns)


class StreamRecord:
    """Record of a model's predictions while it learns from a stream, batch by batch.

    Parameters
    ----------
    known : collection of labels
        Labels that the model already knows.
    places : int, default=5
        P@1 to P@places are measured, and a new label counts as recognised if it is among the
        first `places` predicted labels.
    window : int, default=1000
        Number of latest examples that the recent figures cover, rounded up to whole batches.

    Examples
    --------
    >>> record = StreamRecord(places=1)
    >>> record.add([["a"], ["b"]], [])
    >>> record.add([["a"], ["b"]], [["a"], ["a"]])
    >>> record.examples, record.point().accuracy
    (4, 0.25)
    >>> record.patience().tolist()
    [0.0, 0.5]
    """

    def __init__(
        self, known: Collection[Hashable] = (), *, places: int = 5, window: int = 1000
    ) -> None:
        self.examples = 0
        self.places = places
        self.window = window
        self._seconds = 0.0
        self._nodes = 0
        # Hits within the first 1, 2, ... places: of all examples, and of the recent ones.
        self._hits: FloatArray = np.zeros(places)
        self._recent_hits: FloatArray = np.zeros(places)
        self._recent = 0
        self._run = 0  # rows of the latest run of predictions, and the mean of their hits
        self._hit_rate: FloatArray = np.zeros(places)
        self._batches: deque[tuple[int, FloatArray]] = deque()
        self._known = frozenset(known)
        self._learnt: Counter[Hashable] = Counter()
        self._new = 0
        self._most_frequent = 0
        self._one_label_each = True
        self._told: dict[Hashable, int] = {}  # new labels: examples learnt when first recognised
        self._asked: dict[Hashable, int] = {}  # new labels: examples learnt when last tested
        self._points: list[ProgressPoint] = []

    @property
    def new_labels(self) -> int:
        """Number of labels seen that were not known before."""
        return self._new

    @property
    def n_labels(self) -> int:
        """Number of labels known before or seen."""
        return len(self._known) + self._new

    def state(self) -> dict[str, Any]:
        """Return the complete record as JSON values."""
        return {
            **vars(self),
            "_hits": self._hits.tolist(),
            "_recent_hits": self._recent_hits.tolist(),
            "_hit_rate": self._hit_rate.tolist(),
            "_batches": [(rows, hits.tolist()) for rows, hits in self._batches],
            "_known": list(self._known),
            "_learnt": list(self._learnt.items()),
            "_told": list(self._told.items()),
            "_asked": list(self._asked.items()),
            "_points": [asdict(point) for point in self._points],
        }

    @classmethod
    def resumed(cls, state: Mapping[str, Any]) -> Self:
        """Restore a record from its state.

        Parameters
        ----------
        state : mapping
            The output of `state`, perhaps via a file.
        """
        record = cls()
        vars(record).update(
            state,
            _hits=np.array(state["_hits"]),
            _recent_hits=np.array(state["_recent_hits"]),
            _hit_rate=np.array(state["_hit_rate"]),
            _batches=deque((rows, np.array(hits)) for rows, hits in state["_batches"]),
            _known=frozenset(state["_known"]),
            _learnt=Counter(dict(state["_learnt"])),
            _told=dict(state["_told"]),
            _asked=dict(state["_asked"]),
            _points=[_point_from(point) for point in state["_points"]],
        )
        return record

    def add(
        self,
        true: Sequence[Collection[Hashable]],
        predicted: Sequence[Sequence[Hashable]] | None,
        *,
        seconds: float = 0.0,
        nodes: int = 0,
    ) -> None:
        """Record a batch that was predicted, then learnt.

        Parameters
        ----------
        true : sequence of collections
            The labels of every row.
        predicted : sequence of sequences, or None
            The labels predicted for the first rows before the batch was learnt, best first. Their
            hits are extrapolated to the other rows; if there are none, no prediction was right.
            With None, the hits since the last batch without predictions are extrapolated.
        seconds : float
            Time of prediction and learning.
        nodes : int
            Number of nodes of the model's tree after the batch.

        Raises
        ------
        DataError
            If there are more predictions than rows.
        """
        if predicted is None:
            hits = self._hit_rate * len(true)
            self._run = 0
        else:
            hits = self._hits_of(true, predicted)
            before, self._run = self._run, self._run + len(true)
            self._hit_rate = (self._hit_rate * before + hits) / max(self._run, 1)
        for given in true:
            self._learn(given)
        self._seconds += seconds
        self._nodes = nodes
        self._count(len(true), hits)
        if not self._points or self.examples >= _STEP * self._points[-1].examples:
            self._points.append(self.point())

    def point(self) -> ProgressPoint:
        """Return the figures so far; NaN before the first example."""
        places = np.arange(1, self.places + 1)
        with np.errstate(invalid="ignore"):
            precision = self._hits / (self.examples * places)
            recent = self._recent_hits / (self._recent * places)
        bits = math.nan
        if self._one_label_each and self.examples:
            bits = log2_ratio(float(precision[0]), self._most_frequent / self.examples)
        return ProgressPoint(
            examples=self.examples,
            n_labels=self.n_labels,
            precision=tuple(precision.tolist()),
            recent_precision=tuple(recent.tolist()),
            entropy_reduction=bits,
            seconds=self._seconds,
            nodes=self._nodes,
        )

    def points(self) -> list[ProgressPoint]:
        """Return the course so far, a few hundred points, of which the last is current."""
        ended = not self._points or self._points[-1].examples == self.examples
        return [*self._points] if ended else [*self._points, self.point()]

    def patience(self) -> npt.NDArray[np.float64]:
        """Estimate the share of new labels recognised after n examples of them were learnt.

        For most labels it is only known that they were not recognised *yet*; the product-limit
        estimate of Kaplan and Meier (1958) takes this into account.

        Returns
        -------
        ndarray of float64, shape (n_max + 1,)
            For n = 0, 1, 2, …; empty if no label was new.
        """
        told = np.array(list(self._told.values()), np.int64)
        asked = np.array(
            [n for label, n in self._asked.items() if label not in self._told], np.int64
        )
        if told.size + asked.size == 0:
            return np.empty(0)
        last = int(max(told.max(initial=0), asked.max(initial=0)))
        events = np.bincount(told, minlength=last + 1)
        leaving = events + np.bincount(asked, minlength=last + 1)
        at_risk = np.cumsum(leaving[::-1])[::-1]
        left = np.cumprod(1.0 - events / np.maximum(at_risk, 1))
        return np.asarray(1.0 - left, np.float64)

    def overlooked(self, most: int) -> list[tuple[Hashable, int]]:
        """Return new labels that have never been recognised, the most often learnt first.

        Parameters
        ----------
        most : int
            Maximum number of labels.

        Returns
        -------
        list of (label, examples)
            The number of examples of the label learnt when it was last overlooked; at least one.
        """
        asked = ((one, n) for one, n in self._asked.items() if n and one not in self._told)
        return sorted(asked, key=lambda pair: -pair[1])[:most]

    def _hits_of(
        self, true: Sequence[Collection[Hashable]], predicted: Sequence[Sequence[Hashable]]
    ) -> FloatArray:
        if len(predicted) > len(true):
            raise DataError(
                f"predicted has {len(predicted)} rows: expected at most {len(true)}, as true"
            )
        hits = np.zeros(self.places)
        for given, told in zip(true, predicted, strict=False):
            for place, label in enumerate(told[: self.places]):
                hits[place] += label in given
            self._ask(given, set(told[: self.places]))
        return np.cumsum(hits) * (len(true) / max(len(predicted), 1))

    def _ask(self, given: Collection[Hashable], told: set[Hashable]) -> None:
        for label in given:
            if label in self._known or label in self._told:
                continue
            self._asked[label] = self._learnt[label]
            if label in told:
                self._told[label] = self._learnt[label]

    def _learn(self, given: Collection[Hashable]) -> None:
        self._one_label_each &= len(given) == 1
        for label in given:
            times = self._learnt[label] + 1
            self._learnt[label] = times
            self._new += times == 1 and label not in self._known
            self._most_frequent = max(self._most_frequent, times)

    def _count(self, n_rows: int, hits: FloatArray) -> None:
        self.examples += n_rows
        self._hits += hits
        self._recent += n_rows
        self._recent_hits += hits
        self._batches.append((n_rows, hits))
        while self._recent - self._batches[0][0] >= self.window:
            oldest, hits = self._batches.popleft()
            self._recent -= oldest
            self._recent_hits -= hits


def _point_from(state: Mapping[str, Any]) -> ProgressPoint:
    lists = ("precision", "recent_precision")
    return ProgressPoint(**{**state, **{name: tuple(state[name]) for name in lists}})
