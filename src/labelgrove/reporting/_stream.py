"""What happens while a model learns from a stream."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelgrove._errors import DataError

RECENT = 1000
_STEP = 1.02  # points lie so far apart, as a ratio: some hundreds however long the stream


@dataclass(frozen=True)
class StreamPoint:
    """Where the stream stood at some time."""

    examples: int
    so_far: float
    recent: float
    labels: int
    nodes: int
    seconds: float


class StreamRecord:
    """What happens while a model learns from a stream, batch by batch.

    Parameters
    ----------
    known : collection of labels
        Labels that are not new to the model.
    places : int, default=5
        A label counts as told when it is among the first so many that are predicted.

    Examples
    --------
    >>> record = StreamRecord(places=1)
    >>> record.add([["a"], ["b"]], [[], []], labels=2, nodes=3, seconds=0.1)
    >>> record.add([["a"], ["b"]], [["a"], ["a"]], labels=2, nodes=3, seconds=0.1)
    >>> record.examples, record.precision
    (4, 0.25)
    >>> record.patience().tolist()
    [0.0, 0.5]
    """

    def __init__(self, known: Collection[Hashable] = (), *, places: int = 5) -> None:
        self.examples = 0
        self.seconds = 0.0
        self.places = places
        self._hits = 0
        self._known = frozenset(known)
        self._learnt: Counter[Hashable] = Counter()
        self._told: dict[Hashable, int] = {}  # new labels: examples learnt when first told
        self._asked: dict[Hashable, int] = {}  # new labels: examples learnt when last asked
        self._window: deque[tuple[int, int]] = deque()
        self._points: list[StreamPoint] = []
        self._last: StreamPoint | None = None

    @property
    def precision(self) -> float:
        """P@1 over all examples; NaN before the first."""
        return self._hits / self.examples if self.examples else float("nan")

    @property
    def new_labels(self) -> int:
        """How many labels came up that were not known."""
        return sum(label not in self._known for label in self._learnt)

    def add(
        self,
        true: Sequence[Collection[Hashable]],
        predicted: Sequence[Sequence[Hashable]],
        *,
        labels: int,
        nodes: int,
        seconds: float,
    ) -> None:
        """Take notice of a batch that was predicted, then learnt.

        Parameters
        ----------
        true : sequence of collections
            The labels of every row.
        predicted : sequence of sequences
            The labels predicted for it before it was learnt, best first.
        labels, nodes : int
            What the model knows, and of how many nodes its tree is, after the batch; 0 where it
            has no tree.
        seconds : float
            What predicting and learning took.

        Raises
        ------
        DataError
            If there are not as many predictions as rows.
        """
        if len(true) != len(predicted):
            raise DataError(f"predicted has {len(predicted)} rows: expected {len(true)}, as true")
        hits = 0
        for given, told in zip(true, predicted, strict=True):
            hits += len(told) > 0 and told[0] in given
            self._ask(given, set(told[: self.places]))
        for given in true:
            self._learnt.update(given)
        self.examples += len(true)
        self.seconds += seconds
        self._hits += hits
        self._window.append((len(true), hits))
        while sum(n for n, _ in self._window) - self._window[0][0] >= RECENT:
            self._window.popleft()
        self._mark(labels, nodes)

    def patience(self) -> npt.NDArray[np.float64]:
        """The share of new labels that have been told by the time n examples of them were learnt.

        Of most labels one knows only that they have not been told *yet*: the share is the product
        limit of Kaplan and Meier (1958), which takes them into account for as long as they were
        asked for.

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

    def _ask(self, given: Collection[Hashable], told: set[Hashable]) -> None:
        for label in given:
            if label in self._known or label in self._told:
                continue
            self._asked[label] = self._learnt[label]
            if label in told:
                self._told[label] = self._learnt[label]

    def _mark(self, labels: int, nodes: int) -> None:
        n_recent, hits = (sum(parts) for parts in zip(*self._window, strict=True))
        self._last = StreamPoint(
            self.examples, self.precision, hits / n_recent, labels, nodes, self.seconds
        )
        if not self._points or self.examples >= _STEP * self._points[-1].examples:
            self._points.append(self._last)

    def points(self) -> list[StreamPoint]:
        """The course so far, some hundreds of points; the last one is where it stands."""
        ends = [] if self._last is None or self._last in self._points else [self._last]
        return self._points + ends
