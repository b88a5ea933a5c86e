"""Online label trees that do not begin from nothing: from a sample's tree, or from a batch model.

Both are warm starts of OPLT (Jasinska-Kobus et al. 2021, section 5.4).
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove import _core
from labelgrove._validation import Rows
from labelgrove.models._online_plt_options import LEARNERS, EngineOptions
from labelgrove.models.batch._tree_plan import embed_labels, label_matrix
from labelgrove.models.engine._learned import Arrays
from labelgrove.models.engine._trees import engine_tree_of_ids
from labelgrove.trees import kmeans_tree

# Where nothing is known but how many examples a node has had: as if this share of them had been
# mistakes from which AROW learnt, or all of them had left AdaGrad this squared gradient, each
# example's unit length spread evenly over the features that the node knows.
_MISTAKES = 0.25
_SQUARED_GRADIENT = 1 / 16

_THETA_MARGIN = 1.0  # all of a node's examples are positive for its auxiliary classifier


def start_on_sample(
    options: EngineOptions,
    rows: Rows,
    indptr: npt.NDArray[np.int64],
    ids: npt.NDArray[np.uint32],
    n_sample: int,
    n_jobs: int | None,
) -> _core.OnlinePlt:
    """An engine on the balanced k-means tree of the first examples' labels; it has learnt nothing.

    Learning all examples then is OPLT-W: those of the sample meet a tree that does not grow.
    """
    end = int(indptr[n_sample])
    present = np.unique(ids[:end]).astype(np.int64)
    if present.size == 0:
        return _core.OnlinePlt(options.to_dict())
    indicator = label_matrix(indptr[: n_sample + 1], ids[:end], present)
    embeddings = embed_labels(_first(rows, n_sample), indicator)
    tree = kmeans_tree(
        embeddings,
        labels=present,
        arity=options.arity,
        max_leaf_size=options.max_leaves,
        random_state=options.seed,
        n_jobs=n_jobs,
    )
    parents, labels = engine_tree_of_ids(tree)
    return _core.OnlinePlt.on_tree(options.to_dict(), parents, labels, int(present[-1]) + 1)


def _first(rows: Rows, n: int) -> Rows:
    if rows.dense:
        values = rows.values[: n * rows.n_features]
        return dataclasses.replace(rows, values=values, n_rows=n)
    end = int(rows.indptr[n])
    return dataclasses.replace(
        rows, indptr=rows.indptr[: n + 1], ids=rows.ids[:end], values=rows.values[:end], n_rows=n
    )


class BatchWeights:
    """What a batch model of one tree has learnt.

    Parameters
    ----------
    batch : the compiled batch model
    """

    def __init__(self, batch: Any) -> None:
        self._batch = batch
        self.arrays: Arrays = batch.save(True)
        parents = self.arrays["tree.parent"]
        self._width = np.bincount(parents[1:], minlength=len(parents))

    def block(self, v: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.float32]]:
        """Features and weights (features + 1, children), the bias first; none of a leaf."""
        if self._width[v] == 0:
            return np.zeros(0, np.uint32), np.zeros((1, 0), np.float32)
        features, weights = self._batch.weights_of(v)
        return features, weights.reshape(len(features) + 1, int(self._width[v]))

    def examples_of_nodes(self, label_counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """How many examples each node has had, at most, from how many each label had."""
        parents, labels = self.arrays["tree.parent"], self.arrays["tree.label"]
        total = int(self.arrays["counters"][1])
        counts = np.zeros(len(parents), np.int64)
        for leaf in np.flatnonzero((self._width == 0) & (labels < len(label_counts))):
            v = int(leaf)
            while v != 0:
                counts[v] += label_counts[labels[leaf]]
                v = int(parents[v])
        counts[0] = total
        return np.minimum(counts, total)


def learn_on(options: EngineOptions, model: Any, label_counts: npt.NDArray[np.int64]) -> Any:
    """An engine that goes on from a batch model's weights, its state guessed from label counts."""
    batch = BatchWeights(model)
    saved = _blank(options, batch.arrays)
    counts = batch.examples_of_nodes(label_counts)
    features, weights, states = [], [], []
    for v, theta in zip(saved["block.node"].tolist(), saved["block.theta"].tolist(), strict=True):
        ids, own = batch.block(v)
        column = np.zeros((len(own), theta), np.float32)
        column[0] = _THETA_MARGIN
        features.append(ids)
        weights.append(np.hstack([own, column]))
        states.append(np.broadcast_to(_state(options, int(counts[v]), len(own)), weights[-1].shape))
    saved["block.updates"] = counts[saved["block.node"]].astype(np.uint64)
    return _loaded(options, saved, features, weights, states)


