"""Long computations that Ctrl-C can end."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context

from labelgrove import _core
from labelgrove._interrupts import Interrupts

_SECONDS = 0.05
"""Between two looks at whether Ctrl-C was pressed."""


def run_watched(
    compute: Callable[[], None], interrupts: Interrupts, progress: _core.Progress
) -> None:
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
        compute()
        return
    with ThreadPoolExecutor(1) as helper:
        computed = helper.submit(copy_context().run, compute)
        while not wait([computed], _SECONDS).done:
            if interrupts.pending:
                progress.stop()
        computed.result()
