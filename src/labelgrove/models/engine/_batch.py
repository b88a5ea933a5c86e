"""Batch models with the online models prepared from them; online models on given trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from labelgrove import _core
from labelgrove._labels import LabelRegistry
from labelgrove.models._plt_options import EngineOptions
from labelgrove.models.engine._examples import Examples
from labelgrove.models.engine._learned import Arrays, without_prefix
from labelgrove.models.engine._trees import TreePlan, engine_tree

_PREFIX = "online."


class BatchEngine:
    """A batch engine for prediction and, unless None, an online one that continues to learn."""

    def __init__(self, batch: Any, online: Any = None) -> None:
        self.batch = batch
        self.online = online

    def __getattr__(self, name: str) -> Any:
        return getattr(self.batch, name)

    @property
    def can_learn(self) -> bool:
        """Whether there is an online model to continue with."""
        return self.online is not None

    def remove_labels(self, labels: npt.NDArray[np.uint32]) -> None:
        """Never predict these labels again."""
        self.batch.remove_labels(labels)
        if self.online is not None:
            self.online.remove_labels(labels)

    def size(self) -> dict[str, int]:
        """Return the number of weights, and bytes including the online model."""
        size: dict[str, int] = self.batch.size()
        if self.online is not None:
            held = self.online.size()
            size["model_bytes"] += held["model_bytes"]
            size["memory_bytes"] = held["memory_bytes"]
        return size

    def save(self, for_prediction: bool, *, streamed: bool = False) -> dict[str, Any]:
        """Return the learnt state."""
        arrays: dict[str, Any] = self.batch.save(for_prediction, streamed)
        if self.online is not None and not for_prediction:
            beside = self.online.save(False, streamed)
            arrays |= {_PREFIX + name: array for name, array in beside.items()}
        return arrays

    @classmethod
    def load(
        cls,
        options: Mapping[str, Any],
        arrays: Arrays,
        for_prediction: bool,
        let_go: Callable[[], None] | None = None,
        check_only: bool = False,
    ) -> Self:
        """Restore an engine from the result of :meth:`save`, or raise ValueError."""
        batch = _core.CompactPlt.load(dict(options), arrays, True, let_go)
        if options["online"] is None or for_prediction:
            return cls(batch)
        beside = without_prefix(_PREFIX, arrays)
        # Compare the numbers first, because the engine allocates memory for this many labels.
        if not np.array_equal(beside["counters"][:1], arrays["counters"][:1]):
            raise ValueError("the labels of the online and the batch model do not match")
        online = _core.OnlinePlt.load(options["online"], beside, False, let_go, check_only)
        if not np.array_equal(online.labels(), batch.labels()):
            raise ValueError("the labels of the online and the batch model do not match")
        return cls(batch, online)


def start_on_sample(
    options: EngineOptions, examples: Examples, n_sample: int, n_jobs: int | None
) -> _core.OnlinePlt:
    """Return an untrained engine on a balanced k-means tree of the first examples' labels.

    Learning all examples from there is OPLT-W: the tree has all labels of the sample already.
    """
    end = int(examples.indptr[n_sample])
    ids = examples.ids[:end]
    if ids.size == 0:
        return _core.OnlinePlt(options.to_dict())
    parameters = {
        "tree": "kmeans",
        "n_trees": options.n_trees,
        "arity": options.arity,
        "max_leaf_size": options.max_leaves,
        "interpolation": 0.0,
        "n_jobs": n_jobs,
    }
    rows, indptr = examples.rows.part(0, n_sample), examples.indptr[: n_sample + 1]
    trees = TreePlan(parameters, options.seed).build(rows, indptr, ids, LabelRegistry())
    arrays = [engine_tree(tree, tree.leaf_labels) for tree in trees]
    return _core.OnlinePlt.on_trees(options.to_dict(), arrays, int(ids.max()) + 1)


def prepare(
    options: EngineOptions, batch: _core.CompactPlt, examples: Examples, threads: int
) -> _core.OnlinePlt:
    """Return an engine that continues from a batch model as if it had learnt the examples itself.

    It makes one pass over them from the batch solution, then restores the weights of the solution.
    The pass leaves the optimiser state, auxiliary classifiers and remembered examples.
    """
    arrays = batch.save(False, streamed=True)
    engine = _core.OnlinePlt.from_batch(options.to_dict(), arrays, None)
    learn_once(engine, examples, threads)
    engine.restore_inherited()
    return engine


def learn_once(engine: _core.OnlinePlt, examples: Examples, threads: int) -> None:
    """Learn all examples, in order."""
    rows = examples.rows
    labels = (examples.indptr, examples.ids)
    engine.learn(*rows.arrays, *labels, 0, rows.n_rows, threads, examples.weights)
