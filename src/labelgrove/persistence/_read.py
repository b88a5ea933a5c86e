"""Reading of untrusted model files: nothing in them is used unchecked."""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from labelgrove._errors import ModelFileError, brief
from labelgrove._names import on_one_line
from labelgrove._paths import named
from labelgrove.persistence._container import MAX_HEADER_BYTES, decode_header
from labelgrove.persistence._entry import AnyArray, Entry, array_checksum, pieces

_LONGEST = 500

FAULTS = (ValueError, LookupError, TypeError, ArithmeticError)
"""Errors that may be raised when a model is built from the arrays of a damaged file."""


def fault(error: Exception) -> str:
    """Describe one of `FAULTS` in a sentence, truncated if its values are long."""
    if isinstance(error, KeyError):
        return f"it lacks {brief(error.args[0])}"
    told = str(error)
    if not isinstance(error, ValueError):
        told = f"a value or size is wrong ({told})"
    return on_one_line(told, _LONGEST)


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Prefix errors about a file's content with its name, and name it in those of the system."""
    try:
        with named(path):
            yield
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error


class StoredArrays(Mapping[str, AnyArray]):
    """The arrays of a model file by name: read-only, in place, verified on first access."""

    def __init__(
        self,
        path: str,
        entries: list[Entry],
        data: memoryview,
        sums: Mapping[str, str],
        *,
        mapping: mmap.mmap | None,
        verify: bool,
    ) -> None:
        self._mapping = mapping
        self._path = path
        self._entries = {entry.name: entry for entry in entries}
        self._data = data
        self._sums = sums
        self._unchecked = set(self._entries) if verify else set()

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __getitem__(self, name: str) -> AnyArray:
        entry = self._entries[name]
        part = self._data[entry.begin : entry.end]
        array = np.frombuffer(part, dtype=entry.dtype).reshape(entry.shape)
        if name in self._unchecked:
            if array_checksum(entry, self._passing(array)) != self._sums[name]:
                raise ModelFileError(
                    f"{self._path}: array {brief(name)} does not match its checksum: the file is "
                    "damaged"
                )
            self._unchecked.discard(name)
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
            array.flags.writeable = False
        return array

    def _passing(self, array: AnyArray) -> Iterator[memoryview]:
        for piece in pieces(array):
            yield piece
            self.let_go()

    def let_go(self) -> None:
        """Release the memory of mapped pages, if the system supports it."""
        if self._mapping is not None and hasattr(mmap, "MADV_DONTNEED"):
            self._mapping.madvise(mmap.MADV_DONTNEED)


@dataclass(frozen=True)
class StoredModel:
    """An open model file whose header and layout have been checked.

    Attributes
    ----------
    path : str
        The file as the caller named it.
    header : dict
        The model's description of itself: "format", "library", "algorithm" and more.
    arrays : mapping of str to ndarray
        Read-only arrays. They are mapped from the file and read on use; an array's checksum is
        verified on first access. They stay valid if the file is replaced or this object is
        deleted.
    """

    path: str
    header: dict[str, Any]
    arrays: Mapping[str, AnyArray]

    def take(
        self, name: str, dtype: npt.DTypeLike, shape: tuple[int | None, ...] = (None,)
    ) -> AnyArray:
        """Return an array, or raise an error if it is not as expected.

        Parameters
        ----------
        name : str
            The array's name.
        dtype : dtype
            The expected type of its items.
        shape : tuple of int or None
            The expected sizes; None stands for any size.

        Returns
        -------
        ndarray
            Read-only.

        Raises
        ------
        ModelFileError
            There is no such array, or it has another type or shape, or it is damaged.
        """
        with self.checking():
            if name not in self.arrays:
                raise ModelFileError(f"the file holds no array {name!r}")
            array = self.arrays[name]
            if array.dtype != np.dtype(dtype):
                raise ModelFileError(
                    f"array {name!r} has dtype {array.dtype}: expected {np.dtype(dtype)}"
                )
            agrees = [want in {None, size} for size, want in zip(array.shape, shape, strict=False)]
            if array.ndim != len(shape) or not all(agrees):
                wanted = " x ".join("any" if size is None else str(size) for size in shape)
                raise ModelFileError(
                    f"array {name!r} has shape {array.shape}: expected {len(shape)}-D, {wanted}"
                )
            return array

    @contextmanager
    def checking(self) -> Iterator[None]:
        """Turn errors about the file's content into a ModelFileError that names the file.

        Use it around the code that builds a model from the arrays: any error there is due to the
        file, whichever part of the library detects it.

        Raises
        ------
        ModelFileError
            In place of any `ValueError`, `LookupError`, `TypeError` or `ArithmeticError`.
        """
        try:
            yield
        except FAULTS as error:
            if isinstance(error, ModelFileError) and str(error).startswith(f"{self.path}: "):
                raise
            raise ModelFileError(f"{self.path}: {fault(error)}") from error


