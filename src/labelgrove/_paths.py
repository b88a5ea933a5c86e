"""Paths as users give them."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def followed(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path that links lead to, whether or not anything is there.

    Path.resolve does the same, but its error about a circle of links depends on Python's version.
    Raises OSError if the links lead in a circle.
    """
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
    return target


@contextmanager
def named(file: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file in the error of a failed read or write, as the system does not."""
    try:
        yield
    except OSError as failure:
        if failure.errno is not None and failure.filename is None:
            failure.filename = os.fspath(file)
        raise


def is_there(path: str) -> bool:
    """Return whether a file exists; a text that is too long to be the name of one names none."""
    with suppress(OSError):
        return Path(path).exists()
    return False
