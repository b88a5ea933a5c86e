"""Pools of processes that lose one of them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager

from labelgrove._errors import LabelGroveError


@contextmanager
def broken_pools_explained(again: str) -> Iterator[None]:
    """Say why a pool may have broken, and what to do: Python's own error does not.

    Raises LabelGroveError in place of any `BrokenExecutor`.
    """
    try:
        yield
    except BrokenExecutor as error:
        raise LabelGroveError(
            f"a worker process was killed, perhaps for lack of memory; repeat the call{again} (in "
            'a script, behind `if __name__ == "__main__":`)'
        ) from error
