"""A thread that takes all that waits: the shape of group commit, and of batched predictions."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from labelgrove.service._problems import Problem

T = TypeVar("T")


class Batches(Generic[T]):
    """Work off items in a thread of their own, as many at once as have come meanwhile.

    While one batch is worked off the next one gathers. So the cost of a batch (a flush to the
    disk, a call into the model) is shared by more the busier it is, and nobody waits for others
    to come.

    Parameters
    ----------
    work : callable
        Is given a list of items. It must answer each of them, and must not raise.
    name : str
        The thread's.
    most : int
        Items of a batch.
    waiting : int
        Items that may wait; one more is refused.
    """

    def __init__(
        self, work: Callable[[list[T]], None], name: str, *, most: int, waiting: int
    ) -> None:
        self._work = work
        self._most = most
        self._waiting = waiting
        self._items: deque[T] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, item: T) -> None:
        """Let an item wait for the next batch.

        Raises
        ------
        Problem
            429, if too many wait; 503, if this was closed.
        """
        with self._changed:
            if self._closing:
                raise Problem(503, "the project is being closed; try again in a moment")
            if len(self._items) >= self._waiting:
                raise Problem(429, f"{self._waiting} requests wait already; try again in a second")
            self._items.append(item)
            if len(self._items) == 1:
                self._changed.notify()

    def close(self) -> None:
        """Take no more; return when all that waits has been worked off."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    def __len__(self) -> int:
        return len(self._items)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._items and not self._closing:
                    self._changed.wait()
                batch = [self._items.popleft() for _ in range(min(len(self._items), self._most))]
            if not batch:
                return
            self._work(batch)
