"""Waiting with a limit for what happens in other threads, in other processes or in a browser."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def until(holds: Callable[[], Any], meanwhile: Callable[[], Any] = lambda: time.sleep(0.01)) -> Any:
    """Ask again and again until the answer is true; return it."""
    end = time.monotonic() + 60
    while not (answer := holds()):
        assert time.monotonic() < end, "it did not happen"
        meanwhile()
    return answer
