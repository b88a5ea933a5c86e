"""Names of labels: validation, conversion to plain str or int, and sorting."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from labelgrove._errors import DataError

Names = npt.NDArray[Any]
"""Labels in an array: int64, or object holding str."""

Ids = npt.NDArray[np.int32]

UNKNOWN: Final = -1
"""Placeholder for the id of an unknown label."""

Place = Callable[[int], str]
"""Describes the place of the i-th label, for the beginning of a message."""

_INT64 = np.iinfo(np.int64)
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")


def on_one_line(text: object, longest: int) -> str:
    """Return a text for people: on one line, and cut off after so many characters."""
    line = " ".join(str(text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def integer_in(text: str) -> int | None:
    """Return the integer that is written just so; None for other texts, since 01 is not 1.

    Examples
    --------
    >>> integer_in("18"), integer_in("-1"), integer_in("01"), integer_in("one")
    (18, -1, None, None)
    """
    return int(text) if _INTEGER.fullmatch(text) else None


def as_names(values: Sequence[Any] | Names, *, place: Place, classes: bool) -> Names:
    """Return labels, all str or all 64-bit integers, as an int64 array or an object array of str.

    If there are none, the array is of type object. With `classes`, booleans and whole floats count
    as integers, as in scikit-learn's vectors of classes. Raises DataError if a value is not a label
    or two types are mixed; `place` describes the place of the i-th value.
    """
    if isinstance(values, np.ndarray):
        if values.dtype.kind == "i" or (values.dtype.kind == "b" and classes):
            return values.astype(np.int64)
        if values.dtype.kind == "f" and classes:
            return _whole_floats(values, place)
    plain: Sequence[Any] = values.tolist() if isinstance(values, np.ndarray) else values
    kinds = set(map(type, plain))
    if kinds - {str, int}:
        plain = [_plain(value, i, place, classes) for i, value in enumerate(plain)]
        kinds = set(map(type, plain))
    if len(kinds) > 1:
        other = next(i for i, value in enumerate(plain) if type(value) is not type(plain[0]))
        raise DataError(
            f"{place(other)}: label {plain[other]!r} is {type_name(plain[other])}, but "
            f"{plain[0]!r} ({place(0)}) is {type_name(plain[0])}; labels are all strings or all "
            "integers"
        )
    return _int_array(plain, place) if kinds == {int} else object_array(plain)


def object_array(names: Sequence[Any]) -> Names:
    """Return str as a 1-D object array of the same objects."""
    array = np.empty(len(names), object)
    array[:] = names
    return array


def label_type(names: Names) -> Literal["str", "int"] | None:
    """Return the type of labels; None if there are none."""
    if not names.size:
        return None
    return "str" if names.dtype == object else "int"


def place_in_rows(indptr: npt.NDArray[np.int64]) -> Place:
    """Return a function that names the row of the i-th label of concatenated rows."""
    return lambda i: f"Y, row {np.searchsorted(indptr, i, side='right') - 1}"


def as_vector(names: Any) -> Sequence[Any] | Names:
    """Return a flat list of labels; a string is refused, not split into characters."""
    if not isinstance(names, Sequence | np.ndarray) and hasattr(names, "__array__"):
        names = np.asarray(names)
    flat = isinstance(names, Sequence) and not isinstance(names, str | bytes | bytearray)
    if flat or (isinstance(names, np.ndarray) and names.ndim == 1):
        vector: Sequence[Any] | Names = names
        return vector
    raise DataError(f"expected a list of labels, not {names!r:.100}")


def place_in_list(i: int) -> str:
    """Describe the place of a label in a flat list."""
    return f"label {i} of the list"


def check_savable(names: list[Any], where: Callable[[str], str]) -> None:
    """Refuse names that UTF-8 cannot encode now, not when the model is saved after hours.

    ``where(name)`` describes the name and its place, for the beginning of a message.
    """
    try:
        "".join(names).encode() if names and isinstance(names[0], str) else None
    except UnicodeEncodeError:
        for name in names:
            if not name.isascii() and any("\ud800" <= character <= "\udfff" for character in name):
                raise DataError(
                    f"{where(name)} {name!r} holds a lone surrogate, which is not a character"
                ) from None


def check_new(names: list[Any], where: Callable[[str], str]) -> None:
    """Refuse names of new labels that cannot be saved or, as in data files, are blank."""
    check_savable(names, where)
    if names and isinstance(names[0], str):
        for name in names:
            if not name or name.isspace():
                raise DataError(f"{where(name)} {name!r} is blank; expected a name")


def _plain(value: Any, i: int, place: Place, classes: bool) -> str | int:
    """Return one label as exactly str or int."""
    if isinstance(value, str):
        return str.__str__(value)  # the text itself of a numpy.str_ or a string enumeration
    if isinstance(value, bool | np.bool_):
        if classes:
            return int(value)
        raise DataError(
            f"{place(i)}: {value} is a boolean, not a label; pass an indicator as an array of "
            "shape (n_rows, n_labels)"
        )
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating) and classes:
        return _whole_float(float(value), i, place)
    if value is None or is_missing(value):
        raise DataError(
            f"{place(i)}: the label is missing ({value!r}): Input y contains NaN or None"
        )
    raise DataError(
        f"{place(i)}: {value!r} is of type {type(value).__name__}: expected a label, a string or "
        "an integer"
    )


def is_missing(value: Any) -> bool:
    """Return whether a value differs from itself, like NaN, or refuses to say, like pandas' NA."""
    try:
        return bool(value != value)  # noqa: PLR0124
    except TypeError:
        return True
    except ValueError:  # an array
        return False


