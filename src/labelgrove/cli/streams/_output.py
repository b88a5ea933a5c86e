"""Byte output: standard output, a file, or a compressed file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

from labelgrove._errors import ParameterError
from labelgrove.data._sink import open_sink


class Output:
    """Destination of results, a context; write errors carry the file name.

    Files ending in ``.gz`` or ``.xz`` are compressed; ``-`` is standard output. A file is created
    or replaced only when the context ends without an error.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._resources = ExitStack()

    def __enter__(self) -> Self:
        with self._named():
            self._stream = self._resources.enter_context(open_sink(self._path))
        return self

    def __exit__(self, *exception: Any) -> None:
        with self._named():
            self._resources.__exit__(*exception)

    def write(self, content: bytes) -> None:
        """Write whole lines and flush, so that the reader of a pipe does not wait."""
        with self._named():
            self._stream.write(content)
            self._stream.flush()

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except OSError as failure:
            # The system does not name the file of a failed write.
            if failure.filename is None:
                failure.filename = "standard output" if self._path == "-" else self._path
            raise


def refuse_inputs(output: str, *inputs: str) -> None:
    """Refuse to overwrite an input file."""
    target = Path(output)
    for name in inputs:
        if target.is_file() and Path(name).is_file() and target.samefile(name):
            raise ParameterError(f"{output}: this output would overwrite an input file")
