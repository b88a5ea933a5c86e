"""Validation: converts input in any accepted form to the rows that the core expects."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import check_array

from labelgrove import _core
from labelgrove._errors import DataError, DataTypeError, brief
from labelgrove._features import FeatureNames
from labelgrove._names import on_one_line
from labelgrove._parameters import first_sentence
from labelgrove._sparse import require_inside, rows_of_csc, triples

MAX_FEATURE = 2**31 - 2
"""Largest feature id: ids are 31-bit, and one is reserved."""


class Rows(NamedTuple):
    """Validated examples in the form that the core expects.

    A named tuple, since every call creates one, several times faster than a frozen dataclass.

    Attributes
    ----------
    indptr : ndarray of int64, shape (n + 1,), or (0,) for dense rows
    ids : ndarray of uint32
        Feature ids, increasing in every row; for dense rows 0, 1, 2, … once.
    values : ndarray of float32
        Finite; for dense rows, all rows concatenated.
    n_rows, n_features : int
        ``n_features`` is the number of columns of X.
    dense : bool
    """

    indptr: npt.NDArray[np.int64]
    ids: npt.NDArray[np.uint32]
    values: npt.NDArray[np.float32]
    n_rows: int
    n_features: int
    dense: bool

    @property
    def arrays(
        self,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32], npt.NDArray[np.float32]]:
        """The three arrays in the order that the core expects."""
        return self[:3]

    def part(self, begin: int, end: int) -> Rows:
        """Return the rows from ``begin`` to ``end``."""
        if self.dense:
            values = self.values[begin * self.n_features : end * self.n_features]
            return self._replace(values=values, n_rows=end - begin)
        stored = slice(int(self.indptr[begin]), int(self.indptr[end]))
        return self._replace(
            indptr=self.indptr[begin : end + 1] - stored.start,
            ids=self.ids[stored],
            values=self.values[stored],
            n_rows=end - begin,
        )

    def without_zeros(self) -> Rows:
        """Return the rows without stored zeros; dense rows that have any become sparse."""
        kept = np.count_nonzero(self.values)
        if kept == len(self.values):
            return self
        places = np.flatnonzero(self.values)
        if self.dense:
            ends = np.arange(self.n_rows + 1) * self.n_features
            ids = (places % self.n_features).astype(np.uint32)
        else:
            ends, ids = self.indptr, self.ids[places]
        return Rows(
            np.searchsorted(places, ends).astype(np.int64),
            ids,
            self.values[places],
            self.n_rows,
            self.n_features,
            dense=False,
        )


MAX_MAGNITUDE = 1e9
"""Largest absolute value if examples are not scaled: squares must fit into 32-bit floats."""


def within_magnitude(rows: Rows) -> Rows:
    """Scale down rows whose values are too large for a model file, if only proportions matter.

    Powers of two round nothing, so a model learns the same.
    """
    values = rows.values
    if not values.size or max(values[values.argmax()], -values[values.argmin()]) <= MAX_MAGNITUDE:
        return rows
    sizes = rows.n_features if rows.dense else np.diff(rows.indptr)
    row_of = np.repeat(np.arange(rows.n_rows), sizes)
    greatest = np.zeros(rows.n_rows, np.float32)
    np.maximum.at(greatest, row_of, np.abs(values))
    exponent = np.where(greatest > MAX_MAGNITUDE, -np.frexp(greatest)[1], 0)
    return rows._replace(values=np.ldexp(values, exponent[row_of]))


def require_magnitude(rows: Rows) -> None:
    """Refuse values that are too large to be learnt without scaling, and name the first."""
    large = np.flatnonzero(np.abs(rows.values) > MAX_MAGNITUDE)
    if large.size:
        at = int(large[0])
        width = len(rows.ids)
        row = at // width if rows.dense else int(np.searchsorted(rows.indptr, at, "right")) - 1
        column = at % width if rows.dense else int(rows.ids[at])
        raise DataError(
            f"X: row {row}, column {column}: found {rows.values[at]:g}; expected at most "
            f"{MAX_MAGNITUDE:g} with normalize=False"
        )


def check_weights(
    sample_weight: Any, n_rows: int, *, most: float = math.inf, some: bool = True
) -> npt.NDArray[np.float32] | None:
    """Return the weights of examples as an array, or None if all have equal weight.

    Raises DataError unless there is one finite number from 0 to `most` for every row, and, with
    `some`, a positive one among them.
    """
    if sample_weight is None:
        return None
    if np.ma.is_masked(sample_weight):
        raise DataError("sample_weight has masked entries: expected a number for each row")
    if hasattr(sample_weight, "__array__") and _kind_of(sample_weight) in "cmM":
        raise DataError(
            "sample_weight holds complex numbers, dates or times: expected a number for each row"
        )
    try:
        with np.errstate(over="ignore"):  # an overflow gives infinity, which is refused below
            weights = np.asarray(sample_weight, np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"sample_weight: expected numbers ({first_sentence(error)})") from error
    if weights.shape != (n_rows,):
        raise DataError(
            f"sample_weight has shape {weights.shape}; expected one number for each of the "
            f"{n_rows} rows"
        )
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"sample_weight, row {row}: found {weights[row]}; expected a finite number of at least "
            "0"
        )
    if weights.max(initial=0.0) > most:
        row = int(np.argmax(weights))
        raise DataError(
            f"sample_weight, row {row}: found {weights[row]:g}; expected at most {most:g}"
        )
    if some and not weights.any():
        raise DataError("sample_weight: every weight is zero; expected at least one above 0")
    return weights


def n_rows_of(X: Any) -> int:
    """Return the number of rows of an array, sparse matrix, table or list."""
    shape = getattr(X, "shape", None)
    if shape:
        return int(shape[0])
    if not hasattr(X, "__len__"):
        raise DataError(
            f"X is of type {type(X).__name__}: expected an array, matrix or list of rows"
        )
    return len(X)


def is_dict_rows(X: Any) -> bool:
    """Return whether X is a sequence, 1-D array or Series of ``{feature: value}`` mappings."""
    flat = isinstance(X, Sequence) or (
        hasattr(X, "__array__") and len(getattr(X, "shape", ())) == 1
    )
    return flat and isinstance(next(iter(X), None), Mapping)


def check_rows(X: Any, *, names: FeatureNames | None = None, grow: bool = False) -> Rows:
    """Validate X and convert it to the form that the core expects.

    Parameters
    ----------
    X : sparse array or matrix, array-like of shape (n, d), sequence of dicts, or Rows
        Any integer index type and any real number type. Unsorted indices are sorted, repeated
        entries summed. In a data frame, all columns may be sparse.
    names : FeatureNames, optional
        The features of dict keys; needed only for dicts.
    grow : bool
        Whether unknown dict keys become new features (learning) or columns that no model knows
        (prediction).

    Raises
    ------
    DataError
        If X is not two-dimensional, is empty, or holds NaN, infinity, or a column that is out of
        range; the message names row and column.
    """
    if isinstance(X, Rows):  # from a front end, whose rows are always valid
        if X.n_rows == 0:
            raise DataError("X: there are no texts; expected at least one")
        return X
    sparse = sp.issparse(X)
    if not sparse and is_dict_rows(X):
        if names is None:
            raise DataError(
                "X: rows are dicts, but the model has learnt from arrays; expected an array"
            )
        return _check_arrays(*names.to_csr(X, grow=grow))
    if names is not None:
        raise DataError(
            "X: an array, but the model has learnt from dicts; expected a list of dicts"
        )
    if sparse:
        return _check_sparse(X)
    try:
        return _check_dense(X)
    except DataError:
        _require_number_columns(X)
        raise


def require_same_length(rows: Rows, n_targets: int) -> None:
    """Refuse X and y of different lengths."""
    if rows.n_rows != n_targets:
        raise DataError(
            f"X has {rows.n_rows} rows, y has {n_targets}; expected the same number "
            "(Found input variables with inconsistent numbers of samples)"
        )


def _check_sparse(X: Any) -> Rows:
    if X.ndim != 2:
        raise DataError(f"X: expected 2 dimensions, found {X.ndim}")
    if X.dtype.kind == "c":
        raise DataError("X: Complex data not supported")
    if X.shape[0] == 0:
        raise DataError(
            f"X: Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required"
        )
    _require_width(X.shape[1])
    if X.format == "csc" and X.dtype.isnative and X.dtype.char in _CONVERTIBLE:
        X = rows_of_csc(X, "X")
    if X.format == "csr":
        return _check_arrays(X.indptr, X.indices, X.data, X.shape[1])
    return _from_triples(*triples(X, "X"), X.shape)


_CONVERTIBLE = "?bBhHiIlLqQfd"
"""Types of values that SciPy can convert between formats."""


def _require_width(n_features: int) -> None:
    if n_features > MAX_FEATURE + 1:
        raise DataError(f"X has {n_features} columns: expected at most {MAX_FEATURE + 1}")


def _from_triples(rows: Any, columns: Any, values: Any, shape: tuple[int, int]) -> Rows:
    rows = np.array(rows)  # a copy: SciPy writes to wherever they point
    require_inside(rows, columns, shape, "X")
    single = _as_float32(values)
    if not (finite := np.isfinite(single)).all():  # SciPy would move it away from the one given
        at = int(np.argmin(finite))
        raise _not_finite(int(rows[at]), int(columns[at]), single[at], values[at])
    X = sp.coo_array((single, (rows, columns)), shape=shape).tocsr()
    return _check_arrays(X.indptr, X.indices, X.data, shape[1])


def _as_ids(indices: Any) -> npt.NDArray[np.uint32]:
    if indices.dtype == np.int32:
        ids: npt.NDArray[np.uint32] = indices.view(np.uint32)  # negative ones become huge: found
        return ids
    ids = indices.astype(np.uint32)
    if not ids.size or (indices.min() >= 0 and indices.max() <= MAX_FEATURE):
        return ids
    return np.where(ids == indices, ids, np.uint32(MAX_FEATURE + 1))


def _check_arrays(indptr: Any, indices: Any, data: Any, n_features: int) -> Rows:
    indptr = np.array(indptr, np.int64)  # a copy: no other thread may move the ends of rows
    ids = np.ascontiguousarray(_as_ids(indices))
    values = _as_float32(data)
    found = _core.check_rows(indptr, ids, values, n_features)
    if found is None:
        return Rows(indptr, ids, values, len(indptr) - 1, n_features, False)
    fault, row, position = found
    if fault == _core.RowFault.order:
        matrix = sp.csr_array(
            (values.copy(), ids.astype(np.int64), indptr), shape=(len(indptr) - 1, n_features)
        )
        matrix.sum_duplicates()
        return _check_arrays(matrix.indptr, matrix.indices, matrix.data, n_features)
    if fault == _core.RowFault.indptr:
        raise DataError(f"X: row {row}: the row pointers of the sparse array are damaged")
    if fault == _core.RowFault.range:
        raise DataError(
            f"X: row {row}: column {indices[position]} is out of range; expected 0 to "
            f"{n_features - 1}"
        )
    raise _not_finite(row, int(ids[position]), values[position], data[position])


def _check_dense(X: Any) -> Rows:
    if np.ma.is_masked(X):
        raise DataError("X has masked entries: expected a number in each, such as X.filled(0)")
    array = X if _is_plain(X) else _checked_array(X)
    if sp.issparse(array):  # from a data frame with only sparse columns
        return _check_sparse(array)
    values = np.ascontiguousarray(_as_float32(array))
    finite = np.isfinite(values)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        place = _column_name(X, int(column))
        raise _not_finite(int(row), place, values[row, column], array[row, column])
    n, d = values.shape
    _require_width(d)
    ids = np.arange(d, dtype=np.uint32)
    return Rows(np.empty(0, np.int64), ids, values.reshape(-1), n, d, dense=True)


def _is_plain(X: Any) -> bool:
    """Whether scikit-learn's check can be skipped, since it costs more than predicting a row."""
    return type(X) is np.ndarray and X.ndim == 2 and X.size > 0 and X.dtype.kind in "fiub"


