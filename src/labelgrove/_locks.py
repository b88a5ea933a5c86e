"""One process at a time, wherever a folder can have only one."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import IO
from weakref import WeakSet

from labelgrove._errors import LabelGroveError

_held: WeakSet[IO[str]] = WeakSet()


def locked(path: Path, refusal: str) -> IO[str]:
    """Keep other processes out for as long as the file is open; a process that ends has closed it.

    Parameters
    ----------
    path : Path
        The file to lock, made if it is not there.
    refusal : str
        What to say where another process holds it.

    Raises
    ------
    LabelGroveError
        If one does. Windows has no such locks, nor have some file systems of networks: there nobody
        is kept out.
    """
    file = path.open("a", encoding="ascii")
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            file.close()
            raise LabelGroveError(refusal) from None
        except OSError:
            pass  # the file system has no locks
    _held.add(file)
    return file


def _let_go() -> None:
    for file in list(_held):
        file.close()


if sys.platform != "win32":
    # A worker may outlive the process that it was forked from, and must not hold its locks.
    os.register_at_fork(after_in_child=_let_go)
