"""Byte output: standard output, a file, or a compressed file."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from labelgrove._errors import ParameterError
from labelgrove.cli.streams._console import STANDARD_OUTPUT, named
from labelgrove.data._sink import open_sink


class Output:
    """Destination of results, a context; write errors carry the file name.

    Files ending in ``.gz``, ``.bz2`` or ``.xz`` are compressed; ``-`` is standard output. A file is
    created or replaced only when the context ends without an error.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._name = STANDARD_OUTPUT if path == "-" else path
        self._resources = ExitStack()

    def __enter__(self) -> Self:
        with named(self._name):
            self._stream = self._resources.enter_context(open_sink(self._path))
        return self

    def __exit__(self, *exception: Any) -> None:
        with named(self._name):
            self._resources.__exit__(*exception)

    def write(self, content: bytes) -> None:
        """Write whole lines and flush, so that the reader of a pipe does not wait."""
        with named(self._name):
            self._stream.write(content)
            self._stream.flush()


def refuse_inputs(output: str, *inputs: str) -> None:
    """Refuse to overwrite an input file."""
    target = Path(output)
    for name in inputs:
        if target.is_file() and Path(name).is_file() and target.samefile(name):
            raise ParameterError(f"{output}: this output would overwrite an input file")
