"""Texts for other programs, with labels as numbers."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

K = 5
"""Number of labels to predict."""


class Part(NamedTuple):
    """Texts and the numbers of their labels."""

    texts: list[str]
    labels: list[list[int]]


def read(path: str) -> Part:
    """Read a part written by `write`."""
    return Part(*json.loads(Path(path).read_text("utf-8")))


def write(path: Path, texts: Sequence[str], labels: Sequence[Sequence[int]]) -> None:
    """Write a part for the programs."""
    path.write_text(json.dumps([list(texts), [list(row) for row in labels]]), encoding="utf-8")


def hits(part: Part, found: Sequence[Sequence[int]]) -> float:
    """P@1."""
    right = [bool(row) and row[0] in true for row, true in zip(found, part.labels, strict=True)]
    return sum(right) / len(right) if right else math.nan


class Cpu:
    """Processor seconds of all threads in a ``with`` block, accumulated over its uses."""

    seconds = 0.0

    def __enter__(self) -> Cpu:
        self._begin = time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds += time.process_time() - self._begin
