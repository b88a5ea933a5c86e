"""Base of LdSM and FastXML: ensembles of decision trees over label sets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove import _core
from labelgrove._errors import ModelStateError
from labelgrove._parameters import thread_count
from labelgrove.models._batch import BatchClassifier, BatchStart
from labelgrove.models.engine._examples import Examples, Start
from labelgrove.models.engine._learned import MISSING, Learned, known
from labelgrove.models.engine._records import Options
from labelgrove.trees._structure import depths_of
from labelgrove.tuning._pairs import FloatArray, IntArray


class ForestClassifier(BatchClassifier):
    """Base of the ensembles of trees that route examples; subclasses split nodes differently."""

    _learned: Learned[Options, _core.Forest] | None = None
    _takes_beam = False

    def _start(self) -> BatchStart:
        options = self._format.options.from_parameters(self.get_params(deep=False))
        return Start(options, partial(self._grow, options))

    def _grow(
        self, options: Options, examples: Examples, progress: _core.Progress, seen: Any
    ) -> _core.Forest:
        del seen
        engine = _core.Forest(options.to_dict())
        n_labels = examples.first + len(examples.fresh)
        engine.grow(
            *examples.rows.arrays,
            examples.indptr,
            examples.ids,
            examples.weights,
            self._gains(options, examples, n_labels),
            n_labels,
            thread_count(self.n_jobs),
            progress,
        )
        return engine

    def _gains(self, options: Any, examples: Examples, n_labels: int) -> FloatArray | None:
        """Return the value of each label in a ranking, or None if all are 1."""
        del options, examples, n_labels
        return None

    def _statistics(self) -> tuple[ForestStatistics, Mapping[str, npt.NDArray[Any]]]:
        """Compute the statistics that both have, and return the arrays for the estimator's own."""
        with self._reading("statistics_"):
            engine = known(self._learned).engine
            if not engine.can_learn:
                raise ModelStateError(
                    "this model was saved for prediction only, without statistics_"
                )
            nodes = engine.nodes()
            return _forest_statistics(nodes, engine.children, len(engine.labels())), nodes


@dataclass(frozen=True)
class ForestStatistics:
    """Statistics of all trees; arrays have one entry per node, tree after tree, roots first.

    Attributes
    ----------
    arity : int
        Number of children of an inner node.
    n_classes : int
        Number of labels that the trees know (K).
    trees : ndarray of int64
        The number of the node's tree.
    parents : ndarray of int64
        Position of the parent in these arrays; -1 for roots.
    depths : ndarray of int64
        0 for roots.
    reached : ndarray of int64
        Number of training examples that have reached the node.
    objective : ndarray of float64
        Final value of the objective of the split; for FastXML the mean nDCG of the node's
        examples in the rankings of their sides. NaN for leaves.
    """

    arity: int
    n_classes: int
    trees: IntArray
    parents: IntArray
    depths: IntArray
    reached: IntArray
    objective: FloatArray

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees, including leaves."""
        return len(self.parents)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return int(self.trees[-1]) + 1

    @property
    def depth(self) -> int:
        """Depth of the deepest tree."""
        return int(self.depths.max())

    @property
    def log_classes(self) -> float:
        """log_M K: the depth of a balanced tree with one leaf per label."""
        return math.log(max(self.n_classes, 1), self.arity)


def _forest_statistics(
    nodes: Mapping[str, npt.NDArray[Any]], arity: int, n_classes: int
) -> ForestStatistics:
    """Compute the statistics of trees from arrays named as in docs/format.md."""
    sizes = nodes["tree.nodes"].astype(np.int64)
    trees = np.repeat(np.arange(len(sizes)), sizes)
    first = nodes["node.first_child"].astype(np.int64)
    is_inner = first != int(MISSING)
    inner = np.flatnonzero(is_inner)
    roots = np.cumsum(sizes) - sizes
    children = (roots[trees[inner]] + first[inner])[:, None] + np.arange(arity)
    parents = np.full(len(trees), -1)
    parents[children] = inner[:, None]
    return ForestStatistics(
        arity=arity,
        n_classes=n_classes,
        trees=trees,
        parents=parents,
        depths=depths_of(np.append(-1, parents + 1))[1:] - 1,  # with a node above all roots
        reached=nodes["node.examples"].astype(np.int64),
        objective=of_inner(is_inner, nodes["split.objective"]),
    )


def of_inner(inner: npt.NDArray[np.bool_], values: npt.NDArray[Any]) -> FloatArray:
    """Expand values of the inner nodes to all nodes, with NaN for the leaves."""
    spread = np.full((len(inner), *values.shape[1:]), np.nan)
    spread[inner] = values
    return spread
