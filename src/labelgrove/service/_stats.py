"""Statistics of a project: how much it has learnt, and how well it suggests."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from copy import copy

import msgspec

_MOST_STRETCHES = 200


class Stretch(msgspec.Struct):
    """How often the first suggestion was right, just before its example was learnt.

    Attributes
    ----------
    sequence : int
        The first event of this stretch of the stream.
    predictions : int
        Number of examples predicted.
    right : int
        Number of predictions that were right.
    """

    sequence: int
    predictions: int
    right: int


class Stats(msgspec.Struct):
    """Statistics of a project; progress and refused count since the service started.

    Attributes
    ----------
    examples_seen : int
        Examples that the model has learnt from.
    examples : int
        Examples in the log.
    labels : int
        Labels that can be suggested.
    sequence : int
        Last event that the model has applied; labels, examples_seen and fingerprint refer to it.
    fingerprint : str or None
        SHA-256 of the model's file; None if it was not requested.
    head : int
        Sequence number of the last event of the log.
    refused : int
        Examples that the model could not learn from since the service started.
    waiting : int
        Requests that wait to be committed.
    failure : str or None
        Why the model no longer follows its log, if so.
    progress : list of Stretch
        Progressive validation since the service started.
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
    """Count how often the first suggestion was right, just before its example was learnt.

    Counts since the service started, in at most 200 equal stretches of the stream.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._width = 1
        self._stretches: list[Stretch] = []

    def note(self, sequence: int, hits: Sequence[bool]) -> None:
        """Add predictions, starting at a sequence number."""
        with self._lock:
            for hit in hits:
                if not self._stretches or self._stretches[-1].predictions == self._width:
                    if len(self._stretches) == _MOST_STRETCHES:
                        self._join_pairs()
                    self._stretches.append(Stretch(sequence, 0, 0))
                last = self._stretches[-1]
                last.predictions += 1
                last.right += hit

    def _join_pairs(self) -> None:
        pairs = zip(self._stretches[::2], self._stretches[1::2], strict=True)
        self._stretches = [
            Stretch(a.sequence, a.predictions + b.predictions, a.right + b.right) for a, b in pairs
        ]
        self._width *= 2

    def stretches(self) -> list[Stretch]:
        """Return all stretches, in order."""
        with self._lock:
            return [copy(one) for one in self._stretches]
