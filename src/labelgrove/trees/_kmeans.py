"""Balanced k-means trees: labels that look alike stand close together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from labelgrove.trees._clustering import Clustering
from labelgrove.trees._label_tree import LabelTree


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

    A group of labels is cut into `arity` parts of equal size, so that the labels of a part look
    alike; and so on, until a group is small enough. With arity 2 that is the tree of Parabel
    (Prabhu et al. 2018): by turns each label goes to the centre that it resembles more, half of
    them to either, and the centres move to the middle of their labels. A larger arity is reached
    by cutting in two repeatedly, each time in the proportion of the parts to come. Wide trees are
    faster and no less accurate (Bonsai, Khandagale et al. 2020).

    Parameters
    ----------
    embeddings : sparse array or array-like, shape (n_labels, n_dimensions)
        What the labels look like, as from `label_embeddings`; only directions count.
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
        Or after so many turns.
    random_state : int, RandomState or None
        Decides on the first centres.
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
