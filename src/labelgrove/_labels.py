"""Labels by name and by id: ids are assigned in order of arrival, columns are sorted by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from labelgrove._errors import DataError, ParameterError
from labelgrove._label_arrays import MAX_LABELS, RETIRED, labels_from_arrays, names_to_arrays
from labelgrove._names import (
    NONE_SORTED,
    UNKNOWN,
    Ids,
    Names,
    Place,
    SortedNames,
    as_names,
    as_vector,
    check_new,
    label_type,
    place_in_list,
    type_name,
)
from labelgrove._targets import Targets, parse_targets


class LabelRegistry:
    """Names of labels and their ids.

    The n-th label to arrive has id n - 1 for ever. Names are all str or all 64-bit integers; the
    first name decides which. A label can be retired: its name becomes unknown, its id is not
    reused, and the name may arrive again with a new id.

    Examples
    --------
    >>> registry = LabelRegistry()
    >>> indptr, ids = registry.ids_for([["tax", "law"], ["law"], []])
    >>> indptr.tolist(), ids.tolist(), registry.names.tolist()
    ([0, 2, 3, 3], [0, 1, 1], ['tax', 'law'])
    >>> registry.retire([0])
    >>> registry.ids_of(["tax", "law"]).tolist()
    [-1, 1]
    >>> registry.ids_of(["tax"], add=True).tolist()
    [2]
    >>> registry.sorted_names.tolist(), registry.places.tolist()
    (['law', 'tax'], [-1, 0, 1])
    """

    def __init__(self) -> None:
        self._size = 0
        # The arrays have spare room. Entries before `_size` are only changed in a fresh copy, so
        # arrays returned by `names` and `active` never change.
        self._names: Names = np.empty(0, object)
        self._active = np.empty(0, bool)
        self._index: dict[str, int] | dict[int, int] | dict[Any, int] = {}
        # Indicator columns that need no lookup: all of 0..width-1 have already arrived.
        self._width = 0
        # The sorted names of the ids below `known`; reset when labels are retired or renamed.
        self._sorted = NONE_SORTED

    def __len__(self) -> int:
        return self._size

    @property
    def label_type(self) -> Literal["str", "int"] | None:
        """Type of all names; None before the first one."""
        return label_type(self._names[: self._size])

    @property
    def names(self) -> Names:
        """Names of all ids, retired ones included: object (str) or int64, read-only.

        Later changes of the registry do not affect the array.
        """
        return _read_only(self._names[: self._size])

    @property
    def active(self) -> npt.NDArray[np.bool_]:
        """Whether each id's label is in use; read-only, not affected by later changes."""
        return _read_only(self._active[: self._size])

    @property
    def n_active(self) -> int:
        """Number of labels in use."""
        return len(self._index)

    @property
    def sorted_names(self) -> Names:
        """Names of the labels in use in ascending order: object (str) or int64, read-only.

        They are sorted lazily, and again only after labels have been added, retired or renamed;
        new labels are merged into the existing order.
        """
        return _read_only(self._by_name().names)

    @property
    def places(self) -> Ids:
        """The position of each id's name in `sorted_names`, -1 if retired; read-only."""
        return _read_only(self._by_name().places)

    def ids_of(self, names: Sequence[Any] | Names, *, add: bool = False) -> Ids:
        """Return the ids of names, in any form allowed for a vector of classes.

        New names get the next ids if `add`; otherwise their ids are -1. Raises DataError, and adds
        nothing, if a name is invalid or has another type than earlier names.
        """
        flat = as_names(as_vector(names), place=place_in_list, classes=True)
        if not add:
            return self._known_ids(flat, place_in_list)
        ids, fresh = self._foresee(flat, place_in_list)
        self.arrive(fresh)
        return ids

    def ids_for(self, Y: Any, *, add: bool = True) -> tuple[npt.NDArray[np.int64], Ids]:
        """Return the ids of every row's labels: where rows begin and end, and the ids of all rows.

        New labels get the next ids if `add`, in order of appearance in `Y`; otherwise their ids are
        -1. The ids of a row are ascending and distinct (except -1). The columns of an indicator
        are the labels 0, 1, 2...; with `add`, every column that has never been a label becomes
        one, even if it is empty, so that the ids of a new registry equal the columns.

        Raises DataError as `parse_targets` does, or if labels have another type than earlier names;
        nothing is added then.
        """
        targets = Y if isinstance(Y, Targets) else parse_targets(Y)
        if add:
            indptr, ids, fresh, _ = self.foresee(targets)
            self.arrive(fresh, targets.n_columns)
            return indptr, ids
        ids = self._known_ids(targets.names, targets.place_of)
        return targets.indptr, sorted_in_rows(targets.indptr, ids[targets.codes])

    def foresee(
        self, targets: Targets, announced: Names | None = None
    ) -> tuple[npt.NDArray[np.int64], Ids, list[Any], int]:
        """Return the result of `ids_for`, and the labels that it would add, without adding them.

        Returns
        -------
        indptr, ids : ndarray
            As from `ids_for`.
        fresh : list
            New labels in the order of their ids, which start at ``len(self)``: first those that are
            `announced`; for an indicator, its columns are.
        n_announced : int
            How many of the new labels are announced, so that they exist even if no row is learnt.
        """
        if targets.n_columns is not None:
            announced = self._new_columns(targets.n_columns)
        first = 0 if announced is None else len(announced)
        wanted = targets.names if announced is None else _joined(announced, targets.names)

        def place(i: int) -> str:
            return f"classes: {place_in_list(i)}" if i < first else targets.place_of(i - first)

        ids, fresh = self._foresee(wanted, place)
        n_announced = max(int(ids[:first].max()) + 1 - self._size, 0) if first else 0
        of_rows = sorted_in_rows(targets.indptr, ids[first:][targets.codes])
        return targets.indptr, of_rows, fresh, n_announced

    def arrive(self, fresh: list[Any], n_columns: int | None = None) -> None:
        """Add the new labels that `foresee` has returned, or the first of them.

        All of an indicator's columns are labels from now on.
        """
        if fresh:
            self._append(fresh, np.dtype(object if isinstance(fresh[0], str) else np.int64))
        self._width = max(self._width, n_columns or 0)

    def truncate(self, n: int) -> None:
        """Forget all labels whose id is at least `n`, as if they had never arrived.

        `n` is an earlier length of the registry, with nothing retired or renamed since; a number
        above the present length is a ParameterError.
        """
        if not 0 <= n <= self._size:
            raise ParameterError(f"n is {n}: expected 0 to {self._size}, the number of labels")
        if n == self._size:
            return
        for name in self._names[n : self._size].tolist():
            if self._index.get(name, UNKNOWN) >= n:  # otherwise it was retired
                del self._index[name]
        # Leave no spare room, so that future labels go to new arrays: callers may hold views of
        # the entries behind the cut.
        self._names = self._names[:n] if n else np.empty(0, object)
        self._active = self._active[:n]
        self._size = n
        self._width = 0
        if self._sorted.known > n:
            self._sorted = NONE_SORTED

    def retire(self, ids: Iterable[int] | npt.NDArray[Any]) -> None:
        """Take labels out of use for good; their names become unknown, their ids are not reused.

        Raises DataError if an id is not in use; nothing is retired then.
        """
        chosen = np.unique(np.fromiter(ids, np.int64))
        wrong = [i for i in chosen.tolist() if not (0 <= i < self._size and self._active[i])]
        if wrong:
            raise DataError(f"label id {wrong[0]} is not in use: only labels in use can be retired")
        active = self._active.copy()
        active[chosen] = False
        for name in self._names[chosen].tolist():
            del self._index[name]
        self._active = active
        self._sorted = NONE_SORTED

    def rename(self, new_names: Mapping[Any, Any]) -> None:
        """Give labels new names, by old name; their ids stay the same.

        All are renamed at once, so names may be swapped. Raises DataError, and renames none, if an
        old name is unknown, or a new name is in use or has the wrong type.
        """
        old = self.ids_of(list(new_names)).tolist()
        for name, i in zip(new_names, old, strict=True):
            if i == UNKNOWN:
                raise DataError(f"label {name!r} cannot be renamed: no label has this name")
        new = as_names(list(new_names.values()), place=place_in_list, classes=True)
        self._check_type(new, place_in_list)
        check_new(new.tolist(), lambda _: "the new name")
        holders, taken = set(old), set[Any]()
        for name in new.tolist():
            if name in taken:
                raise DataError(f"two labels cannot both be renamed to {name!r}")
            if name in self._index and self._index[name] not in holders:
                raise DataError(f"label {name!r} is in use: rename or remove that one first")
            taken.add(name)
        names, index = self._names.copy(), dict(self._index)
        for i in old:
            del index[names[i]]
        names[old] = new
        index.update(zip(new.tolist(), old, strict=True))
        self._names, self._index = names, index
        self._width = 0
        self._sorted = NONE_SORTED

    def copy(self) -> LabelRegistry:
        """Return an independent registry with the same labels."""
        twin = LabelRegistry()
        twin._size, twin._width = self._size, self._width
        twin._names = self._names[: self._size].copy()
        twin._active = self._active[: self._size].copy()
        twin._index = dict(self._index)
        twin._sorted = self._sorted
        return twin

    def to_arrays(self) -> dict[str, Names]:
        """Return the registry as arrays for a model file (docs/format.md, "Labels")."""
        return {RETIRED: (~self.active).astype(np.uint8)} | names_to_arrays(self.names)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Names], *, check_only: bool = False) -> LabelRegistry:
        """Build a registry from the output of `to_arrays`, checking everything.

        With `check_only` the returned registry may not know the ids of its names. Raises
        ModelFileError if arrays are missing, have the wrong type, or are inconsistent.
        """
        registry = cls()
        registry._names, registry._active, registry._index = labels_from_arrays(
            arrays, check_only=check_only
        )
        registry._size = len(registry._names)
        return registry

    def __reduce__(self) -> tuple[Any, ...]:
        return LabelRegistry.from_arrays, (self.to_arrays(),)

    def __deepcopy__(self, memo: Any) -> LabelRegistry:
        return self.copy()

    def _by_name(self) -> SortedNames:
        """Return all labels in use, sorted; concurrent calls get the same result."""
        known = self._sorted
        if known.known < self._size:
            known = known.extended(self._names[: self._size], self._active[: self._size])
            self._sorted = known
        return known

    def _known_ids(self, names: Names, place: Place) -> Ids:
        """Return the ids of names, -1 if unknown."""
        self._check_type(names, place)
        known: Iterable[int] = map(self._index.get, names.tolist(), repeat(UNKNOWN))
        return np.fromiter(known, np.int32, len(names))

    def _foresee(self, names: Names, place: Place) -> tuple[Ids, list[Any]]:
        """Return the ids of names, and the new names in the order of their ids."""
        ids = self._known_ids(names, place)
        new = (ids == UNKNOWN).nonzero()[0]
        if not new.size:
            return ids, []
        arrived = names[new].tolist()
        fresh = list(dict.fromkeys(arrived))
        check_new(fresh, lambda name: f"{place(names.tolist().index(name))}: label")
        size = self._size + len(fresh)
        if size > MAX_LABELS:
            raise DataError(f"there would be {size} labels: expected at most {MAX_LABELS}")
        if len(fresh) == len(arrived):
            ids[new] = range(self._size, size)
        else:
            at = dict(zip(fresh, range(self._size, size), strict=True))
            ids[new] = [at[name] for name in arrived]
        return ids, fresh

    def _check_type(self, names: Names, place: Place) -> None:
        if names.size and self._size and names.dtype != self._names.dtype:
            other, first = names[:1].tolist()[0], self._names[:1].tolist()[0]
            raise DataError(
                f"{place(0)}: label {other!r} is {type_name(other)}, but the labels so far (such "
                f"as {first!r}) are of the other type"
            )

    def _append(self, fresh: list[Any], dtype: np.dtype[Any]) -> None:
        """Add names, which are all new and distinct."""
        first, size = self._size, self._size + len(fresh)
        if size > len(self._names):
            room = max(size, 2 * len(self._names), 16)
            names = _grown(self._names[:first].astype(dtype, copy=False), room)
            active = _grown(self._active[:first], room)
            self._names, self._active = names, active
        self._names[first:size] = fresh
        self._active[first:size] = True
        try:
            self._size = size
            self._index.update(zip(fresh, range(first, size), strict=True))
        except BaseException:  # on an interrupt too: add both names and ids, or neither
            self.truncate(first)
            raise

    def _new_columns(self, n_columns: int | None) -> npt.NDArray[np.int64] | None:
        """Return an indicator's columns that have never been labels; None if there are none."""
        if n_columns is None or n_columns <= self._width:
            return None
        columns = np.arange(self._width, n_columns, dtype=np.int64)
        self._check_type(columns, lambda _: "Y, an indicator")
        return np.setdiff1d(columns, self._names[: self._size].astype(np.int64))


