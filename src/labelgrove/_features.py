"""Names of features, for examples given as dicts and for columns of data frames."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from math import isfinite, isnan
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from labelgrove._errors import DataError
from labelgrove._names import Names, check_savable, is_missing

_LEFT_OUT = ", or no entry for a missing value"


class FeatureNames:
    """Feature names and their ids, in order of arrival.

    A string value is a category: ``{"colour": "red"}`` is the feature ``"colour=red"`` with value
    1, as in scikit-learn's ``DictVectorizer``.

    Parameters
    ----------
    names : iterable of str
        The names known so far, in order of their ids.

    Examples
    --------
    >>> names = FeatureNames()
    >>> indptr, ids, values, n = names.to_csr([{"a": 1.0, "b": 2.0}, {"b": 3.0}], grow=True)
    >>> ids.tolist(), values.tolist(), n
    ([0, 1, 1], [1.0, 2.0, 3.0], 2)
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._ids = {name: i for i, name in enumerate(names)}

    def __len__(self) -> int:
        return len(self._ids)

    def names(self) -> list[str]:
        """All names, in order of their ids."""
        return list(self._ids)

    def truncate(self, count: int) -> None:
        """Forget all but the first ``count`` names."""
        while len(self._ids) > count:
            self._ids.popitem()

    def to_csr(
        self, rows: Sequence[Mapping[str, Any]], *, grow: bool
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float64], int]:
        """Return (indptr, ids, values, number of features); ids are in order within each row.

        Unless they grow, unknown names are ids beyond the known ones, and not remembered: they have
        no weights in any model, but are part of the length of their row, as in a row of columns.

        Raises DataError if a row is not a mapping, a name is not a string, or a value is neither a
        number nor a string; no name is added then.
        """
        known = len(self)
        try:
            csr = self._to_csr(rows, grow)
            new = list(islice(reversed(self._ids), len(self) - known))
            check_savable(new, lambda name: f"X: row {_first_row(rows, name)}: the feature name")
        except BaseException:
            self.truncate(known)
            raise
        return csr

    def _to_csr(
        self, rows: Sequence[Mapping[str, Any]], grow: bool
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float64], int]:
        indptr, width, known = [0], max(len(self), 1), self._ids
        ids, values = array("i"), array("d")
        for i, row in enumerate(rows):
            if not isinstance(row, Mapping):
                raise DataError(f"X: row {i}: expected a dict, found {type(row).__name__}")
            there: list[tuple[int, float]] = []
            unknown = len(known)
            for name, value in row.items():
                plain = type(name) is str and type(value) is float  # as most are; this is faster
                key, number = (name, value) if plain else _feature(i, name, value)
                at = known.setdefault(key, unknown) if grow else known.get(key, unknown)
                unknown += at == unknown
                there.append((at, number))
            width = max(width, unknown)
            there.sort(key=itemgetter(0))  # required by the core; NumPy is slow for few entries
            for at, number in there:
                ids.append(at)
                values.append(number)
            indptr.append(len(ids))
        finite = np.isfinite(values)
        if not finite.all():
            i = int(np.searchsorted(indptr, finite.argmin(), "right")) - 1
            features = (_feature(i, *item) for item in rows[i].items())
            name, number = next(one for one in features if not isfinite(one[1]))
            told = f"X: row {i}, feature {name!r}: found {number}; expected a finite number"
            raise DataError(told + (_LEFT_OUT if isnan(number) else ""))
        return np.array(indptr, np.int64), np.array(ids), np.array(values), width


def _first_row(rows: Sequence[Mapping[str, Any]], name: str) -> int:
    return next(
        i
        for i, row in enumerate(rows)
        if any(_feature(i, *item)[0] == name for item in row.items())
    )


class Classifier(BaseEstimator):
    """Stand-in for our estimators when scikit-learn inspects the columns of a data frame."""

    feature_names_in_: Names


def column_names(X: Any) -> Names | None:
    """Return a data frame's column names if all are strings, as scikit-learn does; else None.

    Raises DataError if only some names are strings, or a name cannot be saved.
    """
    if _has_no_names(X):
        return None
    fitted = Classifier()
    _validate(fitted, X, reset=True)
    names = getattr(fitted, "feature_names_in_", None)
    if names is not None:
        check_savable(names.tolist(), lambda _: "X: the name of a column")
    return names


def check_column_names(X: Any, expected: Names | None) -> None:
    """Check that a data frame has the same column names, in the same order, as in training.

    If only one of the two has names, scikit-learn's warning is issued. Raises DataError,
    with scikit-learn's message, if the names or their order differ.
    """
    if expected is None and _has_no_names(X):
        return
    fitted = Classifier()
    if expected is not None:
        fitted.feature_names_in_ = expected
    _validate(fitted, X, reset=False)


def _has_no_names(X: Any) -> bool:
    return issparse(X) or isinstance(X, np.ndarray | Sequence)


def _validate(fitted: Classifier, X: Any, *, reset: bool) -> None:
    try:
        validate_data(fitted, X, reset=reset, skip_check_array=True, ensure_2d=False)
    except (TypeError, ValueError) as error:
        raise DataError(f"X: {error}") from error


def _feature(row: int, name: object, value: object) -> tuple[str, float]:
    if not isinstance(name, str):
        raise DataError(f"X: row {row}: feature names must be strings, found {name!r}")
    if isinstance(value, str):
        return f"{name}={value}", 1.0
    if isinstance(value, (int, float, np.integer, np.floating, np.bool_)):
        try:
            return name, float(value)
        except OverflowError:
            raise DataError(
                f"X: row {row}, feature {name!r}: found an integer too large for a float"
            ) from None
    allowed = _LEFT_OUT if value is None or is_missing(value) else ""
    raise DataError(
        f"X: row {row}, feature {name!r}: expected a number or a string{allowed}, "
        f"found {type(value).__name__}"
    )
