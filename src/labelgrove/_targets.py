"""Parsing of targets: the labels of every row, in any form that users pass them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import lru_cache
from inspect import currentframe
from itertools import accumulate, chain, count, pairwise
from typing import Any, Literal, NamedTuple, overload
from warnings import warn

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from labelgrove._errors import DataError
from labelgrove._names import Names, as_names, label_type, object_array, place_in_rows
from labelgrove._sparse import dense_indicator, places_of, sparse_indicator

TargetKind = Literal["multiclass", "multilabel", "indicator"]

_EXPECTED = (
    "a 1-D array of labels, a list with a collection of labels per row, or a 0/1 indicator "
    "(array or SciPy sparse) of shape (n_rows, n_labels)"
)


class Targets(NamedTuple):
    """Labels of every row as given, before they are mapped to ids.

    Attributes
    ----------
    kind : {"multiclass", "multilabel", "indicator"}
        The form: one label per row, a collection per row, or columns of a 0/1 matrix. (A list
        without rows is "multilabel": check `n_rows`.)
    indptr : ndarray of int64, shape (n_rows + 1,)
        Row i has the labels `labels[indptr[i]:indptr[i + 1]]`.
    names : ndarray of object (str) or int64
        The labels that occur, in order of first occurrence; for an indicator, columns.
    codes : ndarray of int64
        Positions among `names` of each row's labels, in the given order and distinct within a row;
        for an indicator, in ascending order of columns.
    n_columns : int or None
        Width of the indicator, else None.
    dense : bool
        Whether the targets are an indicator given as an array, not sparse.
    """

    kind: TargetKind
    indptr: npt.NDArray[np.int64]
    names: Names
    codes: npt.NDArray[np.int64]
    n_columns: int | None = None
    dense: bool = False

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    @property
    def labels(self) -> Names:
        """The concatenated labels of all rows."""
        return self.names[self.codes]

    @property
    def label_type(self) -> Literal["str", "int"] | None:
        """Type of the labels; None if there are none."""
        return label_type(self.names)

    def row(self, i: int) -> list[str] | list[int]:
        """Return the labels of one row."""
        names: list[Any] = self.names[self.codes[self.indptr[i] : self.indptr[i + 1]]].tolist()
        return names

    def as_indicator(self, n_columns: int) -> Targets:
        """Return collections of columns as an indicator."""
        row_of = np.repeat(np.arange(self.n_rows), np.diff(self.indptr))
        columns = self.labels.astype(np.int64)
        return _indicator(self.indptr, columns[np.lexsort((columns, row_of))], n_columns)

    def place_of(self, code: int) -> str:
        """Name the row in which a label first occurs."""
        return place_in_rows(self.indptr)(int(np.argmax(self.codes == code)))


class LabelRows(Sequence[tuple[Any, ...]]):
    """Labels of the rows of a data set on disk, looked up on access.

    Parameters
    ----------
    indptr : ndarray of int64, shape (n_rows + 1,)
        Row i has the labels `ids[indptr[i]:indptr[i + 1]]`, which are distinct.
    ids : ndarray of int32
        Integer labels, or indices into `names`.
    names : ndarray of object (str), or None
    """

    def __init__(
        self, indptr: npt.NDArray[np.int64], ids: npt.NDArray[np.int32], names: Names | None
    ) -> None:
        self.indptr = indptr
        self.ids = ids
        self.names = names

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @overload
    def __getitem__(self, place: int) -> tuple[Any, ...]: ...
    @overload
    def __getitem__(self, place: slice) -> LabelRows: ...
    def __getitem__(self, place: int | slice) -> tuple[Any, ...] | LabelRows:
        if isinstance(place, slice):
            start, stop, step = place.indices(len(self))
            if step != 1:
                ends, places = places_of(self.indptr, np.arange(start, stop, step))
                return LabelRows(ends, self.ids[places], self.names)
            low, high = self.indptr[start], self.indptr[max(start, stop)]
            ends = self.indptr[start : max(start, stop) + 1] - low
            return LabelRows(ends, self.ids[low:high], self.names)
        row = range(len(self))[place]
        return tuple(self._labels(self.ids[self.indptr[row] : self.indptr[row + 1]]).tolist())

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        labels = self._labels(self.ids).tolist()
        return (tuple(labels[a:b]) for a, b in pairwise(self.indptr.tolist()))

    def targets(self) -> Targets:
        """Return all rows as targets for a model."""
        occurring, codes = _numbered(self.ids)
        return Targets("multilabel", np.asarray(self.indptr), self._labels(occurring), codes)

    def _labels(self, ids: npt.NDArray[np.int32]) -> Names:
        return ids.astype(np.int64) if self.names is None else self.names[ids]


def parse_targets(Y: Any, n_rows: int | None = None) -> Targets:
    """Parse targets in any form that users pass them, and refuse ambiguous ones.

    Parameters
    ----------
    Y : array-like or sparse
        One of

        - 1-D array, Series or list of labels (str, int, bool, or whole floats as in
          scikit-learn): multi-class, one label per row. A column of shape (n, 1) is treated the
          same, with a `DataConversionWarning`.
        - list, tuple or object array of collections (list, tuple, set, 1-D array, Series...) of
          str or of int: multi-label. Sets are read in sorted order; a repeated label counts once.
        - 2-D array, DataFrame, or SciPy sparse of 0 and 1: an indicator, one column per label.
    n_rows : int, optional
        Number of rows of X, to be checked.

    Returns
    -------
    Targets
        The labels of every row.

    Raises
    ------
    DataError
        The targets contain labels of two types, a bare label among collections, NaN, fractions
        ("Unknown label type: continuous"), or values other than 0 and 1 in an indicator. The
        message names the row (counted from 0) and the value.

    Examples
    --------
    >>> targets = parse_targets([["law", "tax"], [], ["tax"]])
    >>> targets.kind, targets.indptr.tolist(), targets.labels.tolist()
    ('multilabel', [0, 2, 2, 3], ['law', 'tax', 'tax'])
    >>> parse_targets(["law", "tax"]).kind
    'multiclass'
    """
    targets = _parse(Y)
    if n_rows is not None and targets.n_rows != n_rows:
        hint = "; to give one row several labels, put them in a list of their own: [[...]]"
        raise DataError(
            f"X has {n_rows} rows and Y has {targets.n_rows}: expected one entry of Y for each row "
            f"of X{hint if n_rows == 1 and isinstance(Y, list | tuple) else ''}"
        )
    return targets


def _parse(Y: Any) -> Targets:
    if Y is None:
        raise DataError(f"learning requires y to be passed, but the target y is None: {_EXPECTED}")
    if issparse(Y):
        return _indicator(*sparse_indicator(Y))
    if isinstance(Y, LabelRows):
        return Y.targets()
    if isinstance(Y, Sequence) and not isinstance(Y, str | bytes | bytearray):
        return _from_rows(Y if isinstance(Y, list | tuple) else list(Y))
    if hasattr(Y, "__array__"):
        if isinstance(Y, np.ma.MaskedArray) and np.ma.is_masked(Y):
            raise DataError("Y has masked entries: every row needs its labels")
        return _from_array(np.asarray(Y))
    raise DataError(f"Y is a {type(Y).__name__}: expected {_EXPECTED}")


def _from_array(Y: npt.NDArray[Any]) -> Targets:
    if Y.ndim == 2 and Y.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warn(
            "A column-vector y was passed when a 1d array was expected: it is read as one label "
            "per row; pass y.ravel() to avoid this warning",
            DataConversionWarning,
            stacklevel=_level_outside(),
        )
        Y = Y[:, 0]
    if Y.ndim == 2:
        return _indicator(*dense_indicator(Y), dense=True)
    if Y.ndim != 1:
        raise DataError(f"Y has {Y.ndim} dimensions: expected {_EXPECTED}")
    if Y.dtype.kind == "O":
        return _from_rows(Y.tolist())
    return _multiclass(Y)


def _level_outside() -> int:
    """Return the stack level, as seen by the caller, of the code that called this package."""
    level, frame, package = 0, currentframe(), __name__.partition(".")[0]
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        level, frame = level + 1, frame.f_back
    return level


def _from_rows(rows: Sequence[Any]) -> Targets:
    """Distinguish a list of labels from a list of collections; refuse a mix of both."""
    collections = {kind for kind in set(map(type, rows)) if _is_collection(kind)}
    if not collections and rows:
        return _multiclass(rows)
    if not collections.issuperset(map(type, rows)):
        row = next(i for i, entry in enumerate(rows) if type(entry) not in collections)
        raise DataError(
            f"Y, row {row}: {_describe(rows[row])}, while other rows are collections of labels; "
            "put a single label in a list of its own, and give [] to a row without labels"
        )
    return _multilabel(rows)


@lru_cache  # a call has few types, but the questions are slow
def _is_collection(kind: type) -> bool:
    if issubclass(kind, str | bytes | bytearray | Mapping):
        return False
    is_array = hasattr(kind, "__array__") and hasattr(kind, "__len__")  # also a Series
    return is_array or issubclass(kind, Sequence | Set)


def _describe(entry: Any) -> str:
    if isinstance(entry, str | int | float | np.generic):
        return f"a single label ({entry!r})"
    return "nothing (None)" if entry is None else f"a {type(entry).__name__}"


def _indicator(
    indptr: npt.NDArray[np.int64],
    columns: npt.NDArray[np.int64],
    n_columns: int,
    dense: bool = False,
) -> Targets:
    return Targets("indicator", indptr, *_numbered(columns), n_columns, dense)


def _multiclass(values: Sequence[Any] | Names) -> Targets:
    names = as_names(values, place=lambda i: f"Y, row {i}", classes=True)
    return Targets("multiclass", np.arange(len(names) + 1, dtype=np.int64), *_numbered(names))


def _multilabel(rows: Sequence[Any]) -> Targets:
    kinds = set(map(type, rows))
    plain = kinds <= {list, tuple}
    lists = rows if plain else [_as_list(entry, row) for row, entry in enumerate(rows)]
    ends = accumulate(map(len, lists), initial=0)
    indptr = np.fromiter(ends, np.int64, len(lists) + 1)
    flat = list(chain.from_iterable(lists))
    labels = as_names(flat, place=place_in_rows(indptr), classes=False)
    if not plain and (sets := {kind for kind in kinds if issubclass(kind, Set)}):
        # The order of a set is arbitrary, and must not decide which label arrives first.
        for row, (first, last) in enumerate(pairwise(indptr.tolist())):
            if type(rows[row]) in sets:
                labels[first:last] = sorted(labels[first:last])
    names, codes = _numbered(labels)
    if len(names) == len(labels):
        return Targets("multilabel", indptr, names, codes)
    row_of = np.repeat(np.arange(len(lists)), np.diff(indptr))
    cells = row_of * len(names) + codes
    in_order = np.sort(cells)
    if (in_order[1:] > in_order[:-1]).all():
        return Targets("multilabel", indptr, names, codes)
    kept = np.sort(np.unique(cells, return_index=True)[1])
    kept_ends = np.concatenate([[0], np.cumsum(np.bincount(row_of[kept], minlength=len(lists)))])
    for row in np.flatnonzero(np.diff(kept_ends) < np.diff(indptr)).tolist():
        _refuse_zeros_and_ones(row, labels[indptr[row] : indptr[row + 1]].tolist())
    return Targets("multilabel", kept_ends, names, codes[kept])


def _numbered(labels: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Return the distinct labels in order of first occurrence, and each label's index in them."""
    n = len(labels)
    if labels.dtype != object and labels.max(initial=-1) < n and labels.min(initial=0) >= 0:
        places = np.full(n, n)
        np.minimum.at(places, labels, np.arange(n))  # where each label occurs first
        distinct = labels[places[labels] == np.arange(n)]
        places[distinct] = np.arange(len(distinct))
        return distinct, places[labels]
    known: defaultdict[Any, int] = defaultdict(count().__next__)  # one lookup per label
    codes = np.fromiter(map(known.__getitem__, labels.tolist()), np.int64, n)
    names = [*known]
    return object_array(names) if labels.dtype == object else np.array(names, labels.dtype), codes


def _refuse_zeros_and_ones(row: int, labels: list[Any]) -> None:
    """Refuse a row of an indicator given as lists, which would be read as the labels 0 and 1.

    Every row is judged independently, so how a stream is split into calls makes no difference.
    """
    if set(labels) <= {0, 1}:
        raise DataError(
            f"Y, row {row}: {len(labels)} zeros and ones, which would be read as the labels 0 and "
            "1; pass an indicator as an array: numpy.asarray(Y)"
        )


def _as_list(entry: Any, row: int) -> Sequence[Any]:
    """Return a row's collection as a list or tuple."""
    if isinstance(entry, list | tuple):
        return entry
    if isinstance(entry, Sequence | Set):
        return list(entry)
    if np.ma.is_masked(entry):
        raise DataError(f"Y, row {row}: an array with masked entries, expected labels alone")
    array = np.asarray(entry)
    if array.ndim != 1:
        raise DataError(f"Y, row {row}: an array of {array.ndim} dimensions, expected one")
    if not array.size:
        return ()  # whatever its type: numpy.array([]) is an array of floats
    names: list[Any] = array.tolist()
    return names
