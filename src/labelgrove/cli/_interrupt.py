"""Ctrl-C between two batches: a batch that is being learnt is finished first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType


class PoliteInterrupt:
    """While in use, Ctrl-C waits for the end of what must not be cut in two.

    Reading may wait for ever (on a pipe), so there Ctrl-C is answered at once; so is a second
    Ctrl-C anywhere. Where Ctrl-C is ignored (``nohup``, background jobs of scripts) it stays so.

    Examples
    --------
    >>> with PoliteInterrupt() as interrupt:
    ...     with interrupt.deferred():
    ...         pass  # a KeyboardInterrupt comes after this, if Ctrl-C was pressed meanwhile
    """

    def __init__(self) -> None:
        self._deferring = False
        self._pressed = False
        self._installed = False

    def __enter__(self) -> PoliteInterrupt:
        in_main_thread = threading.current_thread() is threading.main_thread()
        if in_main_thread and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._press)
            self._installed = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Let the body end before Ctrl-C is answered.

        Yields
        ------
        None
            To the body.

        Raises
        ------
        KeyboardInterrupt
            After the body, when Ctrl-C was pressed during it.
        """
        self._deferring = True
        try:
            yield
        finally:
            self._deferring = False
        if self._pressed:
            raise KeyboardInterrupt

    def _press(self, _number: int, _frame: FrameType | None) -> None:
        if not self._deferring or self._pressed:
            raise KeyboardInterrupt
        self._pressed = True
