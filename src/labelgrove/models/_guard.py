"""Who may use a model while who changes it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from labelgrove._errors import ModelStateError


class Guard:
    """Any number of readers, or one that changes; whoever may not is told so at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readers = 0
        self._changing = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        """While predicting or saving.

        Raises
        ------
        ModelStateError
            If another thread is learning.
        """
        with self._lock:
            if self._changing:
                raise ModelStateError(
                    "the model is learning in another thread; predict with a copy of it "
                    "(copy.deepcopy) and swap the two when it is done"
                )
            self._readers += 1
        try:
            yield
        finally:
            with self._lock:
                self._readers -= 1

    @contextmanager
    def changing(self) -> Iterator[None]:
        """While learning, or removing or renaming labels.

        Raises
        ------
        ModelStateError
            If another thread is learning, predicting or saving.
        """
        with self._lock:
            if self._changing or self._readers:
                raise ModelStateError(
                    "the model is in use by another thread and cannot change now; let a copy of "
                    "it learn (copy.deepcopy) and swap the two when it is done"
                )
            self._changing = True
        try:
            yield
        finally:
            with self._lock:
                self._changing = False
