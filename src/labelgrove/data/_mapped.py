"""Data sets as plain arrays on disk, which are mapped into memory, not read.

A data set is a folder with one file per array, raw and little-endian, and ``dataset.json``, which
is written last and holds the length and checksum of each array, and a checksum of itself:

    X.indptr.i64   X.indices.i32   X.data.f32    features as CSR, ids increasing in every row
    text.indptr.i64   text.u8                    or concatenated texts in UTF-8
    Y.indptr.i64   Y.indices.i32                 labels of every row: the integers themselves, or
    names.indptr.i64   names.u8                  indices into these concatenated names, in UTF-8
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self, overload

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove._errors import FileFormatError
from labelgrove._names import object_array
from labelgrove._paths import named
from labelgrove._targets import LabelRows
from labelgrove.data._chunks import Contents, Piece, SparseRows
from labelgrove.data._limits import BLOCK_BYTES, MAX_ID

HEADER = "dataset.json"
_VERSION = 1
_ROWS_PER_PIECE = 4096
_DTYPES = {"i64": "<i8", "i32": "<i4", "f32": "<f4", "u8": "|u1"}

_FEATURES = ("X.indptr.i64", "X.indices.i32", "X.data.f32")
_TEXTS = ("text.indptr.i64", "text.u8")
_LABELS = ("Y.indptr.i64", "Y.indices.i32")
_NAMES = ("names.indptr.i64", "names.u8")

_CHECKSUM = "crc32"
"""Key of the header's own checksum."""


def is_mapped(path: str) -> bool:
    """Return whether a folder is a data set written by `convert`."""
    return Path(path, HEADER).is_file()


def has_header(folder: str) -> bool:
    """Return whether a folder's header is that of a data set, of whatever version."""
    try:
        return "labelgrove_dataset" in json.loads(Path(folder, HEADER).read_bytes())
    except (OSError, ValueError, TypeError, RecursionError):
        return False


def parts_of(folder: str) -> list[Path]:
    """Return the files in a folder that are parts of a data set, sorted."""
    own = {HEADER, *_FEATURES, *_TEXTS, *_LABELS, *_NAMES}
    return sorted(path for path in Path(folder).iterdir() if path.name in own)


def strays(folder: str) -> list[str]:
    """Return the names of files in a data set's folder that are no part of it, sorted."""
    return sorted(path.name for path in {*Path(folder).iterdir()} - {*parts_of(folder)})


class Texts(Sequence[str]):
    """Concatenated texts in UTF-8, decoded on access."""

    def __init__(self, path: str, indptr: NDArray[np.int64], content: NDArray[np.uint8]) -> None:
        self._path = path
        self.indptr = indptr
        self._content = content

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[row] for row in range(*place.indices(len(self)))]
        row = range(len(self))[place]
        try:
            content = self._content[self.indptr[row] : self.indptr[row + 1]].tobytes()
            return content.decode()
        except UnicodeDecodeError as error:
            raise _damaged(self._path, f"text {row} is not UTF-8 ({error})") from None


class Dataset:
    """Labelled examples on disk, mapped into memory: pages are read on use and may be evicted.

    `open_dataset` creates these from folders written by `convert`. Pass ``X`` and ``labels``, or
    ``text`` and ``labels``, to any ``fit``, ``partial_fit`` and ``predict``. Where a path is
    expected, a data set stands for that of its folder. Online learning and
    prediction use the features in place. ``fit`` of a batch model needs memory for copies of the
    rows of the nodes in progress, and the root has all rows; `labelgrove.distributed.fit` avoids
    that. Texts are decoded.

    Attributes
    ----------
    path : str
        The folder.
    n_rows : int
    X : scipy.sparse.csr_array of float32, shape (n_rows, d), or None
        Features, read-only; None if the examples are texts.
    text : sequence of n_rows str, or None
        Texts, decoded on access.
    labels : sequence of n_rows tuples
        Labels of each row, integers or strings, looked up on access.
    labels_may_be_names : bool
        Whether labels may be given by name instead of by id, as in Annif's NAME.key files.
    """

    def __init__(self, path: str, header: Header, arrays: dict[str, NDArray[Any]]) -> None:
        width = header.width
        self.path = path
        self._header = header
        self.n_rows = header.rows
        self.labels_may_be_names = header.labels_may_be_names
        self.text = texts_over(path, arrays) if width < 0 else None
        self.X = None if width < 0 else csr_over([arrays[name] for name in _FEATURES], width)
        names = None
        if _NAMES[0] in arrays:
            names = object_array(list(Texts(path, arrays[_NAMES[0]], arrays[_NAMES[1]])))
        indptr, ids = (arrays[name] for name in _LABELS)
        _check_ids(path, ids, MAX_ID + 1 if names is None else len(names))
        self.labels = LabelRows(indptr, ids, names)

    def __len__(self) -> int:
        return self.n_rows

    def __fspath__(self) -> str:
        return self.path


