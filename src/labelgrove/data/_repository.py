"""Other files of the Extreme Classification Repository: propensities and filters."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from labelgrove._errors import FileFormatError
from labelgrove.data._lines import lines_in
from labelgrove.data._rows import shown

_PAIR = re.compile(rb"(\d{1,10})[ \t]+(\d{1,10})")


def read_inverse_propensities(path: str | os.PathLike[str]) -> NDArray[np.float64]:
    r"""Read official inverse propensities, such as ``inv_prop.txt``: one number per line and label.

    Parameters
    ----------
    path : str or os.PathLike
        Plain, .gz, .bz2, .xz or .zst.

    Returns
    -------
    ndarray of shape (L,)
        One value per label, in order of label ids.

    Raises
    ------
    OSError
        If the file cannot be opened.
    FileFormatError
        At a line that is not a number of at least 1, or if the file is empty.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "inv_prop.txt")
    ...     _ = path.write_text("1.5\n20.25\n")
    ...     read_inverse_propensities(path).tolist()
    [1.5, 20.25]
    """
    name = os.fsdecode(path)
    found = []
    for number, line in _lines(name):
        try:
            value = float(line)
        except ValueError:
            value = math.nan
        if not 1 <= value < math.inf:
            raise FileFormatError(
                name, number, f"found {shown(line)}; expected a number of at least 1"
            )
        found.append(value)
    return np.array(found)


def read_filter_pairs(path: str | os.PathLike[str]) -> dict[int, tuple[int, ...]]:
    r"""Read (row, label) pairs to be excluded, such as ``filter_labels_test.txt``.

    Parameters
    ----------
    path : str or os.PathLike
        Plain, .gz, .bz2, .xz or .zst: lines of ``row label``, both counted from 0.

    Returns
    -------
    dict of int to tuple of int
        The labels of each row that has any.

    Raises
    ------
    OSError
        If the file cannot be opened.
    FileFormatError
        At a line that is not a pair of numbers, or if the file is empty.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "filter_labels_test.txt")
    ...     _ = path.write_text("0 17\n4 2\n4 3\n")
    ...     read_filter_pairs(path)
    {0: (17,), 4: (2, 3)}
    """
    name = os.fsdecode(path)
    found: dict[int, dict[int, None]] = {}
    for number, line in _lines(name):
        pair = _PAIR.fullmatch(line)
        if pair is None:
            raise FileFormatError(
                name, number, f"found {shown(line)}; expected a row and a label, such as 0 17"
            )
        found.setdefault(int(pair[1]), {})[int(pair[2])] = None
    return {row: tuple(labels) for row, labels in found.items()}


def _lines(path: str) -> Iterator[tuple[int, bytes]]:
    """Yield the non-empty lines with their numbers; raises an error if there are none."""
    empty = True
    for number, line in lines_in(path):
        if stripped := line.strip():
            empty = False
            yield number, stripped
    if empty:
        raise FileFormatError(path, None, "the file is empty; expected one line per entry")
