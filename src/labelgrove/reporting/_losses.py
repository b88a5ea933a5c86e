"""Where in the tree missed labels are lost."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from labelgrove._cuts import reaches
from labelgrove._sparse import without
from labelgrove.metrics._inputs import IntArray, rows_of
from labelgrove.metrics._score import FloatArray
from labelgrove.reporting._measured import Measured

if TYPE_CHECKING:
    from labelgrove.models import LabelPaths


@dataclass(frozen=True)
class Losses:
    """The missed labels of all examples, one entry per miss of a label that the model knows.

    A label was lost at the first node on its path whose probability is below the label's threshold,
    or for classes below the probability of the best class.
    """

    labels: IntArray
    nodes: IntArray  # where they were lost
    depths: IntArray  # of these nodes; the root has depth 0
    at_leaf: Any  # whether the node is the label's leaf

    def by_node(self, n_nodes: int) -> IntArray:
        """Count the misses lost at each node."""
        return np.bincount(self.nodes, minlength=n_nodes).astype(np.int64)

    def main_nodes(self, n_labels: int) -> tuple[IntArray, FloatArray]:
        """Find, for each label, the node where it is lost most often (-1: none), and its share."""
        pairs, counts = np.unique(np.stack([self.labels, self.nodes]), axis=1, return_counts=True)
        order = np.lexsort((pairs[1], -counts, pairs[0]))
        labels, first = np.unique(pairs[0][order], return_index=True)
        node = np.full(n_labels, -1, np.int64)
        share = np.full(n_labels, np.nan)
        node[labels] = pairs[1][order][first]
        misses = np.bincount(self.labels, minlength=n_labels)
        share[labels] = counts[order][first] / misses[labels]
        return node, share


def find_losses(model: Any, X: Any, measured: Measured) -> Losses:
    """Follow every missed label from the root to the node where it is lost."""
    names, truth = measured.labels, measured.truth
    missed = without(truth, measured.answer)
    rows = rows_of(missed)
    labels = missed.indices.astype(np.int64)
    ends = missed.indptr.tolist()
    wanted = [[names[j] for j in labels[start:end].tolist()] for start, end in pairwise(ends)]
    paths: LabelPaths = model.label_paths(X, wanted)
    needed = measured.thresholds[labels]
    if measured.rule == "class":
        needed = measured.estimates.max(axis=1).toarray().ravel()[rows]
    step = _first_below(paths, needed)
    there = np.diff(paths.indptr) > 0
    at = paths.indptr[:-1][there] + step[there]
    return Losses(
        labels=labels[there],
        nodes=paths.nodes[at],
        depths=step[there],
        at_leaf=at == paths.indptr[1:][there] - 1,
    )


def _first_below(paths: LabelPaths, needed: FloatArray) -> IntArray:
    """Find the first product that is too small on every path, or else the leaf."""
    lengths = np.diff(paths.indptr)
    enough = reaches(paths.products, np.repeat(needed, lengths))
    # Products decrease along a path, so the sufficient ones come first.
    before = np.concatenate([[0], np.cumsum(enough)])
    passed = before[paths.indptr[1:]] - before[paths.indptr[:-1]]
    return np.asarray(np.minimum(passed, np.maximum(lengths - 1, 0)), np.int64)
