"""A thread that drains a queue in batches, for group commit and batched predictions."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from labelgrove.service._problems import Problem

T = TypeVar("T")


class Batches(Generic[T]):
    """Process items in a separate thread, in batches of those that have arrived meanwhile.

    While one batch is processed, the next one gathers. Under load, more items share the cost of a
    batch (a flush to the disk, a call into the model); without load, no item waits for others.

    Parameters
    ----------
    work : callable
        Called with a list of items. It must answer each of them, and must not raise.
    name : str
        Name of the thread.
    most : int
        Largest batch.
    waiting : int
        Capacity of the queue; further items are refused.
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
        """Queue an item for the next batch.

        Raises Problem: 429 if the queue is full; 503 if it is closed.
        """
        with self._changed:
            if self._closing:
                raise Problem(503, "the project is being closed; try again in a moment")
            if len(self._items) >= self._waiting:
                raise Problem(
                    429, f"{self._waiting} requests are already waiting; try again in a second"
                )
            self._items.append(item)
            if len(self._items) == 1:
                self._changed.notify()

    def close(self) -> None:
        """Refuse further items; return once the queue is drained."""
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
