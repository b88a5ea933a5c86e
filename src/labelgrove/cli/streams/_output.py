"""Streams of bytes out: standard output, a file, a compressed file."""

from __future__ import annotations

import gzip
import lzma
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from labelgrove._errors import ParameterError


class Output:
    """Where results go; an error in writing bears the name of the file.

    A file ending in ``.gz`` or ``.xz`` is compressed; ``-`` is standard output.
    """

    def __init__(self, path: str) -> None:
        self._name = "standard output" if path == "-" else path
        self._kept_open = path == "-"
        self._stream: IO[bytes] = sys.stdout.buffer if path == "-" else _open_file(path)

    def write(self, content: bytes) -> None:
        """Write whole lines and flush, so that a reader of a pipe need not wait."""
        with self._named():
            self._stream.write(content)
            self._stream.flush()

    def close(self) -> None:
        """Close a file; leave standard output open."""
        if not self._kept_open:
            with self._named():
                self._stream.close()

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except OSError as failure:
            # The system does not say which file a failed write was for.
            if failure.filename is None:
                failure.filename = self._name
            raise


def refuse_inputs(output: str, *inputs: str) -> None:
    """Refuse to write over a file that is to be read."""
    target = Path(output)
    for name in inputs:
        if target.is_file() and Path(name).is_file() and target.samefile(name):
            raise ParameterError(f"{output}: this file is read here, and would be overwritten")


def _open_file(path: str) -> IO[bytes]:
    if path.endswith(".gz"):
        return cast(IO[bytes], gzip.open(path, "wb"))
    if path.endswith(".xz"):
        return lzma.open(path, "wb")
    return Path(path).open("wb")
