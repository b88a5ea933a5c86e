"""SciPy's sparse arrays, taken apart with care."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove._errors import DataError


def triples(matrix: Any, what: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """Return row, column and value of every stored entry, trusting nothing that was put together.

    SciPy's own conversions between the compressed formats write where the indices point to, so a
    matrix is only taken apart here, never converted.
    """
    if matrix.format in {"csr", "csc"}:
        indptr = np.asarray(matrix.indptr)
        n_major = matrix.shape[0 if matrix.format == "csr" else 1]
        stored = min(len(matrix.indices), len(matrix.data))
        if len(indptr) != n_major + 1 or indptr[0] != 0 or indptr[-1] > stored:
            raise DataError(f"{what} is damaged: its indptr does not fit its shape {matrix.shape}")
        counts = np.diff(indptr)
        if counts.size and counts.min() < 0:
            raise DataError(f"{what} is damaged: its indptr falls at {int(np.argmin(counts))}")
        major = np.repeat(np.arange(n_major, dtype=np.int64), counts)
        minor = matrix.indices[: len(major)]
        pair = (major, minor) if matrix.format == "csr" else (minor, major)
        return (*pair, matrix.data[: len(major)])
    coo = matrix if matrix.format == "coo" else matrix.tocoo()
    return coo.row, coo.col, coo.data
