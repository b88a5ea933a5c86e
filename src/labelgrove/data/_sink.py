"""Writing of bytes, compressed according to the name and moved into place once complete."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO, cast

from labelgrove._unfinished import DISK_FULL, Unfinished, replacing
from labelgrove.data._open import split_compression
from labelgrove.data._zstd import zstd

# What a path stands for that is open already, perhaps a file that is appended to.
_DESCRIPTOR = re.compile(r"/dev/(?:fd/(\d+)|stderr)")


@contextmanager
def open_sink(path: str) -> Iterator[BinaryIO]:
    """Open a stream to write to; ``-`` and ``/dev/stdout`` are standard output.

    A file is created or replaced only when the block ends without error; otherwise nothing is
    left behind, or after a kill only a hidden folder, which the next call for the same file
    removes. Anything that is not a regular file (a pipe, a device) is written to directly. If a
    disk is full, the error names the file.
    """
    if path in {"-", "/dev/stdout"}:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        with ExitStack() as resources:
            raw: BinaryIO
            if found := _DESCRIPTOR.fullmatch(path):
                raw = resources.enter_context(os.fdopen(os.dup(int(found[1] or 2)), "wb"))
            elif Path(path).exists() and not Path(path).is_file():
                raw = resources.enter_context(Path(path).open("wb"))
            else:
                resources.enter_context(Unfinished(Path(path)))
                raw = resources.enter_context(replacing(Path(path)))
            yield resources.enter_context(_compressed(raw, path))
    except OSError as failure:
        if failure.errno in DISK_FULL and failure.filename is None:
            failure.filename = path
        raise


def _compressed(raw: BinaryIO, path: str) -> AbstractContextManager[BinaryIO]:
    """Return a context that compresses what is written into it, and leaves `raw` open."""
    kind = split_compression(path)[1]
    stream: Any = nullcontext(raw)
    if kind == "gzip":
        # No name and no time, so that the same examples give the same bytes.
        stream = gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0)
    elif kind == "bzip2":
        stream = bz2.BZ2File(raw, "wb")
    elif kind == "xz":
        stream = lzma.LZMAFile(raw, "wb")  # noqa: SIM115 - the caller enters it
    elif kind == "zstd":
        checked: dict[int, int] = {zstd.CompressionParameter.checksum_flag: 1}
        stream = zstd.ZstdFile(raw, "wb", options=checked)
    return cast("AbstractContextManager[BinaryIO]", stream)
