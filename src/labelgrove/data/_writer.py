"""Writing of examples to files."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Collection, Iterator, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse, save_npz

from labelgrove._errors import DataError, ParameterError
from labelgrove.data._limits import MAX_ID
from labelgrove.data._npz import pair_of
from labelgrove.data._rows import shown
from labelgrove.data._sink import open_sink
from labelgrove.data._sniff import check_format, format_from_name
from labelgrove.data._write_rows import (
    Labels,
    fasttext_blocks,
    jsonl_blocks,
    sparse_blocks,
    xmlc_blocks,
)

_TEXT_FORMATS = ("fasttext", "jsonl")
_BLOCKS: dict[str, Callable[[Any, Labels], Iterator[bytes]]] = {
    "fasttext": fasttext_blocks,
    "jsonl": jsonl_blocks,
    "xmlc": xmlc_blocks,
    "svmlight": sparse_blocks,
}
_WRITTEN = (*_BLOCKS, "npz")


def write_examples(
    path: str | os.PathLike[str],
    X_or_text: Any,
    labels: Sequence[Collection[int | str]],
    format: str | None = None,
) -> None:
    """Write labelled examples, so that reading the file restores them exactly.

    (The fastText format, however, drops blanks and control characters around a text.)

    Parameters
    ----------
    path : str or os.PathLike
        The file, which is replaced only once everything is written; ``-`` is standard output.
        Files named .gz, .bz2, .xz or .zst are compressed. For npz, NAME.npz stands for NAME.X.npz
        and NAME.Y.npz.
    X_or_text : sparse matrix, array of shape (n, d), or sequence of n str
        Features (written as float32) or texts.
    labels : sequence of n collections
        Labels of each row: integers for xmlc, svmlight and npz, else strings or integers.
        Repetitions are dropped.
    format : str, optional
        ``jsonl`` or ``fasttext`` for texts, ``xmlc``, ``svmlight`` or ``npz`` for features. By
        default the format denoted by the name, or else jsonl or xmlc.

    Raises
    ------
    DataError
        If there are no rows, the lengths differ, a value or label cannot be written in this
        format, or the format is for texts and features are given, or vice versa.
    ParameterError
        If `format` or `path` is out of its domain.
    OSError
        If the file cannot be written.
    LabelGroveError
        If another process is writing the same file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from labelgrove.data import write_examples
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "two.txt")
    ...     write_examples(path, [[0.5, 0.0], [0.0, 0.1]], [(4, 1), ()])
    ...     print(path.read_text(), end="")
    2 2 5
    4,1 0:0.5
     1:0.1
    """
    name = os.fsdecode(path)
    is_text = _is_text(X_or_text)
    chosen = check_format(format) if format is not None else format_from_name(name)
    chosen = chosen or ("jsonl" if is_text else "xmlc")
    if chosen not in _WRITTEN:
        raise ParameterError(
            f"format is {chosen!r}; expected one of {', '.join(_WRITTEN)} to write"
        )
    if is_text != (chosen in _TEXT_FORMATS):
        found, expected = ("texts", "features") if is_text else ("features", "texts")
        raise DataError(f"found {found} to write as {chosen}; expected {expected}")
    rows = _checked_labels(labels, as_int=not is_text)
    examples = (_checked_texts if is_text else _checked_features)(X_or_text, len(rows))
    if chosen == "npz":
        _write_pair(name, examples, rows)
        return
    with open_sink(name) as sink:
        sink.writelines(_BLOCKS[chosen](examples, rows))


def _write_pair(path: str, X: csr_array, labels: Labels) -> None:
    if path == "-":
        raise ParameterError("npz cannot be written to standard output; expected a file")
    ids = np.array([label for row in labels for label in row], np.int32)
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in labels])])
    shape = (len(labels), int(ids.max(initial=-1)) + 1)
    Y = csr_array((np.ones(len(ids), np.float32), ids, indptr), shape=shape)
    x_path, y_path = pair_of(path)
    with open_sink(x_path) as x_sink, open_sink(y_path) as y_sink:
        save_npz(x_sink, X)
        save_npz(y_sink, Y)


def _is_text(X_or_text: Any) -> bool:
    if isinstance(X_or_text, str | bytes):
        raise DataError("found one string; expected a sequence of texts or a matrix of features")
    if issparse(X_or_text):
        return False
    if isinstance(X_or_text, np.ndarray):
        return X_or_text.ndim == 1 and X_or_text.dtype.kind in "UO"
    return len(X_or_text) > 0 and all(isinstance(item, str) for item in X_or_text)


def _checked_texts(texts: Any, n_rows: int) -> list[str]:
    found = [text if type(text) is str else str(text) for text in texts]
    _check_length(len(found), n_rows)
    return found


def _checked_features(X: Any, n_rows: int) -> csr_array:
    """Convert to CSR of finite float32, with sorted and unique ids."""
    matrix = _matrix(X)
    _check_length(matrix.shape[0], n_rows)
    if matrix.shape[1] > MAX_ID + 1:
        raise DataError(f"X has {matrix.shape[1]} columns; expected at most {MAX_ID + 1}")
    with np.errstate(over="ignore", under="ignore"):
        converted = matrix.astype(np.float32)
    converted.sum_duplicates()
    wrong = np.flatnonzero(~np.isfinite(converted.data))
    if len(wrong):
        place = int(wrong[0])
        row = int(np.searchsorted(converted.indptr, place, side="right")) - 1
        raise DataError(
            f"X has {converted.data[place]} in row {row}, column {converted.indices[place]}; "
            "expected finite float32 values"
        )
    return converted


def _matrix(X: ArrayLike | Any) -> csr_array:
    if issparse(X):
        return csr_array(X)
    try:
        dense = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("X holds something that is not a number; expected features") from None
    if dense.ndim != 2:
        raise DataError(f"X has {dense.ndim} dimensions; expected 2")
    return csr_array(dense)


def _check_length(found: int, labels: int) -> None:
    if found != labels:
        raise DataError(
            f"found {found} examples and {labels} rows of labels; expected the same number"
        )


def _checked_labels(labels: Sequence[Collection[int | str]], as_int: bool) -> Labels:
    """Check labels and return one tuple per row, without repetitions."""
    if isinstance(labels, str | bytes) or not len(labels):
        raise DataError("found no rows of labels; expected at least one example")
    rows: Labels = []
    key = None if as_int else str  # text formats turn integers into strings
    for row, names in enumerate(labels):
        if isinstance(names, str | bytes) or not isinstance(names, Collection):
            raise DataError(
                f"labels of row {row} are {shown(str(names))}; expected a collection of labels"
            )
        distinct = dict.fromkeys(_label(name, row, as_int) for name in names)
        # The order of a set is arbitrary, and must not decide which label arrives first.
        rows.append(tuple(sorted(distinct, key=key) if isinstance(names, Set) else distinct))
    return rows


def _label(label: Any, row: int, as_int: bool) -> int | str:
    if isinstance(label, str) and not as_int:
        return str(label)
    try:
        number = None if isinstance(label, bool | np.bool_) else operator.index(label)
    except TypeError:
        number = None
    if number is None:
        expected = "an integer" if as_int else "a string or an integer"
        raise DataError(f"row {row} has the label {label!r}; expected {expected}")
    if as_int and not 0 <= number <= MAX_ID:
        raise DataError(f"row {row} has the label {number}; expected 0 to {MAX_ID}")
    return number
