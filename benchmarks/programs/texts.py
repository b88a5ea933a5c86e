"""Texts for other programs: those of a data set, with labels by their numbers."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

K = 5
"""How many labels are asked for."""


class Part(NamedTuple):
    """Texts and the numbers of their labels."""

    texts: list[str]
    labels: list[list[int]]


def read(path: str) -> Part:
    """Read what `write` has written."""
    return Part(*json.loads(Path(path).read_text("utf-8")))


def write(path: Path, texts: Sequence[str], labels: Sequence[Sequence[int]]) -> None:
    """Write a part for the programs."""
    path.write_text(json.dumps([list(texts), [list(row) for row in labels]]), encoding="utf-8")


def hits(part: Part, found: Sequence[Sequence[int]]) -> float:
    """P@1."""
    right = [bool(row) and row[0] in true for row, true in zip(found, part.labels, strict=True)]
    return sum(right) / len(right) if right else math.nan


class Cpu:
    """Seconds of all processors in a ``with`` block."""

    seconds = 0.0

    def __enter__(self) -> Cpu:
        self._begin = time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds += time.process_time() - self._begin
