"""Snapshots of a project's model: model files named by sequence number and fingerprint.

A name ends with a further number, `Snapshot.known`, if the model was learnt again from a log that
already had later events.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from labelgrove._errors import LabelGroveError
from labelgrove.service._model import Learner

_log = logging.getLogger("labelgrove.service")

_NAME = re.compile(r"(\d{18})-([0-9a-f]{64})(?:-(\d{18}))?\.lg")
_KEPT = 2


class Snapshot(NamedTuple):
    """A model file, with the sequence number and fingerprint from its name.

    Attributes
    ----------
    sequence : int
        Last event that the model has applied.
    fingerprint : str
        SHA-256 of the file, as `sha256sum` computes it.
    path : Path
    known : int
        Last event of the log that the model was learnt from: no example forgotten up to there is in
        the model, though `sequence` may be lower.
    """

    sequence: int
    fingerprint: str
    path: Path
    known: int


def snapshots(folder: Path) -> list[Snapshot]:
    """List the snapshots in a folder, newest first, without checking that they are intact."""
    found = [
        Snapshot(int(name[1]), name[2], path, int(name[3] or name[1]))
        for path in folder.glob("*.lg")
        if (name := _NAME.fullmatch(path.name))
    ]
    return sorted(found, reverse=True)


def spaced(last: int) -> list[int]:
    """Return a few numbers up to `last`, in order, ever fewer the farther back.

    They are `last`, and in each distance from 2^i to 2^(i+1) the multiple of 2^i. The numbers for
    ``last + 1`` are among these and itself, so what is kept at some of them can be thinned as
    `last` grows.
    """
    steps = [1 << i for i in range(last.bit_length())]
    found = {last, *((last - step) // step * step for step in steps)}
    return sorted(found - {0})


def write_snapshot(folder: Path, learner: Learner, known: int, lasting: Collection[int]) -> str:
    """Write a snapshot, and remove all but the newest ones and those at the numbers in `lasting`.

    Returns its fingerprint. Raises OSError if the file cannot be written; older ones remain.
    """
    partial = folder / "writing.lg"
    learner.model.save(partial)  # other threads may predict meanwhile
    fingerprint = file_fingerprint(partial)
    ending = f"-{known:018d}" if known > learner.sequence else ""
    path = folder / f"{learner.sequence:018d}-{fingerprint}{ending}.lg"
    partial.replace(path)
    for old in snapshots(folder)[_KEPT:]:
        if old.sequence not in lasting:
            old.path.unlink(missing_ok=True)
    return fingerprint


def loaded(candidates: list[Snapshot], load: Callable[[Snapshot], Learner]) -> Learner | None:
    """Load the first snapshot that is intact, and remove damaged ones: they are written again."""
    for one in candidates:
        try:
            if file_fingerprint(one.path) == one.fingerprint:
                return load(one)
            _log.warning("%s: the snapshot is damaged; removing it", one.path)
            one.path.unlink()
        except (LabelGroveError, OSError) as error:
            _log.warning("%s: the snapshot cannot be read (%s)", one.path, error)
    return None


def file_fingerprint(path: Path) -> str:
    """Compute the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def tidy(folder: Path) -> None:
    """Remove half-written files of a killed process."""
    for pattern in ("*.partial", "writing.lg"):
        for path in folder.glob(pattern):
            with suppress(OSError):
                path.unlink()
