"""Interpolated label trees: a trade-off between similarity and frequency of labels."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Real
from typing import Any

from labelgrove._errors import ParameterError
from labelgrove._parameters import flag, real
from labelgrove.trees._clustering import Clustering
from labelgrove.trees._frequencies import Frequencies, as_frequencies
from labelgrove.trees._label_tree import LabelTree


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

    Similar labels share nodes, and frequent labels are nearer to the root; the parameter λ says
    which of the two counts more. At 0 the tree is that of `kmeans_tree`; at 1 both children of a
    node are equally *frequent* (weighted 2-means); at 2 only frequency counts (Fano). A group of
    labels is cut in two by maximising Equation 4, in turns over the sides (Lemma 1; a label that
    falls on the cut goes to the front, as the paper rounds) and over the centres.

    Parameters
    ----------
    embeddings : sparse array or array-like, shape (n_labels, n_dimensions)
        One vector v a label, as from `label_embeddings`; only directions count.
    frequencies : array-like of shape (n_labels,)
        How often each label occurs, f, in any unit, as from `label_frequencies`.
    fano_frequencies : array-like of shape (n_labels,), optional
        What takes the place of f as λ goes from 1 to 2: f̃, as from the function
        `fano_frequencies`. By default f.
    labels : iterable of str or int, optional
        Names of the rows; 0, 1, 2… when not given.
    interpolation : float
        λ, from 0 to 2.
    lambda_prime : float, optional
        λ' ≥ 0, the paper's other scale; given, it decides: λ = 2λ'/(1 + λ').
    smoothing : float
        γ: how much is added to all frequencies together, relative to their sum, since future
        frequencies may differ. It keeps trees from growing too deep.
    weighted_intermediate : bool
        False goes straight from balanced 2-means to Fano, past weighted 2-means (the green curve
        of the paper's figure 3): f(λ) is then (2 - λ)/L + λf̃, smoothed and scaled to sum 1, and
        the Fano term has the weight λ.
    arity : int
        Children of a node. The paper has 2; wider nodes are cut in two repeatedly.
    max_leaf_size : int
        A group of this size, or of `arity` at most, is not cut: its labels become the leaves of
        one node. The paper has 100 and 1.
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
        Embeddings that hold NaN or an infinity; a label that is neither a string nor an integer.

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
    clustering = Clustering(embeddings, labels, locals())
    f = clustering_frequencies(frequencies, clustering.size, "frequencies")
    fano = f
    if fano_frequencies is not None:
        fano = clustering_frequencies(fano_frequencies, clustering.size, "fano_frequencies")
    options = {
        "lambda": as_lambda(interpolation, lambda_prime),
        "smoothing": real({"smoothing": smoothing}, "smoothing", 0.0, 1e6),
        "weighted_intermediate": flag("weighted_intermediate", weighted_intermediate),
    }
    return clustering.named(*clustering.arrays(f, fano, options))


def as_lambda(interpolation: float, lambda_prime: float | None) -> float:
    """Return λ, from λ' if that is given.

    Raises
    ------
    ParameterError
        One of them is outside its domain.
    """
    if lambda_prime is None:
        return real({"interpolation": interpolation}, "interpolation", 0.0, 2.0)
    if (
        isinstance(lambda_prime, bool)
        or not isinstance(lambda_prime, Real)
        or not lambda_prime >= 0
    ):
        raise ParameterError(f"lambda_prime={lambda_prime!r}: expected a number of at least 0")
    odds = float(lambda_prime)
    return 2.0 if math.isinf(odds) else 2.0 * (odds / (1.0 + odds))


def clustering_frequencies(frequencies: Any, n_labels: int, name: str) -> Frequencies:
    """Return frequencies as float64, one for each label.

    Raises
    ------
    ParameterError
        As `as_frequencies`, or another number of them.
    """
    try:
        _, values = as_frequencies(frequencies, None)
    except ParameterError as error:
        raise ParameterError(f"{name}{str(error).removeprefix('frequencies')}") from None
    if values.size != n_labels:
        raise ParameterError(
            f"{name}: there are {values.size} for {n_labels} embeddings; expected one for each"
        )
    return values