def _checked_array(X: Any) -> Any:
    try:
        return check_array(
            X,
            accept_sparse=True,
            dtype="numeric",
            ensure_all_finite=False,
            ensure_min_features=1,
            estimator=None,
        )
    except TypeError as error:
        raise DataTypeError(f"X: {error}") from error
    except ValueError as error:
        _require_table(X)
        first, *others = str(error).splitlines()  # most of the other lines are numbers
        advice = [line for line in others if line.startswith("Reshape")]
        raise DataError(f"X: {' '.join([first, *advice])}") from error


def _require_number_columns(X: Any) -> None:
    """Raise an error that names the first column of a data frame that does not hold numbers."""
    if not hasattr(X, "__array__"):  # such as polars.LazyFrame, which has to look for its columns
        return
    for name in _columns_of(X):
        try:
            column = X[name]
        except (TypeError, LookupError):  # a table that knows its names only
            return
        if _kind_of(column) in "mM":
            raise DataTypeError(f"X: column {name!r} {_DATES}")
        try:
            np.asarray(column, np.float64)
        except (TypeError, ValueError) as error:
            told = on_one_line(error, 120)  # a cell may hold a long text
            raise DataTypeError(
                f"X: column {name!r}: {told}; expected numbers, or rows as dicts, which may hold "
                "categories"
            ) from error


