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
    there = X.data != 0
    if not there.any():
        return
    squares = np.square(X.data[there], dtype=np.float64)
    features, at, counts = np.unique(X.indices[there], return_inverse=True, return_counts=True)
    sizes = np.sqrt(np.bincount(at, squares) / counts)
    large = sizes > _TIMES * np.median(sizes)
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[there]
    whole = np.bincount(row, squares)
    of_large = np.bincount(row, squares * large[at])
    share = (of_large[whole > 0] / whole[whole > 0]).mean()
    if share > _SHARE:
        say_warning(
            f"features such as {features[sizes.argmax()]} ({large.sum():,} of {X.shape[1]:,}) have "
            f"values over {_TIMES} times as large as most others' and make up {100 * share:.0f} % "
            "of the squared length of a row, so the others hardly count; scale features of "
            "different units first"
        )