def _grown(array: npt.NDArray[Any], room: int) -> npt.NDArray[Any]:
    grown = np.empty(room, array.dtype)
    grown[: len(array)] = array
    return grown


def _joined(announced: Names, labels: Names) -> Names:
    if not (announced.size and labels.size):
        return announced if announced.size else labels
    if announced.dtype != labels.dtype:
        first, other = announced[:1].tolist()[0], labels[:1].tolist()[0]
        raise DataError(
            f"classes: label {first!r} is {type_name(first)}, but y holds {type_name(other)}, "
            f"{other!r}; expected labels of one type"
        )
    return np.concatenate((announced, labels))


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    view = array[:]
    view.setflags(write=False)
    return view


def sorted_in_rows(indptr: npt.NDArray[np.int64], ids: Ids) -> Ids:
    """Return the ids sorted within every row."""
    if len(indptr) == 2:
        return np.sort(ids)
    falls = ids[1:] < ids[:-1]
    starts = indptr[(indptr > 0) & (indptr < len(ids))]
    falls[starts - 1] = False  # ignore steps from one row to the next
    if not falls.any():
        return ids
    # Combine row and id into one number, which sorts several times faster than the pair.
    rows = np.repeat(np.arange(len(indptr) - 1, dtype=np.int64), np.diff(indptr))
    keys = np.sort(rows << 32 | ids.astype(np.int64) - UNKNOWN)
    return ((keys & 0xFFFFFFFF) + UNKNOWN).astype(np.int32)
