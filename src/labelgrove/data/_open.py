"""Reading of bytes, plain or compressed, from a file or standard input, block by block."""

from __future__ import annotations

import bz2
import errno
import lzma
import os
import re
import select
import stat
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from labelgrove._errors import FileFormatError
from labelgrove._paths import named
from labelgrove.data._limits import BLOCK_BYTES, COMPRESSED_BYTES, XZ_MEMORY_BYTES
from labelgrove.data._zstd import zstd

STDIN = "<stdin>"
_SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
# No UTF-8 text begins with any of these bytes, except on purpose with those of bzip2.
_MAGIC = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"} | {
    b"BZh%d1AY&SY" % level: "bzip2" for level in range(1, 10)
}
_UNREADABLE = {
    b"PK\x03\x04": "a zip archive, such as an Excel workbook",
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
_UTF16 = re.compile(rb"(?:[^\0]\0){4}|(?:\0[^\0]){4}")  # without a byte order mark
_MODEL = b'{"__metadata__":'  # after eight bytes


class DamagedStreamError(Exception):
    """A stream is truncated, corrupt or in an unknown encoding; the reader adds the place."""


class Meter:
    """Measures how much of a reader's files has been read, in bytes as stored."""

    def __init__(self) -> None:
        self._total = 0
        self._read = 0
        self._pipe: BinaryIO | None = None
        self._expected: list[tuple[BinaryIO, int]] = []

    def watch(self, stream: BinaryIO) -> None:
        """Let `is_dry` ask this stream."""
        self._pipe = stream

    def is_dry(self) -> bool:
        """Whether the next read of a pipe would wait; never so for a file."""
        if self._pipe is None:
            return False
        try:
            return not select.select([self._pipe], [], [], 0)[0]
        except (OSError, ValueError, TypeError):  # not a pipe, or none that can be asked
            return False

    def expect(self, stream: BinaryIO) -> None:
        """Add the size of a file to the total; a pipe has none."""
        status = os.fstat(stream.fileno())
        if stat.S_ISREG(status.st_mode):
            self._total += status.st_size
            self._expected.append((stream, status.st_size))

    def has_changed(self) -> bool:
        """Whether a file, still open, has another size than when it was opened."""
        # Not the modification time: some network file systems set it late.
        return any(os.fstat(file.fileno()).st_size != size for file, size in self._expected)

    def count(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Pass pieces on, counting each one after it has been processed."""
        for piece in pieces:
            yield piece
            self._read += len(piece)

    @property
    def share(self) -> float | None:
        """The share read, from 0 to 1; None if the size is unknown."""
        return min(1.0, self._read / self._total) if self._total else None


def split_compression(path: str) -> tuple[str, str | None]:
    """Return the path without a suffix such as .gz, and the compression that this denotes."""
    suffix = Path(path).suffix
    kind = _SUFFIXES.get(suffix.lower())
    return (path.removesuffix(suffix), kind) if kind else (path, None)


def open_pieces(path: str, resources: ExitStack, meter: Meter | None = None) -> Iterator[bytes]:
    """Read the decompressed content of `path` (``-`` is standard input) in pieces of bounded size.

    The suffix determines the compression; without one the first bytes do. Closing `resources`
    closes the file. `meter` records the bytes read. Iterating raises DamagedStreamError if the
    content is corrupt, ends too early or is neither plain text nor compressed in a known way.
    """
    stream = _binary(path, resources)
    meter = Meter() if meter is None else meter
    if path != "-":
        meter.expect(stream)
    if meter.share is None:
        meter.watch(stream)
    raw = _raw_pieces(stream, STDIN if path == "-" else path)
    head = b""
    for piece in raw:
        head += piece
        if not any(magic.startswith(head) for magic in (*_MAGIC, *_UNREADABLE)):
            break  # more bytes cannot change what these are, and a pipe may deliver none for long
    kind = split_compression(path)[1] if path != "-" else None
    if kind is None:
        kind = _named_by(_MAGIC, head)
    content = chain([head] if head else [], raw)
    if kind is not None:
        return _decompressed(meter.count(_cut(content)), _DECODERS[kind], kind)
    if _is_model(head):
        return raising(DamagedStreamError("the content is a model; expected examples"))
    if found := _named_by(_UNREADABLE, head) or (_UTF16.match(head) and "UTF-16"):
        return raising(
            DamagedStreamError(
                f"the content is {found}; expected UTF-8, plain or as .gz, .bz2, .xz or .zst "
                "(a spreadsheet saves it as 'CSV UTF-8')"
            )
        )
    return meter.count(content)


def begins_as_model(path: str) -> bool:
    """Return whether a file begins as a model does, and can be opened at all."""
    with suppress(OSError, ValueError):
        if Path(path).is_file():
            with Path(path).open("rb") as file:
                return _is_model(file.read(8 + len(_MODEL)))
    return False


def refuse_pipe(path: str) -> None:
    """Raise FileFormatError for a pipe, in formats that are read from their end."""
    if Path(path).is_fifo():  # opening it could wait for ever
        raise FileFormatError(path, None, "is a pipe; expected a file, as its end is read first")


def _is_model(head: bytes) -> bool:
    return head.startswith(_MODEL, 8)


def _named_by(magic: Mapping[bytes, str], head: bytes) -> str | None:
    return next((name for first, name in magic.items() if head.startswith(first)), None)


def raising(error: DamagedStreamError) -> Iterator[bytes]:
    """Return an iterator that raises the error once it is read."""
    yield from ()
    raise error


def _binary(path: str, resources: ExitStack) -> BinaryIO:
    if path != "-":
        return resources.enter_context(Path(path).open("rb"))
    if sys.stdin is None:  # the parent process has closed it
        raise OSError(errno.EBADF, "standard input is closed", STDIN)
    return sys.stdin.buffer


def _raw_pieces(stream: BinaryIO, name: str) -> Iterator[bytes]:
    # read1 returns what is available in a pipe; read would wait for a whole block.
    read: Callable[[int], bytes] = getattr(stream, "read1", stream.read)
    with named(name):
        while piece := read(BLOCK_BYTES):
            yield piece


def _cut(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Cut pieces into small ones, since decoders may expand them a lot."""
    for piece in pieces:
        for start in range(0, len(piece), COMPRESSED_BYTES):
            yield piece[start : start + COMPRESSED_BYTES]


class _Gzip:
    """Give zlib's decompressor the methods of the others."""

    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(wbits=31)  # 31: with gzip header and checksum

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._decoder.decompress(self._decoder.unconsumed_tail + data, max_length)

    @property
    def needs_input(self) -> bool:
        return not self._decoder.unconsumed_tail

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def unused_data(self) -> bytes:
        return self._decoder.unused_data


# Each decompresses one gzip member, bzip2 or xz stream, or zstd frame.
_Decoder = _Gzip | bz2.BZ2Decompressor | lzma.LZMADecompressor | zstd.ZstdDecompressor

_DECODERS: dict[str, Callable[[], _Decoder]] = {
    "gzip": _Gzip,
    "bzip2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY_BYTES),
    "zstd": zstd.ZstdDecompressor,  # takes 128 MiB at most
}


def _decompressed(
    raw: Iterator[bytes], new_decoder: Callable[[], _Decoder], kind: str
) -> Iterator[bytes]:
    """Yield the content of one or more concatenated members, ignoring zero bytes between them.

    The standard library's file objects are not used: the one for xz treats any garbage after the
    first stream as the end of the file, so damage there would go unnoticed.
    """
    data = next(raw, b"")
    while data:
        decoder = new_decoder()
        while not decoder.eof:
            try:
                content = decoder.decompress(data, BLOCK_BYTES)
            except (zlib.error, lzma.LZMAError, zstd.ZstdError, OSError) as error:  # bzip2: OSError
                raise DamagedStreamError(
                    f"the {kind} stream cannot be decompressed ({error})"
                ) from None
            if content:
                yield content
            data = next(raw, b"") if decoder.needs_input and not decoder.eof else b""
            if not (content or data or decoder.eof) and decoder.needs_input:
                raise DamagedStreamError(f"the file is truncated: its {kind} stream has no end")
        data = decoder.unused_data.lstrip(b"\0")
        while not data and (piece := next(raw, b"")):
            data = piece.lstrip(b"\0")
