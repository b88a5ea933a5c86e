"""File locks that admit one process at a time."""

from __future__ import annotations

import os
import sys
from io import IOBase
from pathlib import Path
from typing import IO
from weakref import WeakSet

from labelgrove._errors import LabelGroveError

_held: WeakSet[IOBase] = WeakSet()


def locked(path: Path, refusal: str) -> IO[str]:
    """Lock out other processes while the returned file is open; the end of a process closes it.

    The file is created if it does not exist. Raises LabelGroveError with the message `refusal` if
    another process holds the lock. Windows and some network file systems have no such locks; other
    processes are not locked out there.
    """
    file = path.open("a", encoding="ascii")
    if hold(file) is False:
        file.close()
        raise LabelGroveError(refusal)
    return file


def hold(file: IOBase) -> bool | None:
    """Lock an open file until it is closed, and return whether that succeeded.

    False if another process holds the lock, None if the system has no such locks.
    """
    held = None
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = True
        except (BlockingIOError, PermissionError):
            return False
        except OSError:
            pass  # the file system has no locks
    _held.add(file)
    return held


def _let_go() -> None:
    for file in list(_held):
        file.close()


if sys.platform != "win32":
    # A worker may outlive its parent process, and must not hold the parent's locks.
    os.register_at_fork(after_in_child=_let_go)