def open_dataset(path: str | os.PathLike[str], *, verify: bool = True) -> Dataset:
    r"""Map a data set written by `convert` into memory.

    Parameters
    ----------
    path : str or os.PathLike
        The folder.
    verify : bool
        Whether to verify all checksums, which reads the whole data set once.

    Returns
    -------
    Dataset

    Raises
    ------
    OSError
        If a file cannot be opened.
    FileFormatError
        If the folder is not such a data set, or is damaged.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from labelgrove.data import convert, open_dataset
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source, target = pathlib.Path(folder, "two.svm"), pathlib.Path(folder, "two")
    ...     _ = source.write_text("1,3 0:0.5 9:2\n2 4:1\n")
    ...     examples = convert([source], target)
    ...     print(examples.X.shape, list(examples.labels))
    (2, 10) [(1, 3), (2,)]
    """
    folder = os.fsdecode(path)
    header, arrays = open_arrays(folder, verify=verify)
    for indptr, entries in ((_FEATURES[0], _FEATURES[1]), _TEXTS, _LABELS, _NAMES):
        if indptr in arrays:
            _check_indptr(folder, indptr, arrays[indptr], len(arrays[entries]))
    for indptr in (_FEATURES[0], _TEXTS[0], _LABELS[0]):
        if indptr in arrays and len(arrays[indptr]) != header.rows + 1:
            raise _damaged(folder, f"{indptr} has {len(arrays[indptr]) - 1} rows")
    if _FEATURES[0] in arrays and len(arrays[_FEATURES[1]]) != len(arrays[_FEATURES[2]]):
        raise _damaged(folder, f"{_FEATURES[1]} and {_FEATURES[2]} have different lengths")
    return Dataset(folder, header, arrays)


def as_dataset(dataset: str | os.PathLike[str]) -> Dataset:
    """Open a data set, unless it is open already; its opener chose whether to verify it."""
    return dataset if isinstance(dataset, Dataset) else open_dataset(dataset)


def open_arrays(folder: str, *, verify: bool = False) -> tuple[Header, dict[str, NDArray[Any]]]:
    """Map the arrays of a data set without checking their contents, unless `verify`."""
    with named(folder):
        header = _read_header(folder)
        return header, {
            name: _mapped(folder, name, *entry, verify) for name, entry in header.arrays.items()
        }


def texts_over(folder: str, arrays: Mapping[str, NDArray[Any]]) -> Texts:
    """Return the texts of a data set whose arrays are mapped."""
    return Texts(folder, *(arrays[name] for name in _TEXTS))


def read_mapped(path: str) -> Contents:
    """Open a data set for reading in pieces; raises as `open_dataset`."""
    dataset = open_dataset(path)
    return Contents(
        _pieces(dataset),
        is_text=dataset.text is not None,
        labels_are_int=dataset.labels.names is None,
        labels_may_be_names=dataset.labels_may_be_names,
        declared_rows=dataset.n_rows,
        declared_features=None if dataset.X is None else dataset.X.shape[1],
    )


def _pieces(dataset: Dataset) -> Iterator[Piece]:
    for start in range(0, dataset.n_rows, _ROWS_PER_PIECE):
        stop = min(start + _ROWS_PER_PIECE, dataset.n_rows)
        labels = list(dataset.labels[start:stop])
        lines = np.arange(start + 1, stop + 1, dtype=np.int64)
        if dataset.text is not None:
            yield Piece(labels, lines, text=dataset.text[start:stop])
        else:
            yield Piece(labels, lines, features=_features(dataset, start, stop))


def _features(dataset: Dataset, start: int, stop: int) -> SparseRows:
    X = dataset.X
    assert X is not None
    rows = SparseRows(X.indptr, X.indices, X.data).slice(start, stop)
    ids = rows.indices
    rising = _steps(rows.indptr, ids) > 0
    within = len(ids) == 0 or (ids.min() >= 0 and ids.max() < X.shape[1])
    if not (within and rising.all() and np.isfinite(rows.values).all()):
        raise _damaged(dataset.path, f"rows {start} to {stop - 1} hold invalid features")
    return rows


