"""LOMtree, memory trees and baselines against Vowpal Wabbit: error, and examples per second.

Step size and passes of every method, in both programs, are those with the smallest error on the
last tenth of the training set, or of its first 20,000 rows, after learning the rest; then the whole
training set is learnt. LOMtree with k − 1 inner nodes has the same limit as Vowpal Wabbit's
``--log_multi``. The filter tree is plain Python, so its times are meaningless.
"""

from __future__ import annotations

import atexit
import math
import shutil
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import labelgrove
from benchmarks import _vowpal_wabbit
from benchmarks._class_trees import FilterTree, one_against_all, rtree
from benchmarks._data import Stream, is_there, label_count, load
from benchmarks._measure import Clock, about, fresh
from benchmarks._results import command_line, earlier, write

DATASETS = ("clinc150-tfidf", "onet-tasks", "onet-ten", "gutenberg-classes", "aloi-like")

STEPS = (0.25, 0.5, 1.0, 2.0, 4.0)
PASSES = (3,)
"""Tried with the best step size of one pass."""

SEARCHED = 20_000
"""Rows of the training set used in the search for a step size."""

ENOUGH = 10.0
"""Seconds of learning after which a run is not repeated."""

SWAP_RESISTANCE = 4
WIDE = 10_000_000_000
"""Above this many weight updates in a pass, one-against-all is tried with one pass only."""

PEERS = {
    "vw log_multi": f"--log_multi {{k}} --swap_resistance {SWAP_RESISTANCE}",
    "vw recall_tree": "--recall_tree {k}",
    "vw oaa": "--oaa {k}",
    # Room for all examples; each new one sends three old ones down the tree again.
    "vw memory_tree": "--memory_tree {nodes} --max_number_of_labels {k} --online "
    "--leaf_example_multiplier 10 --dream_repeats 3",
}
OURS: dict[str, dict[str, Any]] = {
    "LOMtree": {"estimator": "LOMTreeClassifier", "step": "r"},
    "LOMtree, k − 1 nodes": {"estimator": "LOMTreeClassifier", "step": "r", "nodes": True},
    "LOMtree, k − 1 nodes, plain steps": {
        "estimator": "LOMTreeClassifier",
        "step": "learning_rate",
        "nodes": True,
        "learner": "sgd",
    },
    "memory tree": {"estimator": "MemoryTreeClassifier", "step": "r"},
    "memory tree, one path, votes alone": {
        "estimator": "MemoryTreeClassifier",
        "step": "r",
        "leaves": 1,
        "classifiers": False,
    },
}
"""``step`` names the parameter to tune; ``nodes`` sets the peer's limit of nodes."""

BASELINES = ("Rtree", "filter tree", "one against all")
"""From `benchmarks._class_trees`; ``r``, or the filter tree's step size, is tuned."""

Setting = tuple[float, int]
"""Step size and passes."""


def split(stream: Stream) -> tuple[Stream, Stream]:
    """Split the first `SEARCHED` rows into all but the last tenth, and the last tenth."""
    rows = min(len(stream.labels), SEARCHED)
    n = rows * 9 // 10
    first = Stream(stream.X[:n], stream.labels[:n])
    return first, Stream(stream.X[n:rows], stream.labels[n:rows])


def parts(dataset: str, searching: bool) -> tuple[Stream, Stream]:
    """The rows to learn and the rows to predict."""
    train = load(dataset, "train")
    return split(train) if searching else (train, load(dataset, "test"))


def learn_ours(
    dataset: str, method: str, settings: list[Setting], searching: bool
) -> list[dict[str, Any]]:
    """Learn and predict in this process, once per setting."""
    train, test = parts(dataset, searching)
    rows = [_dense(train), _dense(test)]
    classes = [np.array([label for (label,) in part.labels]) for part in (train, test)]
    found = []
    for step, passes in settings:
        model = new_model(method, label_count(dataset), step, passes)
        with Clock() as learning:
            model.fit(rows[0], classes[0])
        with Clock() as predicting:
            best = predicted(method, model, rows[1])
        found.append(
            {
                "learning_cpu": round(learning.cpu, 4),
                "predicting_cpu": round(predicting.cpu, 4),
                "model_bytes": model.size()["model_bytes"],
                "error": round(100 * float(np.mean(best != classes[1])), 3),
            }
        )
    return found


def new_model(method: str, k: int, step: float, passes: int) -> Any:
    """A new model of ours for the classes 0 to k − 1."""
    if method == "Rtree":
        return rtree(range(k), r=step, epochs=passes)
    if method == "one against all":
        return one_against_all(range(k), r=step, epochs=passes)
    if method == "filter tree":
        return FilterTree(range(k), learning_rate=step, epochs=passes)
    options = dict(OURS[method])
    kind = getattr(labelgrove, options.pop("estimator"))
    options |= {options.pop("step"): step, "epochs": passes}
    if options.pop("nodes", False):
        options["max_nodes"] = k - 1
    return kind(**options)


