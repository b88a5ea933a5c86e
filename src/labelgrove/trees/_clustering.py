"""Balanced k-means trees, and what they share with other trees by clustering."""

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


def kmeans_tree(
    embeddings: Any,
    *,
    labels: Iterable[Any] | None = None,
    arity: int = 2,
    max_leaf_size: int = 100,
    tolerance: float = 1e-4,
    max_iterations: int = 100,
    random_state: Any = 0,
    n_jobs: int | None = 1,
) -> LabelTree:
    """Build a tree by balanced spherical k-means, from the top downwards.

    A group of labels is cut into `arity` parts of equal size whose labels are similar, and these
    parts again, until a group is small enough. With arity 2 this is the tree of Parabel (Prabhu
    et al. 2018): in turns, each label goes to the centre that it is more similar to, half of them
    to either, and the centres move to the mean of their labels. A larger arity is reached by
    cutting in two repeatedly, each time in proportion to the parts to come. Wide trees are faster
    and no less accurate (Bonsai, Khandagale et al. 2020).

    Parameters
    ----------
    embeddings : sparse array or array-like, shape (n_labels, n_dimensions)
        One vector a label, as from `label_embeddings`; only directions count.
    labels : iterable of str or int, optional
        Names of the rows; 0, 1, 2… when not given.
    arity : int
        Children of every inner node above the last.
    max_leaf_size : int
        A group of this size, or of `arity` at most, is not cut: its labels become the leaves of
        one node.
    tolerance : float
        Cutting ends when the mean similarity of labels and centres rises by less.
    max_iterations : int
        Or after so many iterations.
    random_state : int, RandomState or None
        Seed of the initial centres.
    n_jobs : int, optional
        Threads; -1 for all processors. The tree is the same for any number of them.

    Returns
    -------
    LabelTree
        Numbered by level.

    Raises
    ------
    ParameterError
        A parameter outside its domain, or a number of labels other than that of embeddings.
    DataError
        Embeddings that hold NaN or an infinity; a label that is neither a string nor an integer.

    Examples
    --------
    >>> looks = [[1, 0, 0.1], [0, 1, 0.2], [0.9, 0, 0], [0, 0.8, 0.1]]
    >>> tree = kmeans_tree(looks, labels=["cat", "oak", "dog", "elm"], max_leaf_size=2)
    >>> [sorted(tree.labels[leaf] for leaf in tree.children(node)) for node in tree.children(0)]
    [['cat', 'dog'], ['elm', 'oak']]
    """
    clustering = Clustering(embeddings, labels, locals())
    return clustering.named(*clustering.arrays())


class Clustering:
    """Label vectors and checked parameters, ready to be clustered.

    Parameters
    ----------
    embeddings : sparse array or array-like, shape (n_labels, n_dimensions)
    labels : iterable of str or int, or None
        Names of the rows; 0, 1, 2… when None.
    parameters : mapping
        `arity`, `max_leaf_size`, `tolerance`, `max_iterations`, `random_state` and `n_jobs`, as for
        `kmeans_tree`.

    Raises
    ------
    ParameterError
        A parameter outside its domain, or a number of labels other than that of rows.
    DataError
        Embeddings that hold NaN or an infinity, or are no matrix; labels of the wrong type.
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
        """Return the tree that such arrays describe, with the labels' names."""
        return LabelTree(parents, self.names[ids])
