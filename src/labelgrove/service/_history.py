"""From a log to its model: from the newest valid snapshot, or from the first event."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from labelgrove import TextClassifier
from labelgrove.service._events import (
    NAME_CHANGES,
    NEW_BEGINNINGS,
    Rebuilt,
    Row,
    body_of,
    named_now,
)
from labelgrove.service._model import Learner, learnt_anew
from labelgrove.service._problems import ShuttingDown
from labelgrove.service._settings import Settings
from labelgrove.service._snapshots import Snapshot, loaded, snapshots, spaced

_log = logging.getLogger("labelgrove.service")

_AT_ONCE = 1_000

LONG = 10_000
"""Number of events that take long to learn again: a second or more."""


class History:
    """The events of a project, and the models that result from them.

    Parameters
    ----------
    folder : Path
        Folder of the snapshots.
    settings : Settings
    controls : sequence of Row
        The log's events other than examples; the sequence may grow.
    read : callable
        Called with a sequence number and a limit; returns the events that follow.
    stopping : callable
        Whether to give up what learns from many events.
    keep : callable
        Called with each model on the way to another one where a snapshot is to last, and with the
        sequence number of that other one.
    """

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        controls: Sequence[Row],
        read: Callable[[int, int], list[Row]],
        stopping: Callable[[], bool] = lambda: False,
        keep: Callable[[Learner, int], None] = lambda *_: None,
    ) -> None:
        self._folder, self._settings = folder, settings
        self._controls, self._read = controls, read
        self.stopping, self._keep = stopping, keep

    def model_at(self, upto: int) -> Learner:
        """Compute the model of the current log up to a sequence number.

        Raises ShuttingDown once ``stopping`` returns true.
        """
        learner = loaded(
            [one for one in snapshots(self._folder) if one.sequence <= upto and self.holds(one)],
            lambda one: Learner(self._settings, self._controls, one.sequence, one.path),
        ) or Learner(self._settings)
        beginnings = self._beginnings(learner.sequence, upto)
        to_learn, started = upto - (0 if beginnings else learner.sequence), time.monotonic()
        if to_learn >= LONG:
            told = "%s: learning %d events of the log that no snapshot has"
            _log.info(told, self._folder.name, to_learn)
        if beginnings:
            last = beginnings[-1]
            learner = Learner(self._settings, self._controls, last.sequence - 1)
            learner.begin_anew(last, self._begun_at(last))
            if last.sequence < upto:
                self._keep(learner, upto)
        for place in [*self.lasting(upto), upto]:
            if place > learner.sequence:
                for rows in self.events(learner.sequence, place):
                    self.advance(learner, rows)
                if place < upto:
                    self._keep(learner, upto)
        if to_learn >= LONG:
            seconds = time.monotonic() - started
            _log.info("%s: learnt them in %.0f s", self._folder.name, seconds)
        return learner

    def advance(self, learner: Learner, rows: Sequence[Row]) -> None:
        """Apply events of the current log, from which forgotten examples are erased.

        Raises ShuttingDown once ``stopping`` returns true where all events are learnt again.
        """
        plain: list[Row] = []
        for row in rows:
            if row.kind in NEW_BEGINNINGS:
                learner.apply(plain)
                learner.begin_anew(row, self._begun_at(row))
                plain = []
            else:
                plain.append(row)
        learner.apply(plain)

    def events(self, after: int, upto: int) -> Iterator[list[Row]]:
        """Yield the events between two sequence numbers, in batches."""
        while after < upto:
            if self.stopping():
                raise ShuttingDown
            rows = self._read(after, min(_AT_ONCE, upto - after))
            yield rows
            after = rows[-1].sequence

    def holds(self, snapshot: Snapshot) -> bool:
        """Whether a snapshot is valid: it contains no example that was forgotten after it."""
        later = itertools.takewhile(
            lambda row: row.sequence > snapshot.known, reversed(self._controls)
        )
        return not any(
            min(body_of(row).sequences) <= snapshot.sequence
            for row in later
            if row.kind == "forget"
        )

    def lasting(self, head: int) -> list[int]:
        """Return the events at which snapshots are kept although there are newer ones.

        Forgetting an example then takes about as long as what came after it took to learn. Before
        the last new beginning there are none: the model is learnt from the first event anyway.
        """
        every = self._settings.snapshot_every
        begun = max((row.sequence for row in self._beginnings(0, head)), default=0)
        later = [every * one for one in spaced(head // every) if every * one > begun]
        return [begun, *later] if begun else later

    def _beginnings(self, after: int, upto: int) -> list[Row]:
        """Return the new beginnings among the events between two sequence numbers."""
        return [
            row
            for row in self._controls
            if row.kind in NEW_BEGINNINGS and after < row.sequence <= upto
        ]

    def changes(self, after: int, before: int) -> set[str]:
        """Return the kinds of events between two others that change earlier examples."""
        kinds = {row.kind for row in self._controls if after < row.sequence < before}
        return kinds & {"forget", *NAME_CHANGES}

    def _begun_at(self, row: Row) -> TextClassifier:
        """Learn the model that begins at an event from the examples before it."""
        event = body_of(row)
        upto = event.upto if isinstance(event, Rebuilt) else 0
        changes = [
            one
            for one in self._controls
            if one.kind in NAME_CHANGES and one.sequence <= row.sequence
        ]
        before = itertools.chain.from_iterable(self.events(0, row.sequence - 1))
        built = self._built(upto, row.sequence) if upto else None
        return learnt_anew(self._settings, named_now(before, changes), upto, built)

    def _built(self, upto: int, sequence: int) -> Path | None:
        """Find the batch model of a rebuild, if its examples have not changed since."""
        found = {
            int(path.stem.rpartition("-")[2]): path
            for path in self._folder.glob(f"built-{upto}-*.lg")
        }
        if not found:
            return None
        newest = max(found)  # an older one may just be being removed
        return None if self.changes(newest, sequence) else found[newest]