def predicted(method: str, model: Any, rows: Any) -> Any:
    """Predict the class of every row; the random tree follows one path, as in the paper."""
    if method == "Rtree":
        return model.predict_topk(rows, 1, beam_width=1)[0][:, 0]
    return model.predict(rows)


def _dense(stream: Stream) -> Any:
    """Rows as a dense array if no value is 0."""
    return stream.X.toarray() if stream.X.nnz == math.prod(stream.X.shape) else stream.X


@cache
def texts(dataset: str, *, searching: bool) -> Path:
    """Folder of the peer's text files, shared by its methods and removed at exit."""
    folder = Path(tempfile.mkdtemp(prefix=f"{dataset}-{'search' if searching else 'all'}-"))
    atexit.register(shutil.rmtree, folder)
    return folder


def learn_peer(
    dataset: str, method: str, settings: list[Setting], searching: bool
) -> list[dict[str, Any]]:
    """Do the same with Vowpal Wabbit."""
    train, test = parts(dataset, searching)
    options = PEERS[method].format(k=label_count(dataset), nodes=max(2, len(train.labels) // 50))
    runs = [(f"{options} --learning_rate {step}", passes) for step, passes in settings]
    return _vowpal_wabbit.learn_and_predict(train, test, runs, texts(dataset, searching=searching))


def runs_of(
    dataset: str, method: str, settings: list[Setting], searching: bool
) -> list[dict[str, Any]]:
    """Learn with several settings in a process of its own; one result per setting."""
    arguments: dict[str, Any] = {
        "dataset": dataset,
        "method": method,
        "settings": settings,
        "searching": searching,
    }
    if method in PEERS:
        found = learn_peer(**arguments)
    else:
        found = fresh("benchmarks.multiclass:learn_ours", **arguments)
    return [
        {"step": step, "passes": passes, **one}
        for (step, passes), one in zip(settings, found, strict=True)
    ]


def searched(dataset: str, method: str, steps: Sequence[float]) -> list[dict[str, Any]]:
    """Try all step sizes with one pass, then the best of them with more passes."""
    if method == "filter tree":
        steps = steps[:1]  # plain Python: more would take minutes
    tried = runs_of(dataset, method, [(step, 1) for step in steps], searching=True)
    train = load(dataset, "train")
    flat = method in {"vw oaa", "one against all"}
    if flat and train.X.nnz * label_count(dataset) > WIDE:
        return tried
    best = min(tried, key=lambda one: one["error"])["step"]
    return tried + runs_of(dataset, method, [(best, n) for n in PASSES], searching=True)


def measure(
    dataset: str, methods: Sequence[str], steps: Sequence[float], repetitions: int
) -> dict[str, Any]:
    """Measure all methods on one data set with their best settings; times are medians."""
    found = {}
    for method in methods:
        tried = searched(dataset, method, steps)
        best = min(tried, key=lambda one: one["error"])
        setting = (best["step"], best["passes"])
        runs = runs_of(dataset, method, [setting], searching=False)
        wanted = 1 if method == "filter tree" else repetitions
        more = min(wanted - 1, int(ENOUGH / max(runs[0]["learning_cpu"], 1e-3)))
        if more > 0:
            runs += runs_of(dataset, method, [setting] * more, searching=False)
        costs = ("learning_cpu", "predicting_cpu")
        times = {key: median(run[key] for run in runs) for key in costs}
        found[method] = {**runs[0], **times, "searched": tried, "about": about()}
        says = f"error {runs[0]['error']} %, step {setting[0]}, {setting[1]} passes"
        print(f"{dataset}: {method}: {says}, {times['learning_cpu']:.2f} s", flush=True)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``multiclass-<dataset>.json``."""
    parser = command_line(__doc__ or "", DATASETS)
    parser.add_argument("--repetitions", type=int, default=3, help="runs with the best setting")
    parser.add_argument("--peers", action="store_true", help="measure the peer (installs it)")
    parser.add_argument(
        "--methods", nargs="*", choices=[*PEERS, *OURS, *BASELINES], help="methods to measure"
    )
    parser.add_argument("--steps", type=float, nargs="*", default=list(STEPS))
    chosen = parser.parse_args(arguments)
    methods = chosen.methods or [*(PEERS if chosen.peers else ()), *OURS, *BASELINES]
    for dataset in filter(is_there, chosen.subjects):
        runs = earlier(chosen.output, "multiclass", dataset).get("runs", {})
        runs |= measure(dataset, methods, chosen.steps, chosen.repetitions)
        sizes = {
            "classes": label_count(dataset),
            "learnt": len(load(dataset, "train").labels),
            "rows": len(load(dataset, "test").labels),
        }
        write(chosen.output, "multiclass", dataset, {**sizes, "runs": runs})


if __name__ == "__main__":
    main()
