"""Atomic writing of model files: a crash leaves the old model or the new one, never half of one."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from labelgrove._errors import ModelFileError
from labelgrove._unfinished import replacing
from labelgrove._version import __version__
from labelgrove.persistence._container import FORMAT_VERSION, check_version, encode_header, lay_out
from labelgrove.persistence._entry import Entry, Storable, array_checksum, checksum, pieces
from labelgrove.persistence._read import FAULTS, StoredModel, fault, naming, read_model


def write_model(
    path: str | os.PathLike[str],
    header: Mapping[str, Any],
    arrays: Mapping[str, Storable],
    check: Callable[[StoredModel], object] | None = None,
) -> None:
    """Save a model as one file, replacing an older one atomically.

    The bytes are written to a temporary file in the same folder, which is flushed to disk and then
    renamed to `path`. If anything fails, or the program is interrupted, the old file stays
    unchanged. Equal input gives equal bytes. Arrays are written without a copy. A streamed array
    is generated only once, because the header, which holds the checksums, is written last.

    Parameters
    ----------
    path : str or os.PathLike
        The file. If it is a symbolic link, its target is replaced. The permissions of an old file
        are kept.
    header : mapping
        JSON values, at least "algorithm"; "format" and "library" (the version of LabelGrove) are
        added.
    arrays : mapping of str to ndarray or StreamedArray
        1-D or 2-D arrays of uint8, uint16, int32, uint32, int64, uint64, float32 or float64.
    check : callable, optional
        Called with the new file, as opened by `read_model`, before it replaces the old one; if it
        raises an error, the old file is kept. All arrays have been written by then, so the caller
        may free them. The callable must not keep its argument.

    Raises
    ------
    ModelFileError
        The format cannot hold the header or the arrays, `path` is not a regular file, or `check`
        has failed.
    OSError
        The file cannot be written (no such folder, no permission, no space); the message names
        `path`.

    Examples
    --------
    See `read_model`.
    """
    name = os.fspath(path)
    try:
        with naming(name):
            _write(Path(path), header, arrays, check)
    except OSError as error:
        if error.errno is None:
            raise
        # Name the requested file, not the temporary one.
        raise OSError(error.errno, error.strerror, name) from error


def model_bytes(header: Mapping[str, Any], arrays: Mapping[str, Storable]) -> int:
    """Return the size in bytes of the file that `write_model` would write of these arguments."""
    begin = _head_bytes(_full(header), lay_out(arrays))
    return begin + sum(array.nbytes for array in arrays.values())


def model_fingerprint(header: Mapping[str, Any], arrays: Mapping[str, Storable]) -> str:
    """Return the SHA-256 of the file that `write_model` would write of these arguments.

    It has 64 hexadecimal digits, as printed by ``sha256sum``.
    """
    full, entries = _full(header), lay_out(arrays)
    sums = {entry.name: array_checksum(entry, pieces(arrays[entry.name])) for entry in entries}
    digest = hashlib.sha256(encode_header(full, entries, sums))
    for entry in entries:
        for piece in pieces(arrays[entry.name]):
            digest.update(piece)
    return digest.hexdigest()


def _full(header: Mapping[str, Any]) -> dict[str, Any]:
    full = {"format": FORMAT_VERSION, "library": __version__, **header}
    check_version(full)
    return full


def _head_bytes(full: Mapping[str, Any], entries: list[Entry]) -> int:
    """Return where the arrays begin; this is known because all checksums have the same length."""
    return len(encode_header(full, entries, {entry.name: checksum(b"") for entry in entries}))


def _write(
    path: Path,
    header: Mapping[str, Any],
    arrays: Mapping[str, Storable],
    check: Callable[[StoredModel], object] | None,
) -> None:
    if path.exists() and not path.is_file():
        raise ModelFileError("a model can only replace a regular file")
    full, entries = _full(header), lay_out(arrays)
    begin = _head_bytes(full, entries)  # also refuses a header that the format cannot hold
    with replacing(path) as file:
        file.seek(begin)
        sums = {
            entry.name: array_checksum(entry, _written(file, pieces(arrays[entry.name])))
            for entry in entries
        }
        file.seek(0)
        file.write(encode_header(full, entries, sums))
        if check is not None:
            file.flush()
            try:
                # Skip the checksums, which have just been computed from the same bytes.
                check(read_model(file.name, verify=False))
            except FAULTS as error:
                raise ModelFileError(
                    f"the model was not saved, since it could not be loaded again: {fault(error)}"
                ) from error


def _written(file: BinaryIO, content: Iterable[memoryview]) -> Iterator[memoryview]:
    for piece in content:
        file.write(piece)
        yield piece
