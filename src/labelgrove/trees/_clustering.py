"""Balanced k-means trees, and interpolations between these and Fano trees."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove import _core
from labelgrove._errors import DataError, ParameterError, brief
from labelgrove._names import Names
from labelgrove._parameters import flag, integer, number_from, real, seed_from, thread_count
from labelgrove._validation import check_rows
from labelgrove.trees._embeddings import MANY_COLUMNS, without_empty_columns
from labelgrove.trees._frequencies import Frequencies, as_frequencies, as_labels
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
    """Build a tree by balanced spherical k-means, top down.

    A group of labels is split recursively into `arity` parts of equal size, each of similar
    labels, until it is small enough. With arity 2 this is the tree of Parabel (Prabhu et al.
    2018), which alternates two steps: assign half of the labels to either centre, by similarity,
    and move each centre to the mean of its labels. A larger arity is reached by repeated splits in
    two, each in proportion to the number of parts on either side. Wide trees are faster and no
    less accurate (Bonsai, Khandagale et al. 2020).

    Parameters
    ----------
    embeddings : sparse array or array-like, shape (n_labels, n_dimensions)
        One vector per label, as from `label_embeddings`; only directions count.
    labels : iterable of str or int, optional
        Names of the rows; 0, 1, 2… if not given.
    arity : int
        Number of children of every inner node, except those just above the leaves.
    max_leaf_size : int
        A group no larger than this, or than `arity`, is not split: its labels become the leaves
        of one node.
    tolerance : float
        A split is final when the mean similarity of labels to centres rises by less than this.
    max_iterations : int
        Maximum number of iterations per split.
    random_state : int, RandomState or None
        Seed of the initial centres.
    n_jobs : int, optional
        Number of threads; -1 for all processors. It does not affect the tree.

    Returns
    -------
    LabelTree
        Numbered by level.

    Raises
    ------
    ParameterError
        A parameter is outside its domain, or the numbers of labels and embeddings differ.
    DataError
        The embeddings hold NaN or infinity, or a label is neither a string nor an integer.

    Examples
    --------
    >>> looks = [[1, 0, 0.1], [0, 1, 0.2], [0.9, 0, 0], [0, 0.8, 0.1]]
    >>> tree = kmeans_tree(looks, labels=["cat", "oak", "dog", "elm"], max_leaf_size=2)
    >>> [sorted(tree.labels[leaf] for leaf in tree.children(node)) for node in tree.children(0)]
    [['cat', 'dog'], ['elm', 'oak']]
    """
    clustering = Clustering(
        embeddings, labels, arity, max_leaf_size, tolerance, max_iterations, random_state, n_jobs
    )
    return clustering.named(*clustering.arrays())


class Clustering:
    """Label vectors and parameters, checked as for `kmeans_tree` and ready to be clustered."""

    def __init__(
        self,
        embeddings: Any,
        labels: Iterable[Any] | None,
        arity: int,
        max_leaf_size: int,
        tolerance: float,
        max_iterations: int,
        random_state: Any,
        n_jobs: int | None,
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
        self._threads = thread_count(n_jobs)
        self._options = {
            "arity": integer("arity", arity, 2, _MAX_ARITY),
            "max_leaf_size": integer("max_leaf_size", max_leaf_size, 1),
            "tolerance": real("tolerance", tolerance, 0.0, 1.0),
            "max_iterations": integer("max_iterations", max_iterations, 1),
            "seed": seed_from(random_state),
        }

    def arrays(
        self,
        frequencies: Frequencies = _NONE,
        fano_frequencies: Frequencies = _NONE,
        interpolation: Mapping[str, Any] = _STRAIGHT,
    ) -> tuple[Nodes, npt.NDArray[np.uint32]]:
        """Return the tree's parents, numbered by level, and the ids of its leaves' labels.

        Without frequencies, all labels have equal weight.
        """
        parents, ids = _core.cluster_labels(
            *self._rows.arrays,
            self._rows.n_features,
            frequencies,
            fano_frequencies,
            {**self._options, **interpolation},
            self._threads,
            not self._rows.ids.flags.writeable,
        )
        return parents, ids

    def named(self, parents: Nodes, ids: npt.NDArray[np.uint32]) -> LabelTree:
        """Return the tree described by these arrays, with the labels' names."""
        return LabelTree(parents, self.names[ids])


