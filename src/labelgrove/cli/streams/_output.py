"""Byte output: standard output, a file, or a compressed file."""

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
    """Destination of results; write errors carry the file name.

    Files ending in ``.gz`` or ``.xz`` are compressed; ``-`` is standard output.
    """

    def __init__(self, path: str) -> None:
        self._name = "standard output" if path == "-" else path
        self._kept_open = path == "-"
        self._stream: IO[bytes] = sys.stdout.buffer if path == "-" else _open_file(path)

    def write(self, content: bytes) -> None:
        """Write whole lines and flush, so that the reader of a pipe does not wait."""
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
            # The system does not name the file of a failed write.
            if failure.filename is None:
                failure.filename = self._name
            raise


def refuse_inputs(output: str, *inputs: str) -> None:
    """Refuse to overwrite an input file."""
    target = Path(output)
    for name in inputs:
        if target.is_file() and Path(name).is_file() and target.samefile(name):
            raise ParameterError(f"{output}: this output would overwrite an input file")


def _open_file(path: str) -> IO[bytes]:
    if path.endswith(".gz"):
        return cast(IO[bytes], gzip.open(path, "wb"))
    if path.endswith(".xz"):
        return lzma.open(path, "wb")
    return Path(path).open("wb")
