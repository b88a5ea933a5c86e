"""Unfinished outputs: kept next to where they belong, and moved there once they are complete."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from io import BufferedWriter
from pathlib import Path
from types import TracebackType
from typing import IO, Any, BinaryIO, Self

from labelgrove._locks import hold, locked
from labelgrove._paths import followed


def identity(files: Iterable[Path]) -> list[tuple[str, int, int]]:
    """Return name, size and modification time of files; if these are equal, so are the files."""
    states = [(str(path), path.stat()) for path in files]
    return [(path, status.st_size, status.st_mtime_ns) for path, status in states]


DISK_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
"""Numbers of the errors, often without a file name, of a write to a full disk."""


_PARTIAL = re.compile(r"\.[0-9a-f]{16}\.partial")
_MOMENTS = 60.0  # in seconds
_LONGEST_NAME = 255  # in bytes, on most file systems


def work_folder(target: Path) -> Path:
    """Return the path of the hidden folder next to a file being written."""
    name = f".{target.name}.partial"
    if len(os.fsencode(name)) > _LONGEST_NAME:
        name = f".{hashlib.sha256(os.fsencode(target.name)).hexdigest()}.partial"
    return target.with_name(name)


class Unfinished:
    """A hidden folder next to a file being written: a context for one process at a time.

    The target may be a folder as well. If it is a symbolic link, the hidden folder is next to what
    it leads to. At the end of the context, the folder is kept if a call has begun and left a result
    in it. Entering raises LabelGroveError if another process has entered. If the folder cannot be
    created or the disk is full, the OSError names the target; so does that of a circle of links.
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
        if self._lock is not None and not self._has_results():
            self.remove()
        self._let_go()
        if isinstance(error, OSError) and error.errno in DISK_FULL and self._hides(error.filename):
            raise OSError(error.errno, error.strerror, str(self._target)) from error

    def is_of(self, request: Mapping[str, Any]) -> bool:
        """Return whether the folder was left by a call with the same request.

        The request holds everything that determines the output, as JSON values.
        """
        return self._record.is_file() and self._record.read_bytes() == json.dumps(request).encode()

    def begin(self, request: Mapping[str, Any]) -> None:
        """Empty the folder, but keep the complete results of an earlier call with this request."""
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

    def _has_results(self) -> bool:
        own = {self._record, self.path / "lock"}
        left = (path for path in self.path.rglob("*") if path not in own)
        return self._record.exists() and any(path.is_file() for path in left)

    def _hides(self, name: str | bytes | int | None) -> bool:
        """Whether a file means nothing to the caller: it is in this folder, or has no name."""
        return not isinstance(name, str) or self.path in Path(name).parents

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


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a new file that replaces `path`, or what it leads to, when the block ends without error.

    Raises OSError if the file cannot be written.
    """
    target = followed(path)
    # A long call that is killed while it writes clears its own folder when it resumes.
    work = work_folder(target)
    folder = work if work.is_dir() else target.parent
    _remove_abandoned(folder)
    partial = folder / f".{secrets.token_hex(8)}.partial"
    try:
        with partial.open("xb", buffering=0) as held, BufferedWriter(held) as file:
            # Or the next call takes it for abandoned. A fork closes what is held: it must neither
            # write what is buffered nor wait for a thread that is writing.
            hold(held)
            with suppress(OSError):  # nothing to replace, or no permissions on this file system
                partial.chmod(stat.S_IMODE(target.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
            with suppress(OSError):
                os.utime(partial)
        partial.replace(target)
    except BaseException:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def _remove_abandoned(folder: Path) -> None:
    """Remove unfinished files of processes that were killed.

    A process holds a lock on its file, except in the moments before and after it writes.
    """
    for path in folder.glob(".*.partial"):
        with suppress(OSError):
            if _PARTIAL.fullmatch(path.name) and time.time() - path.stat().st_mtime > _MOMENTS:
                with path.open("r+b") as file:
                    if hold(file):
                        path.unlink()


# Not every file system can flush a folder; then the rename itself must suffice.
_UNSUPPORTED = {errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EPERM, errno.EISDIR}


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable, if the system can."""
    if os.name == "nt":  # Windows cannot open folders; its renames are journalled
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
