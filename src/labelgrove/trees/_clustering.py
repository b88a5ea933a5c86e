"""What the builders by clustering share: their checks, and the call into the core."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove import _core
from labelgrove._errors import DataError, ParameterError
from labelgrove._names import Names
from labelgrove._parameters import integer, real, seed_from, thread_count
from labelgrove._validation import check_rows
from labelgrove.trees._embeddings import MANY_COLUMNS, without_empty_columns
from labelgrove.trees._frequencies import Frequencies, as_labels
from labelgrove.trees._label_tree import LabelTree
from labelgrove.trees._structure import Nodes

_MAX_ARITY = 2**20
_NONE = np.empty(0, np.float64)
_STRAIGHT = {"lambda": 0.0, "smoothing": 0.0, "weighted_intermediate": True}


class Clustering:
    """Label vectors, and how they are to be clustered; every parameter is checked.

    Parameters
    ----------
    embeddings : sparse array or array-like, shape (n_labels, n_dimensions)
    labels : iterable of str or int, or None
        Names of the rows; 0, 1, 2… when None.
    parameters : mapping
        `arity`, `max_leaf_size`, `tolerance`, `max_iterations`, `random_state` and `n_jobs` as of
        `kmeans_tree`.

    Raises
    ------
    ParameterError
        A parameter outside its domain, or a number of labels other than that of rows.
    DataError
        Embeddings that hold NaN or an infinity, or are no matrix; labels that are none.
    """

    def __init__(
        self, embeddings: Any, labels: Iterable[Any] | None, parameters: Mapping[str, Any]
    ) -> None:
        try:
            rows = check_rows(embeddings)
        except DataError as error:
            raise DataError(f"embeddings{str(error).removeprefix('X')}") from None
        many = not rows.dense and rows.n_features > MANY_COLUMNS
        self._rows = without_empty_columns(rows)[0] if many else rows
        self.size = rows.n_rows
        self.names: Names = np.arange(self.size) if labels is None else as_labels(labels)
        if self.names.size != self.size:
            raise ParameterError(
                f"labels: there are {self.names.size} for {self.size} embeddings; expected one "
                "for each"
            )
        self._threads = thread_count(parameters["n_jobs"])
        self._options = {
            "arity": integer("arity", parameters["arity"], 2, _MAX_ARITY),
            "max_leaf_size": integer("max_leaf_size", parameters["max_leaf_size"], 1),
            "tolerance": real(parameters, "tolerance", 0.0, 1.0),
            "max_iterations": integer("max_iterations", parameters["max_iterations"], 1),
            "seed": seed_from(parameters["random_state"]),
        }

    def arrays(
        self,
        frequencies: Frequencies = _NONE,
        fano_frequencies: Frequencies = _NONE,
        interpolation: Mapping[str, Any] = _STRAIGHT,
    ) -> tuple[Nodes, npt.NDArray[np.uint32]]:
        """Return the tree's parents, numbered by level, and the ids of its leaves' labels.

        Without frequencies all labels weigh the same.
        """
        parents, ids = _core.cluster_labels(
            *self._rows.arrays,
            self._rows.n_features,
            frequencies,
            fano_frequencies,
            {**self._options, **interpolation},
            self._threads,
        )
        return parents, ids

    def named(self, parents: Nodes, ids: npt.NDArray[np.uint32]) -> LabelTree:
        """Return the tree of such arrays over the labels' names."""
        return LabelTree(parents, self.names[ids])
