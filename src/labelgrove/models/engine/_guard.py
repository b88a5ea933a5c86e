"""Reader–writer rules for a model shared by threads."""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import monotonic
from typing import NamedTuple

from labelgrove._errors import ModelStateError
from labelgrove._interrupts import Interrupts, held_back

_guards: weakref.WeakSet[Guard] = weakref.WeakSet()

# How often a waiting thread wakes to check for Ctrl-C, and for readers that were interrupted.
_SECONDS = 0.05


class Turn(NamedTuple):
    """A thread's turn to change the model, during which Ctrl-C is deferred.

    Within the context of ``alone()`` no other thread uses the model. Outside it other threads may
    read, if the turn was waited for, so the model must be consistent there.
    """

    interrupts: Interrupts
    alone: Callable[[], AbstractContextManager[None]]


class _Reading:
    """A reader, counted until it exits, or until garbage collection if Ctrl-C interrupts it.

    Every prediction passes here. Deferring Ctrl-C would cost more than everything else.
    """

    __slots__ = ("__weakref__", "_guard", "_patience", "thread")

    def __init__(self, guard: Guard, patience: float | None) -> None:
        self._guard = guard
        self._patience = patience
        self.thread = threading.get_ident()

    def __enter__(self) -> None:
        self._guard.let_in(self, self._patience)

    def __exit__(self, *_: object) -> None:
        self._guard.let_out(self)


class _Ticket:
    """A place in a queue; ``go`` can be acquired once the thread may proceed."""

    __slots__ = ("go", "reading", "thread")

    def __init__(self, reading: _Reading | None = None) -> None:
        self.reading = reading
        self.thread = threading.get_ident()
        self.go = threading.Lock()
        self.go.acquire()


