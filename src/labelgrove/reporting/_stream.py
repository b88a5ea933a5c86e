"""The report of a stream: how a model did while it learnt."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove._errors import DataError
from labelgrove.reporting import _charts
from labelgrove.reporting._numbers import plain
from labelgrove.reporting._page import write_page

_RECENT = 1000
_STEP = 1.02  # points lie so far apart, as a ratio: some hundreds however long the stream
_NOISE = 200  # the first of so many parts of a stream is too short to tell precision or speed


@dataclass(frozen=True)
class _Point:
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
        self._points: list[_Point] = []
        self._last: _Point | None = None

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
        while sum(n for n, _ in self._window) - self._window[0][0] >= _RECENT:
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
        self._last = _Point(
            self.examples, self.precision, hits / n_recent, labels, nodes, self.seconds
        )
        if not self._points or self.examples >= _STEP * self._points[-1].examples:
            self._points.append(self._last)

    def points(self) -> list[_Point]:
        """The course so far, some hundreds of points; the last one is where it stands."""
        ends = [] if self._last is None or self._last in self._points else [self._last]
        return self._points + ends


def write_stream_report(
    record: StreamRecord,
    path: str | PathLike[str],
    *,
    name: str = "the model",
    data_name: str = "the stream",
) -> None:
    """Write down how a model did while it learnt, as a page.

    It shows progressive P@1 over time, how labels and nodes of the tree grew, how many examples
    of a new label are learnt until it is told, and the examples a second. The page is one file
    and needs no network.

    Parameters
    ----------
    record : StreamRecord
        With at least one example.
    path : path
        Where the page is written.
    name, data_name : str
        What to call the model and the stream.

    Raises
    ------
    DataError
        When nothing was recorded.
    MissingDependencyError
        Without the packages of ``labelgrove[report]``.
    OSError
        When the page cannot be written.
    """
    points = record.points()
    if not points:
        raise DataError("record: there is not a single example to report on")
    patience = record.patience()
    page = {"data": _data(points, patience), "charts": _stream_charts(points[-1].nodes > 0)}
    page["charts"] = {name: spec for name, spec in page["charts"].items() if page["data"][name]}
    told = np.flatnonzero(patience >= 0.5)
    last = points[-1]
    write_page(
        path,
        "stream.html.jinja",
        {
            "page": page,
            "title": f"{name}, learning {data_name}",
            "facts": [
                ("examples", f"{last.examples:,}"),
                ("labels", f"{last.labels:,}"),
                ("new among them", f"{record.new_labels:,}"),
                *([("nodes", f"{last.nodes:,}")] if last.nodes else []),
            ],
            "so_far": last.so_far,
            "recent": last.recent,
            "window": min(_RECENT, last.examples),
            "speed": last.examples / max(last.seconds, 1e-9),
            "half": int(told[0]) if told.size else None,
            "ever": float(patience[-1]) if patience.size else None,
            "places": record.places,
        },
    )


def _data(points: Sequence[_Point], patience: npt.NDArray[np.float64]) -> dict[str, Any]:
    def lines(points: Sequence[_Point], **columns: str) -> list[dict[str, Any]]:
        return [
            {"examples": point.examples, "name": name, "value": plain([getattr(point, field)])[0]}
            for name, field in columns.items()
            for point in points
        ]

    settled = [point for point in points if point.examples * _NOISE >= points[-1].examples]

    grown = {"labels": "labels", "nodes": "nodes"} if points[-1].nodes else {"labels": "labels"}
    # From one change to the next: a step needs no points between.
    steps = np.flatnonzero(np.diff(patience, prepend=-1.0) != 0)
    steps = np.unique(np.append(steps, len(patience) - 1)) if len(patience) else steps
    return {
        "precision": lines(settled, **{"so far": "so_far", "recent": "recent"}),
        "growth": lines(points, **grown),
        "patience": [{"learnt": int(n), "share": plain([patience[n]])[0]} for n in steps],
        "speed": _speeds(settled),
    }


def _speeds(points: Sequence[_Point]) -> list[dict[str, Any]]:
    """Examples a second between points that lie far enough apart to tell."""
    kept = [points[0]]
    for point in points[1:]:
        if point.examples >= kept[-1].examples * 1.1:
            kept.append(point)
    rows = []
    for before, after in pairwise(kept):
        speed = (after.examples - before.examples) / max(after.seconds - before.seconds, 1e-9)
        rows.append({"examples": after.examples, "name": "examples a second", "value": speed})
    return rows


def _stream_charts(has_tree: bool) -> dict[str, Any]:
    grown = ["labels", "nodes"] if has_tree else ["labels"]
    return {
        "precision": _charts.over_time(
            "precision", "Progressive P@1", "P@1", ["so far", "recent"], shares=True, height=300
        ),
        "growth": _charts.over_time("growth", "Labels and nodes over time", "number", grown),
        "patience": _charts.patience(),
        "speed": _charts.over_time(
            "speed", "Examples a second over time", "a second", ["examples a second"]
        ),
    }
