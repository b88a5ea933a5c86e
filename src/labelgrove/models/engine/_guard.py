"""Who may use a model while who changes it, and when Ctrl-C is heard."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from labelgrove._errors import ModelStateError
from labelgrove._interrupts import Interrupts, held_back

_guards: weakref.WeakSet[Guard] = weakref.WeakSet()


class _Reading:
    """Counted from entering to leaving; or to being forgotten, should Ctrl-C strike at its ends.

    Every call that predicts passes here, so Ctrl-C is not held back: that costs more than all else.
    """

    __slots__ = ("__weakref__", "_guard", "thread")

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self.thread = threading.get_ident()

    def __enter__(self) -> None:
        self._guard.let_in(self)

    def __exit__(self, *_: object) -> None:
        self._guard.readers.discard(weakref.ref(self))


class Guard:
    """Any number of readers, or one that changes; whoever may not is told so at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.readers: set[weakref.ref[_Reading]] = set()
        self._changing = False
        _guards.add(self)

    def reading(self) -> AbstractContextManager[None]:
        """While predicting or saving.

        Raises
        ------
        ModelStateError
            On entering, if another thread is learning.
        """
        return _Reading(self)

    def let_in(self, reading: _Reading) -> None:
        """Count one that reads, unless another thread is learning."""
        with self._lock:
            if self._changing:
                raise ModelStateError(
                    "the model is learning in another thread; predict with a copy of it "
                    "(copy.deepcopy) and swap the two when it is done"
                )
            self.readers.add(weakref.ref(reading, self.readers.discard))

    @contextmanager
    def changing(self) -> Iterator[Interrupts]:
        """While learning, or removing or renaming labels.

        Raises
        ------
        ModelStateError
            If another thread is learning, predicting or saving.
        """
        with held_back() as interrupts:
            with self._lock:
                if self._changing or self._is_read():
                    raise ModelStateError(
                        "the model is in use by another thread and cannot change now; let a copy "
                        "of it learn (copy.deepcopy) and swap the two when it is done"
                    )
                self._changing = True
            try:
                yield interrupts
            finally:
                with self._lock:
                    self._changing = False

    def _is_read(self) -> bool:
        """Whether another thread reads; what this one has left was interrupted."""
        reading = [noted() for noted in self.readers.copy()]
        return any(one is not None and one.thread != threading.get_ident() for one in reading)

    def after_fork(self) -> None:
        """The readers of the parent are not here; what it was changing stays half changed."""
        self._lock = threading.Lock()
        self.readers = set()


def _after_fork() -> None:
    for guard in list(_guards):
        guard.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
