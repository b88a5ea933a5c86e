"""The unit of exchange between files and models: a run of labelled examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove._errors import DataError


@dataclass(frozen=True, eq=False)
class Examples:
    """Consecutive examples of one file, in the file's order.

    Parameters
    ----------
    X : scipy.sparse.csr_array of float32, shape (n, d), or None
        Features, with sorted and unique column ids in each row; None if the file holds text.
        `d` is the number that the file's header declares, or else one more than the largest id
        read so far.
    text : sequence of str, or None
        The texts, if the file holds text.
    labels : sequence of tuples
        One tuple per row, in the file's order, without repetitions. Integers from the formats that
        number their labels (xmlc, svmlight, npz), strings from the others.
    first_line : int
        Line of the first row, counted from 1 (0 if there is no row).
    lines : ndarray of int64, shape (n,)
        Line of every row, counted from 1; for .npz the row number, counted from 1.

    Raises
    ------
    DataError
        If both or neither of `X` and `text` are given, or the lengths differ.

    Examples
    --------
    >>> import numpy as np
    >>> chunk = Examples(None, ["a red fox"], [("fox", "red")], 1, np.array([1]))
    >>> chunk.n_rows
    1
    """

    X: csr_array | None
    text: Sequence[str] | None
    labels: Sequence[tuple[str, ...]] | Sequence[tuple[int, ...]]
    first_line: int
    lines: NDArray[np.int64]

    def __post_init__(self) -> None:
        if (self.X is None) == (self.text is None):
            raise DataError("examples: expected either features X or text, but not both")
        rows = self.X.shape[0] if self.X is not None else len(self.text or ())
        if not rows == len(self.labels) == len(self.lines):
            raise DataError(
                f"examples have {rows} rows, {len(self.labels)} label tuples and "
                f"{len(self.lines)} line numbers; expected the same number of each"
            )

    @property
    def n_rows(self) -> int:
        """Number of examples."""
        return len(self.labels)
