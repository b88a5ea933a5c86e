"""Huffman and Fano trees: frequent labels are near the root, as short codewords are in a code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from labelgrove._names import Names
from labelgrove._parameters import integer
from labelgrove.trees._frequencies import Frequencies, as_frequencies
from labelgrove.trees._label_tree import LabelTree
from labelgrove.trees._structure import Nodes

_EPSILON = float(np.finfo(np.float64).eps)


def huffman_tree(
    frequencies: Any, labels: Sequence[Any] | Names | None = None, *, arity: int = 2
) -> LabelTree:
    """Build the tree of least expected depth, after Huffman (1952), bottom up.

    The `arity` rarest nodes are merged repeatedly under a new node; the first merge takes only as
    many as it must so that the root is full. Among equally rare nodes, labels come before inner
    nodes, which also keeps the tree as shallow as possible; among equally rare labels the last
    comes first. Frequencies may be 0.

    Parameters
    ----------
    frequencies : mapping from label to number, or sequence of numbers
        Frequency of each label, in any unit.
    labels : sequence of str or int, optional
        The labels of a sequence of frequencies; 0, 1, 2... if not given.
    arity : int
        Maximum number of children of an inner node.

    Returns
    -------
    LabelTree
        Inner nodes first, then the labels from the most frequent to the rarest.

    Raises
    ------
    ParameterError
        `arity` is below 2, a frequency is negative or not finite, a label is given twice, or the
        numbers of labels and frequencies differ.
    DataError
        A label is neither a string nor an integer, or labels of both types are mixed.

    Examples
    --------
    >>> counts = {"law": 5, "tax": 2, "sea": 1, "oil": 1}
    >>> tree = huffman_tree(counts)
    >>> {name: int(tree.depths[node]) for node, name in tree.labels.items()}
    {'law': 1, 'tax': 2, 'sea': 3, 'oil': 3}
    >>> round(tree.expected_depth(counts), 3)
    1.667
    """
    arity = integer("arity", arity, 2)
    names, values = as_frequencies(frequencies, labels)
    order = np.argsort(-values, kind="stable")
    if names.size < 2:
        return LabelTree([-1], names)
    above = _merge(values[order[::-1]].tolist(), arity)
    # The last node created is the root and becomes node 0; the most frequent label comes first.
    parents = np.array(above)[::-1]
    return LabelTree(np.where(parents < 0, -1, parents.size - 1 - parents), names[order])


def _merge(weights: list[float], arity: int) -> list[int]:
    """Return the parent of every node: first the leaves, given in ascending order of weight.

    New nodes never get lighter, so two queues replace a heap.
    """
    n_leaves = len(weights)
    parents = [-1] * n_leaves
    leaf, made = 0, n_leaves  # the heads of both queues
    take = 2 + (n_leaves - 2) % (arity - 1)
    slack = 1.0 + _EPSILON * n_leaves  # rounding must not break ties; see _cut
    while leaf < n_leaves or len(weights) - made > 1:
        new, weight = len(weights), 0.0
        for _ in range(take):
            if leaf < n_leaves and (made == len(weights) or weights[leaf] <= slack * weights[made]):
                child = leaf
                leaf += 1
            else:
                child = made
                made += 1
            weight += weights[child]
            parents[child] = new
        weights.append(weight)
        parents.append(-1)
        take = arity
    return parents


def fano_tree(
    frequencies: Any,
    labels: Sequence[Any] | Names | None = None,
    *,
    arity: int = 2,
    max_leaves: int = 1,
) -> LabelTree:
    """Build a tree after Fano (1949), top down.

    Labels are sorted, the most frequent first (ties in the given order). A group of labels is cut
    into `arity` runs. Each run in turn takes as many labels as bring its sum closest to an even
    share of the remainder (the fewer labels in a tie), but leaves at least one label for each
    later run. With arity 2 this is the most balanced split into a front and a rest. If all
    remaining labels have frequency 0, they count equally.

    Baharav et al. (2021, section 3.2) always assign the middle label to the front; that variant is
    the interpolated tree with λ = 2.

    Parameters
    ----------
    frequencies, labels
        As for `huffman_tree`.
    arity : int
        Number of runs per split.
    max_leaves : int
        A group no larger than this, or than `arity`, is not split: its labels become the leaves
        of one node.

    Returns
    -------
    LabelTree
        Numbered by level; siblings from the most frequent to the rarest.

    Raises
    ------
    ParameterError
        As for `huffman_tree`; also if `max_leaves` is below 1.
    DataError
        As for `huffman_tree`.

    Examples
    --------
    >>> tree = fano_tree({"law": 4, "tax": 3, "sea": 3, "oil": 2})
    >>> tree.parents.tolist(), tree.labels
    ([-1, 0, 0, 1, 1, 2, 2], {3: 'law', 4: 'tax', 5: 'sea', 6: 'oil'})
    """
    arity = integer("arity", arity, 2)
    whole = max(arity, integer("max_leaves", max_leaves, 1))
    names, values = as_frequencies(frequencies, labels)
    if not names.size:
        return LabelTree([-1], {})
    order = np.argsort(-values, kind="stable")
    parents, nodes = _split(values[order], arity, whole)
    return LabelTree(parents, names[order][np.argsort(nodes)])


def _split(values: Frequencies, arity: int, whole: int) -> tuple[Nodes, Nodes]:
    """Return the parents of all nodes and the node of every value, working level by level.

    The depth is bounded, since a float can be halved only about two thousand times.
    """
    # Sum from the rare end: a sum from the front would round small values away.
    rest = np.append(_sums(values[::-1])[::-1], 0.0)
    nodes = np.zeros(values.size, np.int64)
    parents = [np.array([-1])]
    n_nodes = 0  # above the level
    starts, ends = np.array([0]), np.array([values.size])
    while True:
        level = n_nodes + np.arange(starts.size)
        n_nodes += starts.size
        single = ends - starts == 1
        nodes[starts[single]] = level[single]
        starts, ends, level = starts[~single], ends[~single], level[~single]
        if not starts.size:
            break
        above, starts, ends = _runs(rest, starts, ends, arity, whole)
        parents.append(level[above])
    return np.concatenate(parents), nodes


def _sums(values: Frequencies) -> Frequencies:
    """Return cumulative sums, with errors that do not grow with their number."""
    sums = np.cumsum(values)
    before = np.append(0.0, sums[:-1])
    added = sums - before
    lost = (before - (sums - added)) + (values - added)  # Knuth's TwoSum
    found: Frequencies = sums + np.cumsum(lost)
    return found


def _runs(
    rest: Frequencies, starts: Nodes, ends: Nodes, arity: int, whole: int
) -> tuple[Nodes, Nodes, Nodes]:
    """Cut groups into runs: return for every run the index of its group, its start and its end.

    The groups are in ascending order.
    """
    sizes = ends - starts
    large = sizes > whole
    # Small groups are split into single labels.
    first, small = starts[~large], sizes[~large]
    inside = np.arange(small.sum()) - np.repeat(np.cumsum(small) - small, small)
    begins = [np.repeat(first, small) + inside]
    if large.any():
        first, last = starts[large], ends[large]
        begins.append(first)
        for runs_left in range(arity, 1, -1):
            first = _cut(rest, first, last, runs_left)
            begins.append(first)
    begin = np.sort(np.concatenate(begins))
    group = np.searchsorted(starts, begin, side="right") - 1
    return group, begin, np.minimum(np.append(begin[1:], ends[-1]), ends[group])


def _cut(rest: Frequencies, first: Nodes, last: Nodes, runs_left: int) -> Nodes:
    """Return where the next run of every group ends."""
    total = rest[first] - rest[last]
    # The first cut at which the run reaches its share; the previous one may be closer.
    over = np.searchsorted(-rest, -(rest[first] - total / runs_left), side="left")
    least, most = first + 1, last - (runs_left - 1)
    over = np.clip(over, least, most)
    under = np.clip(over - 1, least, most)
    missing = np.abs(total - runs_left * (rest[first] - rest[under]))
    excess = np.abs(runs_left * (rest[first] - rest[over]) - total)
    # Rounding must not break ties, or shares would give another tree than counts.
    rounding = 4 * _EPSILON * runs_left * rest[first]
    cut = np.where(missing <= excess + rounding, under, over)
    even = np.ceil((last - first) / runs_left - 0.5).astype(np.int64)
    return np.where(total > 0, cut, np.clip(first + even, least, most))
