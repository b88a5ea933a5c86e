"""How batch learning would scale to more threads: measured tasks, simulated schedule.

Every node is learnt separately in one thread, and the steps before the nodes are timed in a
single-threaded `fit`. The core's own rule then assigns the tasks to any number of threads.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp

from benchmarks._data import is_there, load
from benchmarks._measure import Clock, fresh
from benchmarks._results import command_line, write
from benchmarks.batch import DATASETS
from labelgrove import PLTClassifier, _core
from labelgrove.distributed._tasks import labels_below
from labelgrove.models.engine import _trees

THREADS = (2, 4, 16, 64)

_TILE, _NARROW_TILE, _MANY_EXAMPLES = 32, 16, 8192
_TASKS_A_THREAD, _SHARES_FOR_ALL = 4, 1.5  # these constants are copied from the core
_SHARED_OF_A_CUT = 0.5  # assumed parallel share of a cut that all threads work on
_LEAF_SIZE = 200


@dataclass(frozen=True)
class Node:
    """A node: seconds in one thread, the core's estimate of work, children, children per tile."""

    seconds: float
    work: int
    children: int
    tile: int


def measure(dataset: str) -> dict[str, Any]:
    """Seconds of every step of a single-threaded `fit`, and the speed-up with more threads."""
    stream = load(dataset, "train")
    seconds: dict[str, float] = {}
    given: list[tuple[Any, ...]] = []

    def timed(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **options: Any) -> Any:
            given.append(args)
            with Clock() as clock:
                result = call(*args, **options)
            seconds[name] = clock.cpu
            return result

        return run

    steps = {"vectors": (_trees, "embed_labels"), "clustering": (_trees, "kmeans_tree")}
    steps["nodes"] = (_core, "train_batch_plt")
    with ExitStack() as patches:
        for name, (module, call) in steps.items():
            wrapper = timed(name, getattr(module, call))
            patches.enter_context(patch.object(module, call, wrapper))
        with Clock() as fit:
            PLTClassifier(random_state=1).fit(stream.X, stream.labels)
    nodes = _nodes(*given[-1])
    n_labels = len({label for row in stream.labels for label in row})
    learnt = sum(node.seconds for node in nodes)
    assigning = max(seconds["nodes"] - learnt, 0.0)  # assigning rows to nodes
    alone = fit.cpu - sum(seconds.values())
    times = {}
    for threads in (1, *THREADS):
        shared = (seconds["vectors"] + assigning) / threads
        shared += _clustering(seconds["clustering"], n_labels, threads)
        times[threads] = alone + shared + timetable(nodes, threads)
    return {
        "seconds": {**seconds, "nodes": learnt + assigning, "alone": alone},
        "n_nodes": len(nodes),
        "tasks": {threads: len(tasks_of(nodes, threads)) for threads in THREADS},
        "longest": {threads: max(s for _, s in tasks_of(nodes, threads)) for threads in THREADS},
        "times": {threads: times[1] / times[threads] for threads in THREADS},
    }


def _nodes(options: Any, trees: Any, n_labels: int, *arrays: Any) -> list[Node]:
    """Learn every node of the first tree separately, from the rows with a label below it."""
    indptr, ids, values, label_indptr, labels = arrays[:5]
    parents, leaves = trees[0]
    width = int(ids.max(initial=0)) + 1
    X = sp.csr_array((values, ids.view(np.int32), indptr), shape=(len(indptr) - 1, width))
    Y = sp.csr_array((np.ones(len(labels), np.bool_), labels.view(np.int32), label_indptr))
    children = np.bincount(parents[1:], minlength=len(parents))
    nodes = []
    for node in np.flatnonzero(children[1:]) + 1:
        below = labels_below(parents, leaves, np.array([node]), n_labels)
        rows = np.flatnonzero(Y @ below[: Y.shape[1]])
        x, y = X[rows], Y[rows]
        features = (x.indptr.astype(np.int64), x.indices.astype(np.uint32), x.data)
        targets = (y.indptr.astype(np.int64), y.indices.astype(np.uint32))
        only, progress = np.array([node], np.uint32), _core.Progress()
        with Clock() as clock:
            _core.train_batch_nodes(
                options, trees[0], only, n_labels, *features, *targets, None, 1, progress, None
            )
        n, tile = int(children[node]), _NARROW_TILE if len(rows) >= _MANY_EXAMPLES else _TILE
        nodes.append(Node(clock.cpu, x.nnz * n, n, tile))
    return nodes


def tasks_of(nodes: Sequence[Node], threads: int) -> list[tuple[int, float]]:
    """Work and seconds of every task, in order of dispatch."""
    total = sum(node.work for node in nodes)
    tasks = []
    for node in nodes:
        tiles = -(-node.children // node.tile)
        wanted = 1 + (_TASKS_A_THREAD * threads if threads > 1 else 0) * node.work // (total + 1)
        width = -(-tiles // min(tiles, wanted)) * node.tile
        for first in range(0, node.children, width):
            share = min(width, node.children - first) / node.children
            tasks.append((int(node.work * share), node.seconds * share))
    return sorted(tasks, key=lambda task: -task[0])


def timetable(nodes: Sequence[Node], threads: int) -> float:
    """When the last thread is done if every idle thread takes the next task."""
    free = [0.0] * threads
    for _, seconds in tasks_of(nodes, threads):
        heapq.heappush(free, heapq.heappop(free) + seconds)
    return max(free)


def _clustering(seconds: float, n_labels: int, threads: int) -> float:
    """Seconds of bisecting level by level, assuming equal levels and equal groups in a level."""
    levels = max(1, int(np.ceil(np.log2(n_labels / _LEAF_SIZE))))
    took = 0.0
    for level in range(levels):
        groups = 2**level
        if groups * _SHARES_FOR_ALL < threads:
            took += 1 - _SHARED_OF_A_CUT + _SHARED_OF_A_CUT / threads
        else:
            took += -(-groups // threads) / groups
    return seconds * took / levels


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``schedule-<dataset>.json``."""
    chosen = command_line(__doc__ or "", DATASETS).parse_args(arguments)
    for dataset in filter(is_there, chosen.subjects):
        found = fresh("benchmarks.schedule:measure", dataset=dataset)
        print(f"{dataset}: {found['times']}", flush=True)
        write(chosen.output, "schedule", dataset, found)


if __name__ == "__main__":
    main()
