"""Batch models from passes of an online learner: IPLT."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove import _core
from labelgrove._validation import Rows
from labelgrove.models._online_plt_options import EngineOptions
from labelgrove.models.engine._learned import Arrays


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
