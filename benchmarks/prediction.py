"""Speed of prediction: the exact best five labels, all rows at once and one row per call.

LabelGrove is measured on its own tree and also on the tree that napkinXC grew from the same stream,
so that both programs search the same tree.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp

import labelgrove
from benchmarks import _napkinxc
from benchmarks._data import Stream, is_there, load, precisions
from benchmarks._measure import Clock, fresh
from benchmarks._models import PAPER, learn
from benchmarks._results import command_line, write
from labelgrove import LabelTree, OnlinePLTClassifier

DATASETS = ("synth4k", "eurlex57k-tfidf")
K = 5
SINGLE_ROWS = 2000
PEER_SINGLE_ROWS = 500
BATCHES = 5
"""How often a process predicts all rows at once."""


def predict_once(dataset: str, on_peer_tree: bool) -> dict[str, Any]:
    """Learn in this process, then predict with the model as learnt and as loaded from a file."""
    options = dict(PAPER)
    if on_peer_tree:
        options |= {"policy": "fixed", "tree": LabelTree(*_napkinxc.tree(dataset))}
    model, _ = learn(load(dataset, "train").chunks, options)
    test = load(dataset, "test")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.lg")
        model.save(path, for_prediction=True)
        loaded = labelgrove.load(path)
        return {"learnt": _timed(model, test), "loaded": _timed(loaded, test)}


def _timed(model: OnlinePLTClassifier, test: Stream) -> dict[str, Any]:
    best, _, stats = model.predict_topk(test.X, K, return_stats=True)
    batch = []
    for _ in range(BATCHES):
        with Clock() as clock:
            model.predict_topk(test.X, K)
        batch.append(clock.to_dict())
    rows = [test.X[i : i + 1] for i in range(min(SINGLE_ROWS, len(test.labels)))]
    single = []
    with Clock() as clock:
        for row in rows:
            start = perf_counter()
            model.predict_topk(row, K)
            single.append(perf_counter() - start)
    return {
        "batch": batch,
        "single": {**_percentiles(single), "cpu": 1e6 * clock.cpu / len(rows)},
        "classifiers": float(np.mean(stats.classifiers)),
        "depth": float(np.mean(stats.depth)),
        "precision": precisions(best, test.labels),
    }


def cost_of_thresholds(n_labels: int = 100_000, calls: int = 2_000) -> dict[str, Any]:
    """One row per call on a large tree: `predict` with tuned thresholds, and `predict_topk`.

    Calls alternate, so that other load on the machine affects both.
    """
    labels = np.arange(n_labels)
    # Features for the label and for the nodes above it.
    groups = [labels, n_labels + labels // 64, 2 * n_labels + labels // 4096]
    features = np.stack(groups, axis=1)
    X = sp.csr_array(
        (np.ones(features.size, np.float32), features.ravel(), 3 * np.arange(n_labels + 1)),
        shape=(n_labels, 3 * n_labels),
    )
    model = OnlinePLTClassifier(policy="complete", replay=0)
    model.partial_fit(X, [[label] for label in range(n_labels)])
    model.set_thresholds(np.full(n_labels, 0.2))
    seconds: dict[str, list[float]] = {"predict": [], "predict_topk": []}
    for i in range(calls):
        row = X[i : i + 1]
        for name, times in seconds.items():
            start = perf_counter()
            getattr(model, name)(row)
            times.append(perf_counter() - start)
    found = {name: _percentiles(times) for name, times in seconds.items()}
    return {**found, "ratio": found["predict"]["p50"] / found["predict_topk"]["p50"]}


def cost_of_a_call(rounds: int = 100, *, dense: bool = False) -> float:
    """Processor microseconds of a call with one row, if the search is short.

    A model of 30 labels predicts 500 rows with ten of 5,000 features each, or with 100 dense ones;
    the fastest round counts.
    """
    rng = np.random.default_rng(0)
    X: Any = sp.csr_array(sp.random(500, 5_000, 0.002, random_state=0, dtype=np.float32))
    if dense:
        X = rng.normal(size=(500, 100)).astype(np.float32)
    labels = [[f"label {i}" for i in rng.choice(30, 2)] for _ in range(500)]
    model = OnlinePLTClassifier().fit(X, labels)
    rows = [X[i : i + 1] for i in range(500)]
    best = np.inf
    for _ in range(rounds):
        with Clock() as clock:
            for row in rows:
                model.predict_topk(row, K)
        best = min(best, clock.cpu)
    return float(1e6 * best / len(rows))


def _percentiles(seconds: list[float]) -> dict[str, float]:
    middle, high = np.percentile(1e6 * np.array(seconds), [50, 99])
    return {"p50": float(middle), "p99": float(high)}


def peer_once(dataset: str) -> dict[str, Any]:
    """Do the same with napkinXC, which always predicts with a loaded model."""
    found = _napkinxc.predict(dataset, BATCHES, PEER_SINGLE_ROWS)
    precision = precisions(_napkinxc.predicted(found), load(dataset, "test").labels)
    single = _percentiles(found["single"])
    return {"loaded": {"batch": found["batch"], "single": single, "precision": precision}}


def measure(dataset: str, repetitions: int, peers: bool) -> dict[str, Any]:
    """Run all programs in turns on one data set; results of all runs by program."""
    runs: dict[str, list[dict[str, Any]]] = {"own tree": []}
    if peers:
        runs |= {"napkinxc": [], "napkinxc's tree": []}
    for _ in range(repetitions):
        for name, found in runs.items():
            if name == "napkinxc":
                found.append(peer_once(dataset))
            else:
                on_peer_tree = name != "own tree"
                task = "benchmarks.prediction:predict_once"
                found.append(fresh(task, dataset=dataset, on_peer_tree=on_peer_tree))
            single, batch = found[-1]["loaded"]["single"], found[-1]["loaded"]["batch"]
            seconds = np.median([one["wall"] for one in batch])
            print(f"{dataset}: {name} {seconds:.3f} s, one row {single['p50']:.1f} µs", flush=True)
    return {"rows": len(load(dataset, "test").labels), "runs": runs}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``prediction-<dataset>.json``."""
    parser = command_line(__doc__ or "", DATASETS)
    parser.add_argument("--repetitions", type=int, default=3, help="processes per program")
    parser.add_argument(
        "--thresholds", action="store_true", help="measure only the cost of tuned thresholds"
    )
    parser.add_argument("--call", action="store_true", help="measure only the overhead of a call")
    parser.add_argument("--peers", action="store_true", help="measure napkinXC too (installs it)")
    chosen = parser.parse_args(arguments)
    if chosen.thresholds:
        print(cost_of_thresholds())
        return
    if chosen.call:
        for dense in (False, True):
            name = "dense" if dense else "sparse"
            print(f"{cost_of_a_call(dense=dense):.1f} µs a call, {name} row", flush=True)
        return
    for dataset in filter(is_there, chosen.subjects):
        found = measure(dataset, chosen.repetitions, chosen.peers)
        write(chosen.output, "prediction", dataset, found)


if __name__ == "__main__":
    main()
