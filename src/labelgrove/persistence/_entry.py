"""Arrays of a model file: their types, places, bytes and checksums."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

AnyArray = npt.NDArray[Any]

_PIECE_BYTES = 8 * 1024 * 1024


@runtime_checkable
class StreamedArray(Protocol):
    """A 1-D array that is generated piece by piece, every time it is iterated over."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the items."""

    @property
    def ndim(self) -> int:
        """1."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of items."""

    @property
    def nbytes(self) -> int:
        """Bytes of all items."""

    def __iter__(self) -> Iterator[AnyArray]:
        """Yield the consecutive pieces."""


Storable = AnyArray | StreamedArray
"""An array that can be written to a model file."""

DTYPES: Final[Mapping[str, np.dtype[Any]]] = {
    "U8": np.dtype("<u1"),
    "U16": np.dtype("<u2"),
    "I32": np.dtype("<i4"),
    "U32": np.dtype("<u4"),
    "I64": np.dtype("<i8"),
    "U64": np.dtype("<u8"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
}
CODES: Final = {(dtype.kind, dtype.itemsize): code for code, dtype in DTYPES.items()}


@dataclass(frozen=True, slots=True)
class Entry:
    """An array's entry in the header; `begin` and `end` count from the start of the data."""

    name: str
    code: str
    shape: tuple[int, ...]
    begin: int
    end: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the items in the file: little-endian."""
        return DTYPES[self.code]


def pieces(array: Storable) -> Iterator[memoryview]:
    """Yield the bytes of an array as stored in the file, some megabytes at a time.

    A C-contiguous, little-endian array is not copied; any other is copied piece by piece.
    """
    if not isinstance(array, np.ndarray):
        for piece in array:
            yield from pieces(piece)
        return
    if not array.size:
        return
    stored = DTYPES[CODES[array.dtype.kind, array.dtype.itemsize]]
    rows = max(1, _PIECE_BYTES * len(array) // array.nbytes)
    for first in range(0, len(array), rows):
        part = np.ascontiguousarray(array[first : first + rows], dtype=stored)
        yield part.reshape(-1).view(np.uint8).data


def checksum(data: bytes) -> str:
    """Return the CRC-32 of bytes as eight hexadecimal digits."""
    return f"{zlib.crc32(data):08x}"


def array_checksum(entry: Entry, content: Iterable[memoryview]) -> str:
    """Return the checksum of an array over its name, type, shape and bytes."""
    label = f"{entry.name} {entry.code} {list(entry.shape)}"
    value = zlib.crc32(label.encode())
    for piece in content:
        value = zlib.crc32(piece, value)
    return f"{value:08x}"
