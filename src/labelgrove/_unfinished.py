"""Intermediate results of a long call, kept next to its output so that the call can resume."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from labelgrove._locks import locked
from labelgrove._paths import followed


def identity(files: Iterable[Path]) -> list[tuple[str, int, int]]:
    """Return name, size and modification time of files; if these are equal, so are the files."""
    states = [(str(path), path.stat()) for path in files]
    return [(path, status.st_size, status.st_mtime_ns) for path, status in states]


DISK_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
"""Numbers of the errors, often without a file name, of a write to a full disk."""


_LONGEST_NAME = 255  # in bytes, on most file systems


def work_folder(target: Path) -> Path:
    """Return the path of the hidden folder next to a file being written."""
    name = f".{target.name}.partial"
    if len(os.fsencode(name)) > _LONGEST_NAME:
        name = f".{hashlib.sha256(os.fsencode(target.name)).hexdigest()}.partial"
    return target.with_name(name)


class Unfinished:
    """A hidden folder next to a file being written: a context for one process at a time.

    At the end of the context, the folder is kept if a call has begun and not removed it. If the
    folder cannot be created or the disk is full, the error names the target.

    Parameters
    ----------
    target : Path
        The file, or the folder, to be written. If it is a symbolic link, the hidden folder is next
        to what it leads to.

    Attributes
    ----------
    path : Path
        The folder.

    Raises
    ------
    LabelGroveError
        On entering the context, if another process has entered it.
    OSError
        If the target is part of a circle of links; on entering, if the folder cannot be created.
    """

    def __init__(self, target: Path) -> None:
        self.path = work_folder(followed(target))
        self._target = target
        self._refusal = f"{target}: another process is writing it; expected only one"
        self._record = self.path / "request.json"
        self._lock: IO[str] | None = None

    def __enter__(self) -> Self:
        while self._lock is None:
            try:
                self.path.mkdir(exist_ok=True)
            except FileExistsError:  # a file has the folder's name
                raise
            except OSError as error:
                raise OSError(error.errno, error.strerror, str(self._target)) from error
            # Another process may just have removed the folder: then we have locked a deleted file.
            with suppress(FileNotFoundError), ExitStack() as unless_kept:
                lock = unless_kept.enter_context(locked(self.path / "lock", self._refusal))
                if os.path.samestat(os.fstat(lock.fileno()), (self.path / "lock").stat()):
                    unless_kept.pop_all()
                    self._lock = lock
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._lock is not None and not self._record.exists():
            self.remove()
        self._let_go()
        if isinstance(error, OSError) and error.errno in DISK_FULL and error.filename is None:
            raise OSError(error.errno, error.strerror, str(self._target)) from error

    def is_of(self, request: Mapping[str, Any]) -> bool:
        """Return whether the folder was left by a call with the same request.

        Parameters
        ----------
        request : mapping
            Everything that determines the output, as JSON values.
        """
        return self._record.is_file() and self._record.read_bytes() == json.dumps(request).encode()

    def begin(self, request: Mapping[str, Any]) -> None:
        """Empty the folder, but keep the complete results of an earlier call with this request.

        Parameters
        ----------
        request : mapping
            As for `is_of`.
        """
        if self.is_of(request):
            self._clear("**/.*")
        else:
            self._empty()
            self._record.write_text(json.dumps(request), encoding="utf-8")

    def remove(self) -> None:
        """Remove the folder once the file is written, and release the lock."""
        with suppress(OSError):
            self._empty()
            if os.name == "nt":  # Windows cannot delete an open file
                self._let_go()
            (self.path / "lock").unlink(missing_ok=True)
            self._let_go()  # NFS keeps a deleted file in its folder while it is open
            self.path.rmdir()  # fails if another process has entered it by now
        self._let_go()

    def _empty(self) -> None:
        self._record.unlink(missing_ok=True)  # first: what is half removed is no result
        self._clear("*")

    def _clear(self, pattern: str) -> None:
        for path in sorted(self.path.glob(pattern)):
            if path.name != "lock":
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)

    def _let_go(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None