def prepare(
    options: EngineOptions,
    model: Any,
    rows: Rows,
    indptr: npt.NDArray[np.int64],
    ids: npt.NDArray[np.uint32],
    threads: int,
) -> Any:
    """An engine that goes on from a batch model's weights as if it had learnt the examples itself.

    It goes over them once, from the batch solution on; then the solution's weights are put back.
    What remains is the optimiser's state there, auxiliary classifiers, remembered examples.
    """
    batch = BatchWeights(model)
    saved = _blank(options, batch.arrays)
    saved["counters"][1] = 0
    features, weights, states = [], [], []
    fresh = 1.0 if options.learner == LEARNERS["arow"] else 0.0
    for v, theta in zip(saved["block.node"].tolist(), saved["block.theta"].tolist(), strict=True):
        block_features, own = batch.block(v)
        features.append(block_features)
        weights.append(np.hstack([own, np.zeros((len(own), theta), np.float32)]))
        states.append(np.full(weights[-1].shape, fresh, np.float32))
    engine = _loaded(options, saved, features, weights, states)
    engine.learn(*rows.arrays, indptr, ids, 0, rows.n_rows, threads)
    after = engine.save(False)
    begin = 0
    values = after["weights.value"]
    for i, v in enumerate(after["block.node"].tolist()):
        own = batch.block(v)[1]
        columns = own.shape[1] + int(after["block.theta"][i])
        n_rows = int(after["block.features"][i]) + 1
        block = values[begin : begin + n_rows * columns].reshape(n_rows, columns)
        block[:, : own.shape[1]] = 0.0
        block[: len(own), : own.shape[1]] = own  # features keep their order, new ones come behind
        begin += n_rows * columns
    return _core.OnlinePlt.load(options.to_dict(), after, False)


def _blank(options: EngineOptions, arrays: Arrays) -> Arrays:
    """The archive of an engine on the batch model's tree that has learnt nothing."""
    label_count = int(arrays["counters"][0])
    blank = _core.OnlinePlt.on_tree(
        options.to_dict(), arrays["tree.parent"], arrays["tree.label"], label_count
    )
    saved: Arrays = blank.save(False)
    saved["tree.silent"] = arrays["tree.silent"]
    saved["counters"][1] = arrays["counters"][1]
    return saved


def _loaded(
    options: EngineOptions,
    saved: Arrays,
    features: list[Any],
    weights: list[Any],
    states: list[Any],
) -> Any:
    saved["block.features"] = np.array([len(ids) for ids in features], np.uint32)
    saved["weights.feature"] = np.concatenate(features).astype(np.uint32)
    saved["weights.value"] = np.concatenate([w.ravel() for w in weights]).astype(np.float32)
    if options.learner != LEARNERS["sgd"]:
        saved["weights.state"] = np.concatenate([s.ravel() for s in states]).astype(np.float32)
    return _core.OnlinePlt.load(options.to_dict(), saved, False)


def _state(options: EngineOptions, n_examples: int, n_rows: int) -> npt.NDArray[np.float64]:
    """State of each row of a node, of shape (n_rows, 1), from how many examples it has had."""
    squares = np.full((n_rows, 1), n_examples / max(n_rows - 1, 1))
    squares[0] = n_examples
    if options.learner == LEARNERS["arow"]:
        return 1 / (1 + _MISTAKES * squares / options.r)
    return _SQUARED_GRADIENT * squares