def read_model(
    path: str | os.PathLike[str], *, mapped: bool = True, verify: bool = True
) -> StoredModel:
    """Open a model file; safe even if its source is not trusted.

    Nothing in the file is executed, every size is checked against the file's length before use,
    and no more memory is allocated than the header needs (at most 4 MiB of text).

    Parameters
    ----------
    path : str or os.PathLike
        The file.
    mapped : bool
        True maps the file into memory: arrays are read on use, and processes share them. While the
        arrays are in use, the file may be replaced (as `write_model` does) but must not be
        truncated or overwritten in place; Windows refuses to replace it. False reads the whole
        file into memory and closes it.
    verify : bool
        Whether to verify an array's checksum on first access, which reads the array once. The
        header's checksum is always verified.

    Returns
    -------
    StoredModel
        Header and arrays.

    Raises
    ------
    ModelFileError
        The file is not a model, has an unknown version, is truncated or damaged; the message names
        the file and the fault.
    OSError
        The file cannot be opened or read.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from labelgrove.persistence import read_model, write_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.lg"
    ...     write_model(path, {"algorithm": "demo", "alpha": 0.5}, {"ids": np.arange(3)})
    ...     stored = read_model(path)
    >>> stored.header["alpha"], stored.take("ids", np.int64)
    (0.5, array([0, 1, 2]))
    """
    place = Path(path)
    name = os.fspath(path)
    with naming(name):
        if not stat.S_ISREG(place.stat().st_mode):  # opening a pipe would block forever
            raise ModelFileError("this is not a regular file")
        with place.open("rb") as file:
            return _read(file, name, mapped=mapped, verify=verify)


def _read(file: BinaryIO, path: str, *, mapped: bool, verify: bool) -> StoredModel:
    size = os.fstat(file.fileno()).st_size
    if size < 8:
        raise ModelFileError(f"a model file has at least 8 bytes, this one has {size}")
    length = int.from_bytes(file.read(8), "little")
    if length > MAX_HEADER_BYTES:
        raise ModelFileError("this is not a model of LabelGrove")
    if length > size - 8:
        raise ModelFileError(
            "this is not a model of LabelGrove, or is truncated (its first 8 bytes declare a "
            f"header of {length} bytes, but {size - 8} follow)"
        )
    start = 8 + length
    header, entries, sums = decode_header(file.read(length), size - start)
    mapping = None
    if mapped:
        try:
            mapping = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
        except ValueError as error:
            raise ModelFileError(f"the file cannot be mapped: {error}") from error
        content = memoryview(mapping)
    else:
        file.seek(0)
        content = np.fromfile(file, np.uint8, size).data.toreadonly()
    if len(content) != size:
        raise ModelFileError("the file became shorter while it was read")
    arrays = StoredArrays(path, entries, content[start:], sums, mapping=mapping, verify=verify)
    return StoredModel(path, header, arrays)
