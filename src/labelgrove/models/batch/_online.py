"""Online learners of trees that are known before the first example.

Warm starts of OPLT, from a sample's tree or from a batch model (Jasinska-Kobus et al. 2021, section
5.4); and IPLT, whose passes over all examples make a batch model.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove import _core
from labelgrove._validation import Rows
from labelgrove.models._online_plt_options import EngineOptions
from labelgrove.models.batch._tree_plan import embed_labels, label_matrix
from labelgrove.models.engine._learned import Arrays
from labelgrove.models.engine._trees import engine_tree_of_ids
from labelgrove.trees import kmeans_tree


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


def learn_on(
    options: EngineOptions, batch: _core.CompactPlt, label_counts: npt.NDArray[np.int64]
) -> _core.OnlinePlt:
    """An engine that goes on from a batch model's weights, its state guessed from label counts."""
    return _core.OnlinePlt.from_batch(options.to_dict(), batch, label_counts.astype(np.uint64))


def prepare(
    options: EngineOptions,
    batch: _core.CompactPlt,
    rows: Rows,
    indptr: npt.NDArray[np.int64],
    ids: npt.NDArray[np.uint32],
    threads: int,
) -> _core.OnlinePlt:
    """An engine that goes on from a batch model's weights as if it had learnt the examples itself.

    It goes over them once, from the batch solution on; then the solution's weights are put back.
    What remains is the optimiser's state there, auxiliary classifiers, remembered examples.
    """
    engine = _core.OnlinePlt.from_batch(options.to_dict(), batch, None)
    engine.learn(*rows.arrays, indptr, ids, 0, rows.n_rows, threads)
    engine.put_weights(batch)
    return engine


def learn_iplt(
    options: EngineOptions,
    passes: int,
    weight_threshold: float,
    trees: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]],
    label_count: int,
    rows: Rows,
    indptr: npt.NDArray[np.int64],
    ids: npt.NDArray[np.uint32],
    threads: int,
) -> Arrays:
    """Learn the trees by passes of AdaGrad (Jasinska-Kobus et al. 2021, Algorithm 1).

    Returns
    -------
    dict of ndarray
        As the core's `CompactPlt` loads them.
    """
    models = []
    for parents, labels in trees:
        model = _core.OnlinePlt.on_tree(options.to_dict(), parents, labels, label_count)
        for _ in range(passes):
            model.learn(*rows.arrays, indptr, ids, 0, rows.n_rows, threads)
        models.append(model)
    return _core.join_online_plts(models, weight_threshold)