def _require_table(X: Any) -> None:
    """Raise a specific error if X is a list of texts, or has no rows, ragged ones or strings."""
    if isinstance(X, np.ndarray) and X.ndim > 0 and X.dtype.kind in "fiubc":
        return
    if isinstance(X, Sequence) and not isinstance(X, str):
        _require_no_baskets(X)
    try:
        items = np.asarray(X, object)
    except (TypeError, ValueError):  # rows that have no common shape
        return
    if items.ndim == 0 and not isinstance(X, str):
        raise DataError(
            f"X is of type {type(X).__name__}: expected an array, a sparse array or a data frame "
            "with one row per example, or a list of {feature: value} dicts"
        )
    if items.ndim < 2 and items.size and isinstance(items.ravel()[0], str):
        raise DataError("X holds texts: expected rows of numbers; TextClassifier learns from texts")
    if items.ndim == 1:
        _require_equal_lengths(items.tolist())
    if items.ndim == 2:
        _require_no_strings(items)


def _require_no_baskets(rows: Sequence[Any]) -> None:
    """Raise a specific error if a row is a set, or a list or tuple that begins with a text."""
    for i, row in enumerate(rows):
        of_texts = isinstance(row, list | tuple) and len(row) > 0 and isinstance(row[0], str)
        if of_texts or isinstance(row, Set):
            found = type(row).__name__ + (" of texts" if of_texts else "")
            raise DataError(
                f"X: row {i} is a {found}: expected numbers, or a {{feature: value}} dict such as "
                "dict.fromkeys(row, 1)"
            )


