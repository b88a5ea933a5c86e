"""What a long call leaves beside the file to be, so that the same call goes on after a stop."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def identity(files: Iterable[Path]) -> list[tuple[str, int, int]]:
    """What must be as it was for files to be the same: name, size, time of the last change."""
    states = [(str(path), path.stat()) for path in files]
    return [(path, status.st_size, status.st_mtime_ns) for path, status in states]


class Unfinished:
    """A hidden folder beside a file, until that is written.

    Parameters
    ----------
    target : Path
        The file, or the folder, to be written.

    Attributes
    ----------
    path : Path
        The folder.
    """

    def __init__(self, target: Path) -> None:
        self.path = target.with_name(f".{target.name}.partial")
        self._record = self.path / "request.json"

    def is_of(self, request: Mapping[str, Any]) -> bool:
        """Whether a call has left it that was asked for the same.

        Parameters
        ----------
        request : mapping
            Everything that decides what is to be written, as JSON values.
        """
        return self._record.is_file() and self._record.read_bytes() == json.dumps(request).encode()

    def begin(self, request: Mapping[str, Any]) -> None:
        """Make the folder; what an equal call has left is kept, if it is whole.

        Parameters
        ----------
        request : mapping
            As for `is_of`.
        """
        if not self.is_of(request):
            shutil.rmtree(self.path, ignore_errors=True)
            self.path.mkdir()
            self._record.write_text(json.dumps(request), encoding="utf-8")
        for path in self.path.glob(".*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def remove(self) -> None:
        """Remove the folder, since the file is written, as far as nobody else is at it."""
        shutil.rmtree(self.path, ignore_errors=True)
