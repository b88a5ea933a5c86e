"""The cost of a search on a label tree, in blocks and classifiers, and the tree of least cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelgrove import _core
from labelgrove._errors import ParameterError
from labelgrove._names import Names
from labelgrove._parameters import real
from labelgrove.trees._clustering import Clustering, refuse_mapping
from labelgrove.trees._embeddings import as_indicator
from labelgrove.trees._frequencies import Frequencies, as_frequencies, as_labels
from labelgrove.trees._label_tree import LabelTree
from labelgrove.trees._structure import places_of_labels

BLOCK_COST = 128.0
"""Cost of opening a block, measured in classifiers: docs/decisions/cost-tree.md."""


@dataclass(frozen=True)
class SearchCost:
    """The minimum work of a search, on average.

    Parameters
    ----------
    blocks : float
        Number of inner nodes on the paths to the labels searched for.
    classifiers : float
        Number of children of these nodes: opening a node's block evaluates all of them.
    cost : float
        `blocks` times the cost of opening one, plus `classifiers`.

    Examples
    --------
    >>> from labelgrove.trees import LabelTree, search_cost
    >>> search_cost(LabelTree.flat(["a", "b", "c"]), {"a": 2, "b": 1}, block_cost=10)
    SearchCost(blocks=1.0, classifiers=3.0, cost=13.0)
    """

    blocks: float
    classifiers: float
    cost: float


def search_cost(
    tree: LabelTree,
    frequencies: Any,
    *,
    labels: Iterable[Any] | None = None,
    block_cost: float = BLOCK_COST,
) -> SearchCost:
    """Return the minimum cost of searching for labels on a tree.

    A real search also opens blocks in vain. Unlike depth, which counts only blocks, this accounts
    for the higher cost of wide blocks.

    Parameters
    ----------
    tree : LabelTree
    frequencies : mapping from label to number, or array-like of shape (n_labels,) or (n, n_labels)
        How often each label is searched for. Alternatively a 0/1 matrix with one row per search
        for several labels: a block on the path to more than one of them is opened only once.
    labels : iterable of str or int, optional
        The labels of the numbers or columns; 0, 1, 2… if not given.
    block_cost : float
        Fixed cost of opening a block, whatever its width, measured in classifiers.

    Returns
    -------
    SearchCost

    Raises
    ------
    ParameterError
        `block_cost` is negative, a label is not in the tree or given twice, or the frequencies are
        negative, not finite, not one for each label, or all zero.
    DataError
        The matrix holds anything but 0 and 1.

    Examples
    --------
    >>> from labelgrove.trees import complete_tree
    >>> tree = complete_tree(range(4))
    >>> search_cost(tree, [1, 1, 1, 1]).classifiers
    4.0
    >>> search_cost(tree, [[1, 1, 0, 0], [1, 0, 1, 0]]).classifiers
    5.0
    """
    cost = real("block_cost", block_cost, 0.0, 1e9)
    wanted, names = Wanted.of(frequencies, labels)
    total = wanted.total
    if total <= 0:
        raise ParameterError("frequencies: all are 0; expected one above 0")
    leaves = places_of_labels(names, tree.leaf_labels)
    order = np.argsort(tree.depths, kind="stable")  # the core requires parents before children
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    parents = np.append(-1, place[tree.parents[order[1:]]])
    below = np.flatnonzero(np.isin(order, tree.leaves))
    ids = np.searchsorted(tree.leaves, order[below]).astype(np.uint32)
    visits = wanted.visits(parents, ids, leaves.astype(np.uint32))
    arity = np.bincount(parents[1:], minlength=parents.size)
    blocks = float(visits[arity > 0].sum()) / total
    classifiers = float(visits @ arity) / total
    return SearchCost(blocks, classifiers, cost * blocks + classifiers)


def cost_tree(
    embeddings: Any,
    frequencies: Any,
    *,
    labels: Iterable[Any] | None = None,
    block_cost: float = BLOCK_COST,
    interpolation: float = 0.5,
    smoothing: float = 0.1,
    tolerance: float = 1e-4,
    max_iterations: int = 100,
    random_state: Any = 0,
    n_jobs: int | None = 1,
) -> LabelTree:
    """Build the tree with the lowest search cost among those that keep similar labels together.

    Labels are first clustered into a binary tree, down to single labels, as by
    `interpolated_tree`. Then inner nodes are removed, their children moving up to their parent, to
    minimise the expected cost of a search (`search_cost`); dynamic programming finds the exact
    minimum. Frequent labels end up near the root, rare ones in wide blocks below. There is no
    arity and no leaf size to choose.

    Parameters
    ----------
    embeddings, labels, tolerance, max_iterations, random_state, n_jobs
        As for `kmeans_tree`.
    frequencies : array-like of shape (n_labels,), or sparse or array of shape (n, n_labels)
        How often each label is searched for. The label matrix of the examples gives better trees:
        a search for several labels opens a block once, however many of them are below it.
    block_cost : float
        Fixed cost of opening a block, whatever its width, measured in classifiers. Larger values
        give wider and shallower trees.
    interpolation : float
        λ of the clustering, from 0 (balanced) to 2 (Fano).
    smoothing : float
        Weight of additional searches, relative to the given ones, that are spread evenly over all
        labels.

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
        As for `kmeans_tree`; also if the label matrix holds anything but 0 and 1.

    Examples
    --------
    >>> looks = [[1, 0], [0, 1], [1, 0.1], [0.1, 1]]
    >>> cost_tree(looks, [1, 1, 1, 1], block_cost=100).depth
    1
    >>> tree = cost_tree(looks, [97, 1, 1, 1], block_cost=0.1)
    >>> tree.parents.tolist(), tree.labels
    ([-1, 0, 0, 1, 1, 1], {2: 0, 3: 2, 4: 1, 5: 3})
    """
    clustering = Clustering(
        embeddings, labels, 2, 1, tolerance, max_iterations, random_state, n_jobs
    )
    per_block = real("block_cost", block_cost, 0.0, 1e9)
    even = real("smoothing", smoothing, 0.0, 1e6)
    refuse_mapping(frequencies, "frequencies")
    wanted, _ = Wanted.of(frequencies)
    if wanted.n_labels != clustering.size:
        raise ParameterError(
            f"frequencies: there are {wanted.n_labels} for {clustering.size} embeddings; expected "
            "one for each"
        )
    lambda_ = real("interpolation", interpolation, 0.0, 2.0)
    f = wanted.marginal
    options = {"lambda": lambda_, "smoothing": even, "weighted_intermediate": True}
    parents, leaf_labels = clustering.arrays(f, f, options)
    visits = wanted.visits(parents, leaf_labels)
    one_each = Wanted.of(np.full(f.size, even * (wanted.total or 1.0) / f.size))[0]
    visits += one_each.visits(parents, leaf_labels)
    return clustering.named(*_core.cheapest_reduction(parents, leaf_labels, visits, per_block))


@dataclass(frozen=True)
class Wanted:
    """Sets of labels that are searched for together, and the frequency of each set."""

    indptr: npt.NDArray[np.int64]
    labels: npt.NDArray[np.uint32]
    frequencies: Frequencies
    n_labels: int

    @classmethod
    def of(cls, frequencies: Any, labels: Iterable[Any] | None = None) -> tuple[Wanted, Names]:
        """Read label frequencies or a matrix of sets; also return the labels' names."""
        if _is_matrix(frequencies):
            sets = as_indicator(frequencies)
            n_sets, n = sets.shape
            names = np.arange(n) if labels is None else as_labels(labels)
            if names.size != n:
                raise ParameterError(
                    f"labels: there are {names.size} for {n} columns; expected one for each"
                )
            indptr, ids = sets.indptr.astype(np.int64), sets.indices.astype(np.uint32)
            return cls(indptr, ids, np.ones(n_sets), n), names
        given = None if labels is None else as_labels(labels)
        names, values = as_frequencies(frequencies, given)
        n = values.size
        return cls(np.arange(n + 1), np.arange(n, dtype=np.uint32), values, n), names

    @property
    def total(self) -> float:
        """Total frequency of all searches for at least one label."""
        return float(self.frequencies[np.diff(self.indptr) > 0].sum())

    @property
    def marginal(self) -> Frequencies:
        """How often each label is searched for, alone or with other labels."""
        weights = np.repeat(self.frequencies, np.diff(self.indptr))
        return np.bincount(self.labels, weights, minlength=self.n_labels).astype(np.float64)

    def visits(
        self,
        parents: npt.NDArray[np.int64],
        leaf_labels: npt.NDArray[np.uint32],
        leaf_ids: npt.NDArray[np.uint32] | None = None,
    ) -> Frequencies:
        """Return how often each node is on the path to a label searched for.

        Parents come before children, and `leaf_labels` are in ascending order of the leaves. If
        they are other ids than those here, `leaf_ids` maps the latter to the former.
        """
        labels = self.labels if leaf_ids is None else leaf_ids[self.labels]
        return _core.visits(parents, leaf_labels, self.indptr, labels, self.frequencies)


def _is_matrix(frequencies: Any) -> bool:
    if isinstance(frequencies, list | tuple):
        return len(frequencies) > 0 and isinstance(frequencies[0], list | tuple | np.ndarray)
    return sp.issparse(frequencies) or getattr(frequencies, "ndim", 1) == 2
