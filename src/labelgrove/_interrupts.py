"""Ctrl-C: deferred during steps that belong together, and polled by long computations."""

from __future__ import annotations

import _thread
import threading
import weakref

# Until Python 3.12, `signal` looks up every handler in an enum, which makes its functions ten times
# as slow as these: an eighth of a `partial_fit` with one short row.
from _signal import getsignal, signal  # type: ignore[import-not-found]  # typeshed has no stub
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from signal import SIGINT, default_int_handler
from types import FrameType
from typing import Any, TypeVar

_SECONDS = 0.05
"""Interval at which to check whether Ctrl-C was pressed."""

T = TypeVar("T")


class Interrupts:
    """Whether Ctrl-C is deferred, and whether it has been pressed since."""

    # False outside the main thread, if Ctrl-C is ignored, or within a block that already defers it.
    held = False
    pending = False  # a block that handles it itself sets this to False again

    def note(self, _number: int, _frame: FrameType | None) -> None:
        """Handle the signal."""
        self.pending = True


@contextmanager
def held_back() -> Iterator[Interrupts]:
    """Defer Ctrl-C until the block ends, so that it cannot interrupt the block halfway.

    When the block ends, a pending Ctrl-C raises KeyboardInterrupt; a block that wants to stop
    early asks the `Interrupts`. Only Python's own handler is replaced: if Ctrl-C is ignored
    (``nohup``, background jobs of a script), it stays ignored.

    Examples
    --------
    >>> with held_back() as interrupts:
    ...     half, other_half = "done", "done"  # a KeyboardInterrupt comes after this line
    """
    interrupts = Interrupts()
    if (
        threading.current_thread() is not threading.main_thread()
        or getsignal(SIGINT) is not default_int_handler
    ):
        yield interrupts
        return
    signal(SIGINT, interrupts.note)
    interrupts.held = True
    try:
        yield interrupts
    finally:
        signal(SIGINT, default_int_handler)
        if interrupts.pending:
            raise KeyboardInterrupt


def run_watched(compute: Callable[[], T], interrupts: Interrupts, stop: Callable[[], None]) -> T:
    """Compute in another thread, so that the main thread, which receives signals, stays responsive.

    ``stop`` tells the computation to stop early, with a KeyboardInterrupt, when `interrupts` has
    recorded Ctrl-C. If the system cannot create a thread, the computation runs in this one, and
    Ctrl-C waits until it ends. Raises MemoryError if there was no memory for the thread.
    """
    if not interrupts.held:
        return compute()
    run = _Run(compute)
    outcome, alive = run.outcome, weakref.ref(run)
    try:
        _thread.start_new_thread(copy_context().run, (run,))
    except RuntimeError:
        return compute()
    del run
    ended = False
    while not ended:
        # threading.Thread.start waits for ever for a thread that lacks the memory to start. This
        # thread has ended once it has released the run, however it ended.
        gone = alive() is None
        ended = outcome.lock.acquire(timeout=_SECONDS)
        if gone and not ended:
            break
        if interrupts.pending:
            stop()
    if outcome.failure is not None:
        raise outcome.failure
    if not outcome.done:
        raise MemoryError
    result: T = outcome.result
    return result


class _Outcome:
    """The outcome of a computation; the lock is released when it has ended."""

    def __init__(self) -> None:
        self.done = False
        self.result: Any = None
        self.failure: BaseException | None = None
        self.lock = _thread.allocate_lock()
        self.lock.acquire()


class _Run:
    """A computation that stores its outcome in an object allocated beforehand."""

    def __init__(self, compute: Callable[[], Any]) -> None:
        self._compute = compute
        self.outcome = _Outcome()

    def __call__(self) -> None:
        try:
            self.outcome.result = self._compute()
            self.outcome.done = True
        except BaseException as failure:  # noqa: BLE001  (re-raised by the caller)
            self.outcome.failure = failure
        finally:
            self.outcome.lock.release()
