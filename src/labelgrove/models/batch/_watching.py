"""Long computations that Ctrl-C can end."""

from __future__ import annotations

import _thread
import weakref
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, TypeVar

from labelgrove import _core
from labelgrove._interrupts import Interrupts

_SECONDS = 0.05
"""Between two looks at whether Ctrl-C was pressed."""


T = TypeVar("T")


def run_watched(compute: Callable[[], T], interrupts: Interrupts, progress: _core.Progress) -> T:
    """Compute in another thread, so that the main one, which alone hears signals, can listen.

    Where the system has no thread left, the computation runs here, and Ctrl-C waits for its end.

    Parameters
    ----------
    compute : callable
        Looks at the progress from time to time.
    interrupts : Interrupts
        Where Ctrl-C is noted, if it is held back at all.
    progress : Progress
        Is told to stop.

    Raises
    ------
    KeyboardInterrupt
        If it has stopped.
    MemoryError
        If there was no memory for the thread.
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
        # threading.Thread.start waits for ever for a thread that lacks the memory to begin. This
        # one is over when it has let go of the run, however it came to its end.
        gone = alive() is None
        ended = outcome.lock.acquire(timeout=_SECONDS)
        if gone and not ended:
            break
        if interrupts.pending:
            progress.stop()
    if outcome.failure is not None:
        raise outcome.failure
    if not outcome.done:
        raise MemoryError
    result: T = outcome.result
    return result


class _Outcome:
    """How a computation ended: the lock is free when it has."""

    def __init__(self) -> None:
        self.done = False
        self.result: Any = None
        self.failure: BaseException | None = None
        self.lock = _thread.allocate_lock()
        self.lock.acquire()


class _Run:
    """A computation that keeps its outcome, which takes no memory any more."""

    def __init__(self, compute: Callable[[], Any]) -> None:
        self._compute = compute
        self.outcome = _Outcome()

    def __call__(self) -> None:
        try:
            self.outcome.result = self._compute()
            self.outcome.done = True
        except BaseException as failure:  # noqa: BLE001  (raised where the call was made)
            self.outcome.failure = failure
        finally:
            self.outcome.lock.release()