class Guard:
    """Any number of readers at a time, or one writer.

    Without ``patience`` a thread that would have to wait gets an error at once. With it (seconds,
    or infinity) threads wait and are served first come, first served: a writer that works in many
    steps lets waiting readers in between two steps, and no reader that comes later overtakes it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readers: set[weakref.ref[_Reading]] = set()
        self._changer: int | None = None  # the thread that holds the turn
        self._alone = False  # whether it excludes readers at present
        self._line: deque[_Ticket] = deque()  # readers, and the writer once per step
        self._changers: deque[_Ticket] = deque()  # writers waiting for their turn
        self._broken = False
        _guards.add(self)

    # --- reading -------------------------------------------------------------------------------

    def reading(self, patience: float | None = None) -> AbstractContextManager[None]:
        """Return a context manager for predicting or saving.

        Raises ModelStateError on entry, if another thread is learning; with patience, if the wait
        is too long.
        """
        return _Reading(self, patience)

    def let_in(self, reading: _Reading, patience: float | None) -> None:
        """Register a reader, at once or after waiting."""
        if self._may_read(reading.thread, patience):
            noted = weakref.ref(reading, self._readers.discard)
            self._readers.add(noted)  # first: a writer either sees it or is seen
            if not self._alone:
                return
            self._readers.discard(noted)
        # From Python 3.14 on, Ctrl-C may come between a lock and the block that releases it.
        with held_back() as interrupts:
            self._enter_or_queue(reading, patience, interrupts)

    def _may_read(self, thread: int, patience: float | None) -> bool:
        """Whether a reader need not wait, neither for a writer nor in the line."""
        return not self._alone and (
            patience is None or not self._line or thread in self._reading_threads()
        )

    def _enter_or_queue(
        self, reading: _Reading, patience: float | None, interrupts: Interrupts
    ) -> None:
        with self._lock:
            if self._may_read(reading.thread, patience):
                self._readers.add(weakref.ref(reading, self._readers.discard))
                return
            self._require_whole()
            if patience is None:
                raise ModelStateError(
                    "the model is learning in another thread; predict through model.shared(), "
                    "which waits"
                )
            self._refuse_own(reading.thread)
            ticket = _Ticket(reading)
            self._line.append(ticket)
        self._wait(ticket, self._line, patience, interrupts)

    def let_out(self, reading: _Reading) -> None:
        """Remove a reader."""
        self._readers.discard(weakref.ref(reading))
        if self._line:
            with held_back(), self._lock:
                self._serve()

    # --- changing ------------------------------------------------------------------------------

    @contextmanager
    def changing(self, patience: float | None = None) -> Iterator[Turn]:
        """Return a context manager for learning, or for removing or renaming labels.

        Without patience the thread has exclusive access to the model until the end; with patience,
        only within ``turn.alone()``. Raises ModelStateError if another thread is learning,
        predicting or saving; with patience, if the wait for another writer is too long.
        """
        with held_back() as interrupts:
            if patience is None:
                self._seize()
                alone: Callable[[], AbstractContextManager[None]] = nullcontext
            else:
                self._queue_for_turn(patience, interrupts)
                alone = self._step
            try:
                yield Turn(interrupts, alone)
            finally:
                with self._lock:
                    self._alone = False
                    self._changer = None
                    self._serve()

    def _seize(self) -> None:
        me = threading.get_ident()
        with self._lock:
            self._require_whole()
            if self._changer is not None or not self._exclude_readers(me):
                raise ModelStateError(
                    "the model is in use by another thread and cannot change now; learn and "
                    "predict through model.shared(), which waits"
                )
            self._changer = me

    def _queue_for_turn(self, patience: float, interrupts: Interrupts) -> None:
        me = threading.get_ident()
        with self._lock:
            self._require_whole()
            self._refuse_own(me)
            ticket = _Ticket()
            self._changers.append(ticket)
            self._serve()
        self._wait(ticket, self._changers, patience, interrupts)

    @contextmanager
    def _step(self) -> Iterator[None]:
        """Exclude readers for one step, after the readers that came first."""
        ticket = _Ticket()
        with self._lock:
            self._line.append(ticket)
            self._serve()
        self._wait(ticket, self._line, float("inf"))
        try:
            yield
        finally:
            with self._lock:
                self._alone = False
                self._serve()

    # --- queues --------------------------------------------------------------------------------

    def _serve(self) -> None:
        """Admit every thread that no longer has to wait. Requires the lock."""
        if self._changer is None and self._changers:
            first = self._changers.popleft()
            self._changer = first.thread
            first.go.release()
        while self._line and not self._alone:
            first = self._line[0]
            if first.reading is not None:
                self._readers.add(weakref.ref(first.reading, self._readers.discard))
            elif not self._exclude_readers(first.thread):
                return
            self._line.popleft()
            first.go.release()

    def _wait(
        self,
        ticket: _Ticket,
        queue: deque[_Ticket],
        patience: float,
        interrupts: Interrupts | None = None,
    ) -> None:
        """Wait until the ticket is served. A thread that gives up leaves no trace."""
        end = monotonic() + patience
        try:
            while not ticket.go.acquire(timeout=max(min(_SECONDS, end - monotonic()), 0)):
                if interrupts is not None and interrupts.pending:
                    raise KeyboardInterrupt
                with self._lock:
                    self._serve()
                    if monotonic() >= end and ticket in queue:
                        raise ModelStateError(
                            f"waited {patience:g} seconds for the model, which other threads are "
                            "using"
                        )
        except BaseException:
            with self._lock:
                if ticket in queue:
                    queue.remove(ticket)
                elif queue is self._changers:
                    self._changer = None
                elif ticket.reading is None:
                    self._alone = False
                else:
                    self._readers.discard(weakref.ref(ticket.reading))
                self._serve()
            raise

    def _exclude_readers(self, thread: int) -> bool:
        """Let no other thread read; return False if one does. Requires the lock.

        Readers of this very thread were interrupted.
        """
        self._alone = True  # first: a reader that comes now sees it or is seen
        if any(one != thread for one in self._reading_threads()):
            self._alone = False
        return self._alone

    def _reading_threads(self) -> list[int]:
        reading = [noted() for noted in self._readers.copy()]
        return [one.thread for one in reading if one is not None]

    def _refuse_own(self, thread: int) -> None:
        """Refuse to wait for this very thread, as a signal handler during learning would."""
        if self._changer == thread:
            raise ModelStateError("the model is being changed by this very thread")

    # --- processes -----------------------------------------------------------------------------

    def after_fork(self) -> None:
        """Forget the parent's other threads; a change in progress will never be finished."""
        self._lock = threading.Lock()
        self._readers = set()
        self._line.clear()
        self._changers.clear()
        self._broken = self._alone and self._changer != threading.get_ident()
        if not self._alone:
            self._changer = None

    def _require_whole(self) -> None:
        if self._broken:
            raise ModelStateError(
                "this process was forked while the model was learning in another thread; load it "
                "from its file"
            )


def _after_fork() -> None:
    for guard in list(_guards):
        guard.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
