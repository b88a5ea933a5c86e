"""Long computations that Ctrl-C can end."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TypeVar

from labelgrove import _core
from labelgrove._interrupts import Interrupts

_SECONDS = 0.05
"""Between two looks at whether Ctrl-C was pressed."""


T = TypeVar("T")


def run_watched(compute: Callable[[], T], interrupts: Interrupts, progress: _core.Progress) -> T:
    """Compute in another thread, while this one listens: a signal is heard in the main one alone.

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
    """
    if not interrupts.held:
        return compute()
    with ThreadPoolExecutor(1) as helper:
        computed = helper.submit(copy_context().run, compute)
        while not wait([computed], _SECONDS).done:
            if interrupts.pending:
                progress.stop()
        return computed.result()