def _require_equal_lengths(rows: list[Any]) -> None:
    """Raise a specific error if all rows are vectors, but not of the same length."""
    try:
        lengths = [len(row) for row in rows if np.ndim(row) == 1]
    except (TypeError, ValueError):  # a row that is sparse, or ragged itself
        return
    odd = next((i for i, length in enumerate(lengths) if length != lengths[0]), None)
    if odd is not None and len(lengths) == len(rows):
        raise DataError(
            f"X: row {odd} has {lengths[odd]} values, row 0 has {lengths[0]}; "
            "expected as many in every row"
        )


def _require_no_strings(items: npt.NDArray[Any]) -> None:
    """Raise a specific error for a string that is no number, or if there is nothing but strings."""
    cells = items.ravel().tolist()
    wrong = next((i for i, cell in enumerate(cells) if _is_word(cell)), None)
    if wrong is None and cells and all(isinstance(cell, str | bytes) for cell in cells):
        wrong = 0  # NumPy converts strings to numbers only where it holds them as objects
    if wrong is not None:
        row, column = divmod(wrong, items.shape[1])
        raise DataError(
            f"X: row {row}, column {column}: found {brief(cells[wrong])}; expected a number, or "
            "rows as dicts, which may hold categories"
        )


def _is_word(cell: Any) -> bool:
    """Whether it is a string that is no number."""
    try:
        if isinstance(cell, str | bytes):
            float(cell)
    except ValueError:
        return True
    return False


def _kind_of(column: Any) -> str:
    """Return NumPy's letter for what a column holds; to it, dates with a time zone are objects."""
    if getattr(getattr(column, "dtype", None), "kind", None) == "M":
        return "M"
    return np.asarray(column).dtype.kind


_DATES = "holds dates or times: expected numbers, such as days since a first one"


def _as_float32(data: Any) -> npt.NDArray[np.float32]:
    if data.dtype == np.float32:
        return np.ascontiguousarray(data)
    if data.dtype.kind in "mM":  # missing values (NaT) would be converted to numbers
        raise DataError(f"X {_DATES}")
    try:
        with np.errstate(over="ignore"):  # an overflow gives infinity, which is reported later
            return np.ascontiguousarray(data, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as error:  # arbitrary Python objects
        raise DataError(f"X: expected numbers ({error})") from error


def _column_name(X: Any, column: int) -> int | str:
    """Return the name of a data frame's column, quoted, or its number if it has none."""
    names = _columns_of(X)
    name = names[column] if len(names) > column else column
    return repr(name) if isinstance(name, str) else column


def _columns_of(X: Any) -> Any:
    """Return the names of a data frame's columns; nothing if X is none."""
    names = getattr(X, "column_names", None)  # Arrow's; in pandas, it may be a column
    return names if isinstance(names, list | tuple) else getattr(X, "columns", ())


def _not_finite(row: int, column: int | str, value: np.float32, given: Any) -> DataError:
    found, expected = f"{given}, which is infinity in 32 bits", "a finite number"
    if np.isnan(value):
        found = "NaN"
        if isinstance(column, str):  # of a data frame, which has no other way to leave it out
            expected += ", or rows as dicts, which may leave values out"
    return DataError(
        f"X: row {row}, column {column}: found {found}; expected {expected} "
        "(Input X contains NaN or infinity)"
    )
