"""Arrays in .npz files, read with every size checked against the file before use.

NumPy's own reader allocates the size that an array's header claims before it knows whether the
file holds as much; this one checks first. Nothing is ever unpickled: only numbers are accepted.
"""

from __future__ import annotations

import ast
import errno
import re
import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from labelgrove._errors import FileFormatError
from labelgrove.data._open import refuse_pipe

_MAGIC = b"\x93NUMPY"
_MAX_HEADER = 10_000
_DTYPE = re.compile(r"[<>|=](?:[iu][1248]|f[248]|b1|[SU][0-9]{1,2})")
_MAX_DEFLATE_RATIO = 1032  # the maximum compression ratio of deflate
_MAX_SHAPE = 2**62

#: Errors that `zipfile` is known to raise for a damaged archive, in addition to the system's error
#: for a seek to an invalid offset (EINVAL).
_ARCHIVE_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    KeyError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OverflowError,
)


@dataclass(frozen=True, eq=False)
class StoredCsr:
    """A CSR matrix as stored: indptr has been checked, ids and values have not."""

    path: str
    n_columns: int
    indptr: NDArray[np.int64]
    indices: NDArray[np.generic]
    data: NDArray[np.generic]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    def part(
        self, start: int, stop: int
    ) -> tuple[NDArray[np.int64], NDArray[np.generic], NDArray[np.generic]]:
        """Return indptr, ids and values of rows `start` to `stop`."""
        low, high = self.indptr[start], self.indptr[stop]
        return self.indptr[start : stop + 1] - low, self.indices[low:high], self.data[low:high]


class _ArrayError(Exception):
    """A defect of the archive; the caller adds the path."""


def load_csr(path: str) -> StoredCsr:
    """Load a CSR matrix that `scipy.sparse.save_npz` wrote.

    Raises FileFormatError if the archive is damaged or holds anything but such a matrix of numbers.
    """
    refuse_pipe(path)
    with Path(path).open("rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                return _csr(path, archive)
        except _ArrayError as error:
            raise FileFormatError(path, None, str(error)) from None
        except (*_ARCHIVE_ERRORS, OSError) as error:
            if isinstance(error, OSError) and error.errno != errno.EINVAL:
                raise
            raise FileFormatError(
                path,
                None,
                f"not a .npz file, or a damaged one ({str(error)[:100]}); expected a CSR matrix",
            ) from None


def _csr(path: str, archive: zipfile.ZipFile) -> StoredCsr:
    stored = _array(archive, "format", "SU", 0).item()  # str in old files
    kind = stored.decode("ascii", "replace") if isinstance(stored, bytes) else stored
    if kind != "csr":
        raise _ArrayError(f"holds a {kind!r} matrix; expected 'csr' (convert it with .tocsr())")
    shape = [int(size) for size in _array(archive, "shape", "iu", 1)]
    indptr = _array(archive, "indptr", "iu", 1).astype(np.int64)
    indices = _array(archive, "indices", "iu", 1)
    data = _array(archive, "data", "iufb", 1)
    if len(shape) != 2 or min(shape) < 0 or shape[0] != len(indptr) - 1:
        raise _ArrayError(
            f"has the shape {tuple(shape)} and {len(indptr)} row pointers; expected (n, d) and "
            "n + 1"
        )
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():  # their differences could overflow
        raise _ArrayError("its row pointers decrease or do not start at 0; expected a CSR matrix")
    if len(indices) != len(data) or indptr[-1] > len(data):
        raise _ArrayError(
            f"has {len(indices)} ids, {len(data)} values and row pointers up to {indptr[-1]}; "
            "expected the same number of each"
        )
    return StoredCsr(path, shape[1], indptr, indices, data)


def _array(archive: zipfile.ZipFile, name: str, kinds: str, dimensions: int) -> NDArray[np.generic]:
    """Read the array `name`, of one of the dtype `kinds`, in native byte order."""
    try:
        member = archive.getinfo(f"{name}.npy")
    except KeyError:
        raise _ArrayError(f"holds no array {name!r}; expected a CSR matrix") from None
    limit = member.compress_size
    if member.compress_type == zipfile.ZIP_DEFLATED:
        limit = member.compress_size * _MAX_DEFLATE_RATIO + _MAX_HEADER
    elif member.compress_type != zipfile.ZIP_STORED:
        raise _ArrayError(f"array {name!r} is neither stored nor deflated")
    if member.file_size > limit:
        raise _ArrayError(
            f"array {name!r} claims {member.file_size} bytes, more than its "
            f"{member.compress_size} compressed bytes can hold"
        )
    with archive.open(member) as file:
        dtype, shape, start = _header(name, file)
        if dtype.kind not in kinds or len(shape) != dimensions:
            raise _ArrayError(
                f"array {name!r} is of type {dtype} and shape {shape}; expected "
                f"{dimensions} dimensions and a type of kind {'/'.join(kinds)}"
            )
        size = dtype.itemsize * (shape[0] if shape else 1)
        if size != member.file_size - start:
            raise _ArrayError(
                f"array {name!r} claims {size} bytes; expected the {member.file_size - start} "
                "in the file"
            )
        content = file.read()
    if len(content) != size:
        raise _ArrayError(f"array {name!r} is truncated")
    array = np.frombuffer(content, dtype).reshape(shape)
    return array.astype(dtype.newbyteorder("="), copy=False)


def _header(name: str, file: IO[bytes]) -> tuple[np.dtype[Any], tuple[int, ...], int]:
    """Read type, shape and start of an array in NumPy's format, version 1 or 2."""
    prefix = file.read(8)
    version = prefix[6:]
    width = {b"\x01\x00": 2, b"\x02\x00": 4}.get(version)
    if prefix[:6] != _MAGIC or width is None:
        raise _ArrayError(f"array {name!r} is not in NumPy's format, version 1 or 2")
    length = int.from_bytes(file.read(width), "little")
    if length > _MAX_HEADER:
        raise _ArrayError(f"array {name!r} has a header of {length} bytes; expected fewer")
    try:
        header = ast.literal_eval(file.read(length).decode("latin-1").strip())
        described, shape = header["descr"], header["shape"]
    except (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError):
        raise _ArrayError(f"array {name!r} has a header that cannot be read") from None
    if not isinstance(described, str) or not _DTYPE.fullmatch(described):
        raise _ArrayError(f"array {name!r} has the type {described!r}; expected plain numbers")
    if not isinstance(shape, tuple) or not all(
        type(size) is int and 0 <= size <= _MAX_SHAPE for size in shape
    ):
        raise _ArrayError(f"array {name!r} has the shape {shape!r}; expected whole numbers")
    return np.dtype(described), shape, 8 + width + length
