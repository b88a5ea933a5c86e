"""Time per example against the number of classes, from a hundred to a million.

Every class has twelve words drawn from a vocabulary of fixed size; every example has those and
eight noise words. Only the number of classes grows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import labelgrove
from benchmarks import _vowpal_wabbit
from benchmarks._data import Stream
from benchmarks._measure import Clock, about, fresh
from benchmarks._results import command_line, earlier, write

CLASSES = (100, 1_000, 10_000, 100_000, 1_000_000)
FEWEST = 100_000
"""Least number of examples in a pass; with more classes, one example per class."""

TESTED = 20_000
VOCABULARY = 20_000
OWN_WORDS, OTHER_WORDS = 12, 8
SEED = 1

MOST = {
    "vw oaa": 10_000,
    "vw recall_tree": 10_000,
    "vw log_multi": 100_000,
    "online PLT": 100_000,
}
"""Largest number of classes tried; beyond it a method needs minutes or too much memory."""

PEERS = {
    "vw log_multi": "--log_multi {k}",
    "vw recall_tree": "--recall_tree {k}",
    "vw oaa": "--oaa {k}",
}
OURS = {
    "LOMtree": "LOMTreeClassifier",
    "online PLT": "OnlinePLTClassifier",
}


def streams(k: int, learnt: int, tested: int) -> tuple[Stream, Stream]:
    """Training and test examples of `k` equally likely classes."""
    rng = np.random.default_rng(SEED)
    own = rng.integers(VOCABULARY, size=(k, OWN_WORDS), dtype=np.int32)
    return _examples(rng, own, learnt), _examples(rng, own, tested)


def _examples(rng: np.random.Generator, own: Any, n: int) -> Stream:
    classes = rng.permutation(np.arange(n) % len(own))
    others = rng.integers(VOCABULARY, size=(n, OTHER_WORDS), dtype=np.int32)
    ids = np.hstack([own[classes], others])
    ends = np.arange(0, ids.size + 1, ids.shape[1])
    values = np.full(ids.size, ids.shape[1] ** -0.5, np.float32)
    X = sp.csr_array((values, ids.ravel(), ends), shape=(n, VOCABULARY))
    X.sum_duplicates()
    return Stream(X, [(label,) for label in classes.tolist()])


def learn_ours(k: int, method: str, learnt: int, tested: int) -> dict[str, float]:
    """Learn in one pass in this process and test; processor seconds and bytes."""
    train, test = streams(k, learnt, tested)
    classes = np.array([label for (label,) in train.labels])
    model = getattr(labelgrove, OURS[method])()
    with Clock() as learning:
        model.partial_fit(train.X, classes)
    with Clock() as predicting:
        model.predict_topk(test.X, 1)
    return {
        "learning_cpu": learning.cpu,
        "predicting_cpu": predicting.cpu,
        "model_bytes": model.size()["model_bytes"],
    }


def learn_peer(k: int, method: str, learnt: int, tested: int) -> dict[str, float]:
    """Do the same with Vowpal Wabbit, without its reading time."""
    train, test = streams(k, learnt, tested)
    with tempfile.TemporaryDirectory() as folder:
        runs = [(PEERS[method].format(k=k), 1)]
        found = _vowpal_wabbit.learn_and_predict(train, test, runs, Path(folder))[0]
    return {key: found[key] for key in ("learning_cpu", "predicting_cpu", "model_bytes")}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``classes-<method>.json``."""
    parser = command_line(__doc__ or "", tuple(OURS), "methods")
    parser.add_argument("--peers", action="store_true", help="measure the peer (installs it)")
    parser.add_argument("--classes", type=int, nargs="*", default=list(CLASSES))
    parser.add_argument("--fewest", type=int, default=FEWEST, help="least examples in a pass")
    parser.add_argument("--tested", type=int, default=TESTED, help="examples predicted")
    chosen = parser.parse_args(arguments)
    for method in [*chosen.subjects, *(PEERS if chosen.peers else [])]:
        points = {point["classes"]: point for point in _known(chosen.output, method)}
        for k in chosen.classes:
            if k > MOST.get(method, k):
                continue
            learnt = max(k, chosen.fewest)
            sizes = {"k": k, "method": method, "learnt": learnt, "tested": chosen.tested}
            task = "benchmarks.classes:learn_ours"
            found = learn_peer(**sizes) if method in PEERS else fresh(task, **sizes)
            points[k] = {
                "classes": k,
                "learning_us": round(1e6 * found["learning_cpu"] / learnt, 3),
                "predicting_us": round(1e6 * found["predicting_cpu"] / chosen.tested, 3),
                "model_mb": round(found["model_bytes"] / 2**20, 1),
                "about": about(),
            }
            print(f"{method}: {points[k]}", flush=True)
        ordered = [points[k] for k in sorted(points)]
        write(chosen.output, "classes", method.replace(" ", "_"), {"points": ordered})


def _known(folder: Path, method: str) -> list[dict[str, Any]]:
    before = earlier(folder, "classes", method.replace(" ", "_"))
    points: list[dict[str, Any]] = before.get("points", [])
    return points


if __name__ == "__main__":
    main()
