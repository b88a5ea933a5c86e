"""Ctrl-C, held back while steps that belong together are under way."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupts:
    """Whether Ctrl-C is held back, and whether it has been pressed since.

    Attributes
    ----------
    held : bool
        False where Ctrl-C is not ours to hold: in other threads, where it is ignored, or within
        a block that holds it already.
    pending : bool
        True once it has been pressed. A block that answers it itself sets this to False.
    """

    held = False
    pending = False

    def note(self, _number: int, _frame: FrameType | None) -> None:
        """Handle the signal."""
        self.pending = True


@contextmanager
def held_back() -> Iterator[Interrupts]:
    """Hold Ctrl-C back until the block ends, so that it cannot cut it in two.

    Only Python's own handler is replaced: where Ctrl-C is ignored (``nohup``, background jobs of
    a script) it stays ignored.

    Yields
    ------
    Interrupts
        For blocks that want to stop early.

    Raises
    ------
    KeyboardInterrupt
        When the block ends, if Ctrl-C is pending.

    Examples
    --------
    >>> with held_back() as interrupts:
    ...     half, other_half = "done", "done"  # a KeyboardInterrupt comes after this line
    """
    interrupts = Interrupts()
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield interrupts
        return
    signal.signal(signal.SIGINT, interrupts.note)
    interrupts.held = True
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if interrupts.pending:
            raise KeyboardInterrupt
