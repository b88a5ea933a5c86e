"""What a project tells of itself: how much it has learnt, and how well it suggests."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import msgspec


class Stretch(msgspec.Struct):
    """How often the first suggestion was right, just before its example was learnt.

    Attributes
    ----------
    sequence : int
        Where it begins.
    predictions, right : int
    """

    sequence: int
    predictions: int
    right: int


class Stats(msgspec.Struct):
    """How a project is.

    Attributes
    ----------
    examples_seen : int
        Examples that the model has learnt from.
    examples : int
        Examples in the log.
    labels : int
        That can be suggested.
    sequence : int
        At which labels, examples_seen and fingerprint are those of the model.
    fingerprint : str or None
        SHA-256 of the model's file; None where it was not asked for.
    head : int
        Sequence number of the last event of the log.
    refused : int
        Examples that the model could not learn from, since the service has started.
    waiting : int
        Requests that wait to be committed.
    failure : str or None
        Why the model does not follow its log any longer.
    progress : list of Stretch
        Of the stream since the service has started.
    """

    project_id: str
    examples_seen: int
    examples: int
    labels: int
    sequence: int
    fingerprint: str | None
    head: int
    refused: int
    model_bytes: int
    waiting: int
    failure: str | None
    progress: list[Stretch]


class Progress:
    """How often the first suggestion was right, just before its example was learnt.

    Counted since the service has started, in at most 200 stretches of the stream.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._width = 1
        self._stretches: list[list[int]] = []

    def note(self, sequence: int, hits: Sequence[bool]) -> None:
        """Count predictions that were right, from a sequence number on."""
        with self._lock:
            for hit in hits:
                if not self._stretches or self._stretches[-1][1] >= self._width:
                    self._stretches.append([sequence, 0, 0])
                last = self._stretches[-1]
                last[1] += 1
                last[2] += hit
            if len(self._stretches) >= 200:
                pairs = zip(self._stretches[::2], self._stretches[1::2], strict=False)
                self._stretches = [[a[0], a[1] + b[1], a[2] + b[2]] for a, b in pairs]
                self._width *= 2

    def stretches(self) -> list[Stretch]:
        """All of them, in order."""
        with self._lock:
            return [Stretch(*one) for one in self._stretches]
