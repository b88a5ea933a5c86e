"""Snapshots of a project's model: model files, named by what they are."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from labelgrove._errors import LabelGroveError
from labelgrove.service._model import Learner

_log = logging.getLogger("labelgrove.service")

_NAME = re.compile(r"(\d{18})-([0-9a-f]{64})\.lg")
_KEPT = 2


class Snapshot(NamedTuple):
    """A model file and what its name says.

    Attributes
    ----------
    sequence : int
        Of the last event that the model knows.
    fingerprint : str
        SHA-256 of the file: `sha256sum` gives it, too.
    path : Path
    """

    sequence: int
    fingerprint: str
    path: Path


def snapshots(folder: Path) -> list[Snapshot]:
    """The snapshots in a folder, newest first; whether they are whole has not been looked at."""
    found = [
        Snapshot(int(name[1]), name[2], path)
        for path in folder.glob("*.lg")
        if (name := _NAME.fullmatch(path.name))
    ]
    return sorted(found, reverse=True)


def write_snapshot(folder: Path, learner: Learner) -> Snapshot:
    """Write a snapshot, and remove all but the newest ones.

    Raises
    ------
    OSError
        The file cannot be written; the older ones are there as before.
    """
    partial = folder / "writing.lg"
    learner.save(partial)
    fingerprint = file_fingerprint(partial)
    path = folder / f"{learner.sequence:018d}-{fingerprint}.lg"
    partial.replace(path)
    for old in snapshots(folder)[_KEPT:]:
        old.path.unlink(missing_ok=True)
    return Snapshot(learner.sequence, fingerprint, path)


def whole(candidates: list[Snapshot]) -> Iterator[Snapshot]:
    """Those whose bytes are what their names say; a warning for each of the others."""
    for one in candidates:
        try:
            found = file_fingerprint(one.path)
        except OSError as error:
            found = str(error)
        if found == one.fingerprint:
            yield one
        else:
            _log.warning("%s: the snapshot is damaged; an older one takes its place", one.path)


def loaded(candidates: list[Snapshot], load: Callable[[Snapshot], Learner]) -> Learner | None:
    """The model of the first snapshot that can be read."""
    for one in whole(candidates):
        try:
            return load(one)
        except (LabelGroveError, OSError) as error:
            _log.warning("%s: the snapshot cannot be read (%s)", one.path, error)
    return None


def file_fingerprint(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def tidy(folder: Path) -> None:
    """Remove what a process that was killed left half written."""
    for pattern in ("*.partial", ".*.partial", "writing.lg"):
        for path in folder.glob(pattern):
            with suppress(OSError):
                path.unlink()
