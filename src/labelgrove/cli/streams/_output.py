"""Byte output: standard output, a file, or a compressed file."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Self

from labelgrove._errors import LabelGroveError, ParameterError
from labelgrove._paths import followed, named
from labelgrove.cli.streams._console import STANDARD_OUTPUT
from labelgrove.data._open import split_compression
from labelgrove.data._sink import open_sink
from labelgrove.data._sniff import files_of, format_from_name


class Output:
    """Destination of results, a context; write errors carry the file name.

    Files ending in ``.gz``, ``.bz2``, ``.xz`` or ``.zst`` are compressed; ``-`` is standard output.
    A file is created or replaced only when the context ends without an error.
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


#: Parameters that name a file to write; all others may name files to read.
_OUTPUTS = ("output", "progressive", "metrics_file", "per_label")
#: Parameters that name examples, whose format `--format` gives.
_DATA = ("data", "inputs")
#: Commands that may replace their MODEL.
_REPLACING = ("learn", "tune")


def check_outputs(command: str, parameters: Mapping[str, Any]) -> None:
    """Refuse an output without a folder, and one that is a file which the command reads or writes.

    One whose name stands for a format that the command does not write is refused as well.

    ``parameters`` are all of the command's, before anything is read.
    """
    outputs = [parameters[name] for name in _OUTPUTS if parameters.get(name) not in (None, "-")]
    kept = {*parameters} - {*_OUTPUTS} - ({"model_file"} if command in _REPLACING else set())
    formats = dict.fromkeys(_DATA, parameters.get("format"))
    for output in outputs:
        if not output:
            raise ParameterError("the name of the output is empty; expected that of a file")
        for folder in (Path(output).parent, followed(output).parent):  # of a link, and its target
            if not folder.is_dir():
                raise FileNotFoundError(errno.ENOENT, "no such folder", os.fspath(folder))
        if command != "convert" and Path(output).is_dir():
            raise ParameterError(f"{output}: this is a folder; expected the name of a file")
        if Path(output).is_file() and any(
            Path(output).samefile(file)
            for name in kept
            for file in _files(parameters[name], formats.get(name))
        ):
            raise ParameterError(f"{output}: this output would overwrite an input file")
        _check_name(command, output)
    if len({os.path.realpath(output) for output in outputs}) < len(outputs):
        raise ParameterError(f"{outputs[0]}: expected another file for each output")


def _check_name(command: str, output: str) -> None:
    if command == "report" and Path(output).suffix.lower() not in ("", ".html", ".htm"):
        raise ParameterError(f"{output}: a report is a page of HTML; expected an .html file")
    if command not in ("predict", "convert"):
        return
    format = format_from_name(split_compression(output)[0])
    if format in (None, "folder", "mapped"):
        return
    if command == "predict" and format != "jsonl":
        raise ParameterError(f"{output}: predictions are JSON lines; expected a .jsonl file")
    if command == "convert":
        raise ParameterError(f"{output}: a folder is written, not a file in the format {format}")


def _files(value: Any, format: str | None) -> Iterator[Path]:
    """Yield the files that a parameter names, also as FILE, NAME=FILE, a pair or a folder."""
    if isinstance(value, list | tuple):
        for one in value:
            yield from _files(one, format)
    elif isinstance(value, str):
        for name in filter(None, (value, value.partition("=")[2])):
            with suppress(LabelGroveError, OSError, ValueError):  # not a name of files
                yield from (file for file in files_of(name, format) if file.is_file())