def _steps(indptr: NDArray[np.int64], ids: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the differences of neighbouring ids, or 1 between rows, where any order is valid.

    They overflow if an id is negative.
    """
    found = np.diff(ids)
    borders = indptr[1:-1]
    found[borders[(borders > 0) & (borders < len(ids))] - 1] = 1
    return found


# --- the header and the arrays -------------------------------------------------------------------


class Header(NamedTuple):
    """What a data set holds; `width` is -1 for texts.

    `arrays` maps the name of each array to its length and checksum.
    """

    rows: int
    width: int
    arrays: dict[str, tuple[int, int]]
    labels_may_be_names: bool = False


def _read_header(folder: str) -> Header:
    try:
        found = json.loads(Path(folder, HEADER).read_bytes())
        version, rows, width = found["labelgrove_dataset"], found["rows"], found["features"]
        arrays = {
            name: (entry["length"], entry["crc32"]) for name, entry in found["arrays"].items()
        }
        may_be_names = found.get("labels_may_be_names", False)
        sound = found.get(_CHECKSUM) in (None, _header_checksum(found))  # None in early data sets
    except FileNotFoundError:
        raise FileFormatError(folder, None, f"has no {HEADER}; expected a data set") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise _damaged(folder, f"{HEADER} cannot be read") from None
    if version != _VERSION:
        raise FileFormatError(
            folder, None, f"is a data set of version {version}; expected {_VERSION}"
        )
    if not sound:
        raise _damaged(folder, f"{HEADER} does not match its checksum")
    numbers = (rows, 0 if width is None else width, *chain.from_iterable(arrays.values()))
    if not all(type(number) is int and 0 <= number < 2**62 for number in numbers):
        raise _damaged(folder, f"{HEADER} has invalid sizes")
    if type(may_be_names) is not bool:
        raise _damaged(folder, f"{HEADER} does not say whether labels may be names")
    expected = {*(_TEXTS if width is None else _FEATURES), *_LABELS}
    if set(arrays) - set(_NAMES) != expected or len(set(arrays) & set(_NAMES)) == 1:
        raise _damaged(folder, f"{HEADER} lists the wrong arrays")
    if width is not None and width > MAX_ID + 1:
        raise _damaged(folder, f"{HEADER} has {width} features; expected at most {MAX_ID + 1}")
    return Header(rows, -1 if width is None else width, arrays, may_be_names)


def _header_checksum(header: Mapping[str, Any]) -> int:
    """Return the checksum of all that a header holds besides its checksum."""
    held = {name: value for name, value in header.items() if name != _CHECKSUM}
    return zlib.crc32(json.dumps(held, sort_keys=True).encode())


def _mapped(folder: str, name: str, length: int, checksum: int, verify: bool) -> NDArray[Any]:
    path = Path(folder, name)
    dtype = np.dtype(_DTYPES[name.rpartition(".")[2]])
    size = path.stat().st_size
    if size != length * dtype.itemsize:
        raise _damaged(folder, f"{name} has {size} bytes; expected {length * dtype.itemsize}")
    if verify:
        with path.open("rb") as file:
            found = 0
            while block := file.read(BLOCK_BYTES):
                found = zlib.crc32(block, found)
        if found != checksum:
            raise _damaged(folder, f"{name} does not match its checksum")
    if not length:  # an empty file cannot be mapped
        return np.empty(0, dtype)
    return np.memmap(path, dtype, mode="r").view(np.ndarray)


def csr_over(arrays: Sequence[NDArray[Any]], width: int) -> csr_array:
    """Build CSR over these arrays, of which only the row ends are copied, to the ids' type.

    If 32 bits do not suffice for the row ends, the types differ, since a copy of the ids might not
    fit into memory; most of SciPy cannot use such an array.
    """
    X = csr_array((len(arrays[0]) - 1, width), dtype=np.float32)
    X.indptr, X.indices, X.data = arrays
    if X.indptr[-1] <= np.iinfo(np.int32).max:
        X.indptr = X.indptr.astype(np.int32)
        X.indptr.flags.writeable = False  # as the other arrays
    X.has_sorted_indices = X.has_canonical_format = True
    return X


def _check_indptr(folder: str, name: str, indptr: NDArray[np.int64], length: int) -> None:
    sound = len(indptr) > 0 and indptr[0] == 0 and indptr[-1] == length
    for start in range(0, len(indptr), BLOCK_BYTES):
        ends = indptr[start : start + BLOCK_BYTES + 1]
        sound = sound and bool((ends[:-1] <= ends[1:]).all())  # their differences could overflow
    if not sound:
        raise _damaged(folder, f"{name} holds invalid row ends")


def _check_ids(folder: str, ids: NDArray[np.int32], end: int) -> None:
    for start in range(0, len(ids), BLOCK_BYTES):
        block = ids[start : start + BLOCK_BYTES]
        if block.min() < 0 or block.max() >= end:
            raise _damaged(folder, f"{_LABELS[1]} holds an invalid label")


def _damaged(folder: str, what: str) -> FileFormatError:
    return FileFormatError(folder, None, f"is damaged: {what}; convert it again")


# --- writing -------------------------------------------------------------------------------------


class Writer:
    """Write a data set row by row; memory holds only the names of labels.

    A context manager: if its block raises an error, no header is written, so there is no data set.
    """

    def __init__(
        self,
        folder: Path,
        *,
        is_text: bool,
        labels_are_int: bool,
        labels_may_be_names: bool = False,
    ) -> None:
        self._folder = folder
        self._may_be_names = labels_may_be_names
        self._width = -1 if is_text else 0
        self._names: dict[str, int] | None = None if labels_are_int else {}
        self._rows = 0
        used = (*(_TEXTS if is_text else _FEATURES), *_LABELS, *(() if labels_are_int else _NAMES))
        self._files = {name: _ArrayFile(folder / name) for name in used}
        for name in used:
            if name.endswith("indptr.i64"):
                self._files[name].append(np.zeros(1, np.int64))

    def labels(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Append the labels of rows."""
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        self.label_ids(lengths, self.ids_of([label for row in rows for label in row]))

    def ids_of(self, names: Sequence[Any]) -> NDArray[np.int32]:
        """Return the ids of labels, assigning new ids to new labels."""
        table = self._names
        if table is not None:
            names = [table.setdefault(name, len(table)) for name in names]
        return np.array(names, np.int32)

    def label_ids(self, lengths: NDArray[np.int64], ids: NDArray[np.int32]) -> None:
        """Append the labels of rows by their ids."""
        self._append(_LABELS[0], lengths)
        self._files[_LABELS[1]].append(ids)
        self._rows += len(lengths)

    def features(self, lengths: NDArray[np.int64], ids: Any, values: Any, width: int) -> None:
        """Append the features of rows, without stored zeros, which no model learns from."""
        if np.count_nonzero(values) < len(values):
            places = np.flatnonzero(values)
            before = np.searchsorted(places, np.concatenate([[0], np.cumsum(lengths)]))
            lengths, ids, values = np.diff(before), ids[places], values[places]
        self._append(_FEATURES[0], lengths)
        self._files[_FEATURES[1]].append(ids.astype(np.int32, copy=False))
        self._files[_FEATURES[2]].append(values)
        self._width = max(self._width, width)

    def texts(self, texts: Sequence[str]) -> None:
        """Append the texts of rows."""
        self._texts(_TEXTS, texts)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        with ExitStack() as files:
            for file in self._files.values():
                files.callback(file.close)
            if error is None:
                self._finish()

    def _finish(self) -> None:
        """Write the names of labels and, last, the header."""
        names = list(self._names or ())
        for start in range(0, len(names), _ROWS_PER_PIECE):
            self._texts(_NAMES, names[start : start + _ROWS_PER_PIECE])
        header = {
            "labelgrove_dataset": _VERSION,
            "rows": self._rows,
            "features": None if self._width < 0 else self._width,
            "arrays": {name: file.finish() for name, file in self._files.items()},
        }
        if self._may_be_names:
            header["labels_may_be_names"] = True
        header[_CHECKSUM] = _header_checksum(header)
        with (self._folder / HEADER).open("w", encoding="utf-8") as file:
            json.dump(header, file, indent=1)
            file.flush()
            os.fsync(file.fileno())

    def _texts(self, arrays: tuple[str, str], texts: Sequence[str]) -> None:
        content = [text.encode() for text in texts]
        self._append(arrays[0], np.fromiter(map(len, content), np.int64, len(content)))
        self._files[arrays[1]].append(np.frombuffer(b"".join(content), np.uint8))

    def _append(self, name: str, lengths: NDArray[np.int64]) -> None:
        file = self._files[name]
        ends = file.last + np.cumsum(lengths, dtype=np.int64)
        file.append(ends)
        if len(ends):
            file.last = int(ends[-1])


class _ArrayFile:
    """A file to which an array is appended, with its length and checksum."""

    def __init__(self, path: Path) -> None:
        self._dtype = np.dtype(_DTYPES[path.suffix[1:]])
        self._file: BinaryIO = path.open("wb")
        self._length = self._checksum = 0
        self.last = 0

    def append(self, array: NDArray[Any]) -> None:
        content = np.ascontiguousarray(array, self._dtype).data.cast("B")
        self._file.write(content)
        self._length += len(array)
        self._checksum = zlib.crc32(content, self._checksum)

    def finish(self) -> dict[str, int]:
        """Flush everything to disk; return the length and checksum for the header."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return {"length": self._length, "crc32": self._checksum}

    def close(self) -> None:
        self._file.close()
