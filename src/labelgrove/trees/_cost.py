"""Cost trees: as cheap to search as labels that look alike allow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from labelgrove import _core
from labelgrove._errors import ParameterError
from labelgrove._parameters import real
from labelgrove.trees._clustering import Clustering
from labelgrove.trees._label_tree import LabelTree
from labelgrove.trees._search_cost import BLOCK_COST, Wanted


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
    """Build the tree that costs a search least, of all that keep alike labels together.

    Labels are first clustered into a binary tree, down to the single label, as by
    `interpolated_tree`. Then inner nodes are left out, their children becoming their parent's,
    such that the expected cost of a search (`search_cost`) is the least possible: exactly so, by
    dynamic programming. Every node gets the width that pays: what is often looked for comes to
    stand high up and alone, what is rare in wide blocks below. So there is neither an arity to
    choose nor a size of leaves.

    Parameters
    ----------
    embeddings : sparse array or array-like, shape (n_labels, n_dimensions)
        What the labels look like, as from `label_embeddings`; only directions count.
    frequencies : array-like of shape (n_labels,), or sparse or array of shape (n, n_labels)
        How often each label is looked for. Better, the label matrix of the examples themselves: a
        search for several labels opens a block once, however many of them are below it.
    labels : iterable of str or int, optional
        Names of the rows; 0, 1, 2… when not given.
    block_cost : float
        What opening a block costs, whatever its width, in classifiers: the larger, the wider and
        shallower the tree.
    interpolation : float
        λ of the clustering, from 0 (balanced) to 2 (Fano).
    smoothing : float
        Part of all searches that are expected to look for labels evenly, whatever their frequency.
    tolerance, max_iterations, random_state, n_jobs
        As for `kmeans_tree`.

    Returns
    -------
    LabelTree
        Numbered by level.

    Raises
    ------
    ParameterError
        A parameter outside its domain; frequencies that are negative, not finite, or not one for
        each label.
    DataError
        Embeddings that hold NaN or an infinity; a matrix of labels that holds anything but 0 and
        1; a label that is neither a string nor an integer.

    Examples
    --------
    >>> looks = [[1, 0], [0, 1], [1, 0.1], [0.1, 1]]
    >>> cost_tree(looks, [1, 1, 1, 1], block_cost=100).depth
    1
    >>> tree = cost_tree(looks, [97, 1, 1, 1], block_cost=0.1)
    >>> tree.parents.tolist(), tree.labels
    ([-1, 0, 0, 1, 1, 1], {2: 0, 3: 2, 4: 1, 5: 3})
    """
    binary = {"arity": 2, "max_leaf_size": 1}
    clustering = Clustering(embeddings, labels, {**locals(), **binary})
    per_block = real({"block_cost": block_cost}, "block_cost", 0.0, 1e9)
    even = real({"smoothing": smoothing}, "smoothing", 0.0, 1e6)
    wanted, _ = Wanted.of(frequencies)
    if wanted.n_labels != clustering.size:
        raise ParameterError(
            f"frequencies: there are {wanted.n_labels} for {clustering.size} embeddings; expected "
            "one for each"
        )
    lambda_ = real({"interpolation": interpolation}, "interpolation", 0.0, 2.0)
    f = wanted.marginal
    options = {"lambda": lambda_, "smoothing": even, "weighted_intermediate": True}
    parents, leaf_labels = clustering.arrays(f, f, options)
    visits = wanted.visits(parents, leaf_labels)
    one_each = Wanted.of(np.full(f.size, even * (wanted.total or 1.0) / f.size))[0]
    visits += one_each.visits(parents, leaf_labels)
    return clustering.named(*_core.cheapest_reduction(parents, leaf_labels, visits, per_block))
