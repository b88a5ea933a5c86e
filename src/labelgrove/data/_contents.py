"""What the module of a format gives the reader: the file's declarations, and its rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from labelgrove.data._chunks import Piece


@dataclass(frozen=True, eq=False)
class Contents:
    """An opened file: its declarations are read, its rows come as the pieces are asked for."""

    pieces: Iterator[Piece]
    is_text: bool
    labels_are_int: bool
    declared_rows: int | None = None
    declared_features: int | None = None
    declared_labels: int | None = None