def _whole_float(value: float, i: int, place: Place) -> int:
    if math.isnan(value):
        raise DataError(f"{place(i)}: Input y contains NaN: expected a label for each row")
    if math.isinf(value):
        raise DataError(f"{place(i)}: Input y contains infinity: expected a label for each row")
    if not value.is_integer():
        raise DataError(
            f"Unknown label type: continuous ({place(i)} holds {value!r}): expected strings, "
            "integers or floats of whole numbers"
        )
    return int(value)


def _whole_floats(values: Names, place: Place) -> Names:
    wide = values.astype(np.float64)
    with np.errstate(invalid="ignore"):
        names = wide.astype(np.int64)
    exact = (names == wide) & (wide == values)
    good = exact & (wide >= -(2.0**63)) & (wide < 2.0**63)
    if not good.all():
        wrong = int(np.argmin(good))
        raise _too_large(_whole_float(float(wide[wrong]), wrong, place), place(wrong))
    return names


def _int_array(values: Sequence[int], place: Place) -> Names:
    try:
        return np.array(values, np.int64)
    except OverflowError:
        wrong = next(i for i, v in enumerate(values) if not _INT64.min <= v <= _INT64.max)
        raise _too_large(values[wrong], place(wrong)) from None


def _too_large(value: int, where: str) -> DataError:
    return DataError(f"{where}: label {value} does not fit into 64 bits")


def type_name(value: Any) -> str:
    """Return the type of a label for messages."""
    return "a string" if isinstance(value, str) else "an integer"


class SortedNames(NamedTuple):
    """The labels in use among all ids below ``known``, sorted by name."""

    names: Names  # ascending
    ids: Ids  # of these names
    places: Ids  # by id, the position of its name; `UNKNOWN` if the label is retired
    known: int

    def extended(self, names: Names, active: npt.NDArray[np.bool_]) -> SortedNames:
        """Return a copy extended by the names of the ids that have arrived since.

        `names` are those of all ids; `active` is whether each is in use.
        """
        ids = np.flatnonzero(active[self.known :]) + self.known
        ids = ids[_sorting(names[ids])]
        arrived = names[ids]
        # The first names determine the type; before them this is empty.
        there = self.names.astype(arrived.dtype, copy=False)
        at = np.searchsorted(there, arrived)
        order = np.insert(self.ids, at, ids.astype(np.int32))
        places = np.full(len(names), UNKNOWN, np.int32)
        places[order] = np.arange(len(order), dtype=np.int32)
        return SortedNames(np.insert(there, at, arrived), order, places, len(names))


NONE_SORTED = SortedNames(np.empty(0, object), np.empty(0, np.int32), np.empty(0, np.int32), 0)


def _sorting(names: Names) -> npt.NDArray[np.int64]:
    """Return the order of names that sorts them."""
    if names.dtype != object:
        return np.argsort(names, kind="stable")
    plain: list[str] = names.tolist()  # Python compares str twice as fast as NumPy compares objects
    return np.array(sorted(range(len(plain)), key=plain.__getitem__), np.int64)