def interpolated_tree(
    embeddings: Any,
    frequencies: Any,
    *,
    fano_frequencies: Any = None,
    labels: Iterable[Any] | None = None,
    interpolation: float = 1.0,
    lambda_prime: float | None = None,
    smoothing: float = 0.1,
    weighted_intermediate: bool = True,
    arity: int = 2,
    max_leaf_size: int = 100,
    tolerance: float = 1e-4,
    max_iterations: int = 100,
    random_state: Any = 0,
    n_jobs: int | None = 1,
) -> LabelTree:
    """Build an interpolated label tree after Baharav et al. (2021).

    Similar labels share nodes, and frequent labels are nearer to the root; λ sets the balance
    between the two. At 0 the tree is that of `kmeans_tree`; at 1 both children of a node are
    equally *frequent* (weighted 2-means); at 2 only frequency counts (Fano). A group of labels is
    split in two by maximising Equation 4 alternately over the sides (Lemma 1; a label that falls
    on the cut goes to the front, following the paper's rounding) and over the centres.

    Parameters
    ----------
    embeddings, labels, tolerance, max_iterations, random_state, n_jobs
        As for `kmeans_tree`.
    frequencies : array-like of shape (n_labels,)
        Frequency f of each label, in any unit, as from `label_frequencies`.
    fano_frequencies : array-like of shape (n_labels,), optional
        f̃, which replaces f as λ goes from 1 to 2, as from the function `fano_frequencies`. By
        default f.
    interpolation : float
        λ, from 0 to 2.
    lambda_prime : float, optional
        λ' ≥ 0, the paper's other scale. If given, it overrides `interpolation`: λ = 2λ'/(1 + λ').
    smoothing : float
        γ: the total added to all frequencies, relative to their sum, because future frequencies
        may differ. It keeps trees from growing too deep.
    weighted_intermediate : bool
        False interpolates directly between balanced 2-means and Fano, bypassing weighted 2-means
        (the green curve in the paper's figure 3): f(λ) is then (2 - λ)/L + λf̃, smoothed and
        scaled to sum 1, and the Fano term has the weight λ.
    arity : int
        Number of children of a node. The paper uses 2; wider nodes are split in two repeatedly.
    max_leaf_size : int
        A group no larger than this, or than `arity`, is not split: its labels become the leaves
        of one node. The paper uses 100 and 1.

    Returns
    -------
    LabelTree
        Numbered by level.

    Raises
    ------
    ParameterError
        As for `kmeans_tree`; also if the frequencies are negative, not finite, or not one for each
        label.
    DataError
        As for `kmeans_tree`.

    Examples
    --------
    >>> looks = [[1, 0], [0, 1], [1, 0.1], [0.1, 1]]
    >>> often = [8, 1, 2, 1]
    >>> for interpolation in (0, 2):
    ...     tree = interpolated_tree(looks, often, interpolation=interpolation, max_leaf_size=1)
    ...     print(round(tree.expected_depth(often), 2))
    2.0
    1.58
    """
    clustering = Clustering(
        embeddings, labels, arity, max_leaf_size, tolerance, max_iterations, random_state, n_jobs
    )
    f = clustering_frequencies(frequencies, clustering.size, "frequencies")
    fano = f
    if fano_frequencies is not None:
        fano = clustering_frequencies(fano_frequencies, clustering.size, "fano_frequencies")
    options = {
        "lambda": as_lambda(interpolation, lambda_prime),
        "smoothing": real("smoothing", smoothing, 0.0, 1e6),
        "weighted_intermediate": flag("weighted_intermediate", weighted_intermediate),
    }
    return clustering.named(*clustering.arrays(f, fano, options))


def as_lambda(interpolation: float, lambda_prime: float | None) -> float:
    """Return λ, computed from λ' if that is given."""
    if lambda_prime is None:
        return real("interpolation", interpolation, 0.0, 2.0)
    odds = number_from(lambda_prime)
    if not odds >= 0:
        raise ParameterError(f"lambda_prime={brief(lambda_prime)}: expected a number of at least 0")
    return 2.0 if math.isinf(odds) else 2.0 * (odds / (1.0 + odds))


def clustering_frequencies(frequencies: Any, n_labels: int, name: str) -> Frequencies:
    """Return frequencies as float64 after checking that there is one for each label."""
    refuse_mapping(frequencies, name)
    _, values = as_frequencies(frequencies, None, name)
    if values.size != n_labels:
        raise ParameterError(
            f"{name}: there are {values.size} for {n_labels} embeddings; expected one for each"
        )
    return values


def refuse_mapping(frequencies: Any, name: str) -> None:
    """Refuse frequencies by label, whose order need not be that of the embeddings."""
    if isinstance(frequencies, Mapping):
        raise ParameterError(
            f"{name}: found a mapping; expected a number for each embedding, in the same order"
        )
