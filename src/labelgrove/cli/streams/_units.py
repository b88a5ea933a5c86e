"""A warning of features whose units make them outweigh all others."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from labelgrove.cli.streams._console import say_warning

#: Features with values so many times as large as those of the median feature are in another unit,
#: and with so much of the rows' squared length they leave the others without effect:
#: docs/decisions/batch-solver.md.
_TIMES, _SHARE = 50, 0.75


def warn_of_units(X: sp.csr_array) -> None:
    """Warn if few features with far larger values than most make up most of the rows' length."""
    squares = np.square(X.data, dtype=np.float64)
    counts = np.bincount(X.indices, squares > 0, minlength=X.shape[1])
    if not counts.any():
        return
    sizes = np.sqrt(np.bincount(X.indices, squares, minlength=X.shape[1]) / np.maximum(counts, 1))
    large = sizes > _TIMES * np.median(sizes[counts > 0])
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    whole = np.bincount(row, squares)
    of_large = np.bincount(row, squares * large[X.indices])
    share = (of_large[whole > 0] / whole[whole > 0]).mean()
    if share > _SHARE:
        say_warning(
            f"features such as {sizes.argmax()} ({large.sum():,} of {X.shape[1]:,}) have values "
            f"over {_TIMES} times as large as most others' and make up {100 * share:.0f} % of the "
            "squared length of a row, so the others hardly count; scale features of different "
            "units first"
        )
