"""CSR matrices in .npz files, as written by `scipy.sparse.save_npz`: features X and labels Y.

The two files are in the same folder, and their names differ in one part that is X or Y:
``NAME.X.npz`` and ``NAME.Y.npz``, or PECOS's ``X.trn.npz`` and ``Y.trn.npz``. Either of the two
names stands for both; ``NAME.npz`` (or ``NAME``) means the first kind of pair. Non-zero entries of
Y are labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from labelgrove._errors import FileFormatError
from labelgrove.data._chunks import Contents, Piece, SparseRows, nonzero_ids
from labelgrove.data._limits import MAX_ID
from labelgrove.data._npz_arrays import StoredCsr, load_csr
from labelgrove.data._rows import shown

_SIDE = re.compile(r"(?<![A-Za-z0-9])[XY](?![A-Za-z0-9])")
_ROWS_PER_PIECE = 4096


def pair_of(path: str) -> tuple[str, str]:
    """Return the paths of X and Y for the name of the pair or of one of its files.

    >>> pair_of("X.trn.npz")
    ('X.trn.npz', 'Y.trn.npz')
    >>> pair_of("news.npz")
    ('news.X.npz', 'news.Y.npz')
    """
    name = Path(path).name
    sides = list(_SIDE.finditer(name))
    if not sides:
        name = f"{name.removesuffix('.npz')}.X.npz"
        sides = list(_SIDE.finditer(name))
    start, end = sides[-1].span()
    features, labels = (
        str(Path(path).with_name(name[:start] + side + name[end:])) for side in "XY"
    )
    return features, labels


def read_npz(path: str, *, labels_required: bool = True) -> Contents:
    """Open a pair of .npz files; without `labels_required`, the label file may be missing."""
    x_path, y_path = pair_of(path)
    X = load_csr(x_path)
    Y = load_csr(y_path) if labels_required or Path(y_path).exists() else None
    for side, side_path, what in ((X, x_path, "features"), (Y, y_path, "labels")):
        if side is not None and side.n_columns > MAX_ID + 1:
            raise FileFormatError(
                side_path, None, f"has {side.n_columns} {what}; expected at most {MAX_ID + 1}"
            )
    if Y is not None and Y.n_rows != X.n_rows:
        raise FileFormatError(
            y_path, None, f"has {Y.n_rows} rows; expected the {X.n_rows} of {shown(x_path)}"
        )
    return Contents(
        _pieces(X, Y),
        is_text=False,
        labels_are_int=True,
        declared_rows=X.n_rows,
        declared_features=X.n_columns,
        declared_labels=Y.n_columns if Y is not None else None,
    )


def _pieces(X: StoredCsr, Y: StoredCsr | None) -> Iterator[Piece]:
    for start in range(0, X.n_rows, _ROWS_PER_PIECE):
        stop = min(start + _ROWS_PER_PIECE, X.n_rows)
        problems = [_first_problem(X, start, stop, "feature")]
        if Y is not None:
            problems.append(_first_problem(Y, start, stop, "label"))
        problem = min((p for p in problems if p is not None), key=lambda p: p[1], default=None)
        end = problem[1] if problem else stop
        if end > start:
            labels = nonzero_ids(*Y.part(start, end)) if Y is not None else [()] * (end - start)
            lines = np.arange(start + 1, end + 1, dtype=np.int64)
            yield Piece(labels, lines, _features(X, start, end))
        if problem:
            path, row, reason = problem
            raise FileFormatError(path, row + 1, reason)


def _first_problem(
    side: StoredCsr, start: int, stop: int, what: str
) -> tuple[str, int, str] | None:
    """Return path, row and reason of the first invalid entry in rows `start` to `stop`."""
    indptr, indices, data = side.part(start, stop)
    ids, values = indices.astype(np.int64), _float32(data)
    wrong_id = (ids < 0) | (ids >= side.n_columns)
    wrong_value = ~np.isfinite(values)
    if what == "label":
        wrong_value |= values < 0
    rows = np.repeat(np.arange(start, stop), np.diff(indptr))
    order = np.lexsort((ids, rows))
    repeated = np.zeros(len(ids), np.bool_)
    repeated[order[1:]] = (np.diff(ids[order]) == 0) & (np.diff(rows[order]) == 0)
    wrong = np.flatnonzero(wrong_id | wrong_value | repeated)
    if not len(wrong):
        return None
    place = int(wrong[0])
    name = f"row {rows[place] + 1}: {what} {ids[place]}"
    if wrong_id[place]:
        reason = f"{name} is out of range; expected 0 to {side.n_columns - 1}"
    elif wrong_value[place]:
        bounds = "finite, not negative" if what == "label" else "finite, within float32"
        reason = f"{name} has the value {data[place]}; expected one that is {bounds}"
    else:
        reason = f"{name} occurs twice; expected every {what} at most once in a row"
    return side.path, int(rows[place]), reason


def _features(X: StoredCsr, start: int, stop: int) -> SparseRows:
    """Return rows `start` to `stop` with sorted ids; every entry has been checked."""
    indptr, indices, data = X.part(start, stop)
    ids, values = indices.astype(np.int32), _float32(data)
    rows = np.repeat(np.arange(stop - start), np.diff(indptr))
    order = np.lexsort((ids, rows))
    return SparseRows(indptr, ids[order], values[order])


def _float32(values: NDArray[np.generic]) -> NDArray[np.float32]:
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return values.astype(np.float32)
