"""Paths that may be symbolic links."""

from __future__ import annotations

import errno
import os
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
