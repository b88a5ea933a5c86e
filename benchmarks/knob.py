"""Interpolated trees: the effect of λ′ on precision, depth and search time.

For comparison: the expected-cost tree, which makes searches cheap instead of shallow, and the wide
k-means tree that `PLTClassifier` builds by default.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks._data import Stream, is_there, load, precisions
from benchmarks._measure import Clock, fresh
from benchmarks._results import command_line, write
from labelgrove import EmbeddingClassifier, PLTClassifier
from labelgrove.metrics import expected_depth
from labelgrove.trees import (
    LabelTree,
    cost_tree,
    fano_frequencies,
    interpolated_tree,
    kmeans_tree,
    label_embeddings,
    label_frequencies,
    label_indicator,
)

DATASETS = ("eurlex57k-tfidf", "gutenberg-tfidf", "synth4k")
LAMBDAS = (0.0, 0.25, 0.5, 1.0, 2.0, 6.0, 30.0, 1000.0)
LEAF_SIZES = (100, 1)

OTHERS: dict[str, dict[str, Any]] = {
    "expected cost": {"builder": "cost"},
    "k-means, arity 32, leaves of 200": {"builder": "kmeans", "arity": 32, "max_leaf_size": 200},
}
K = (1, 3)
BATCHES = 3
SINGLE_ROWS = 2000
SEED = 1


def build(train: Stream, builder: str, **options: Any) -> LabelTree:
    """A tree over the labels that occur in the training set."""
    Y, labels = label_indicator(train.labels)
    embeddings = label_embeddings(train.X, Y)
    shared: dict[str, Any] = {"labels": labels, "random_state": SEED}
    if builder == "kmeans":
        return kmeans_tree(embeddings, **shared, **options)
    if builder == "cost":
        return cost_tree(embeddings, Y, **shared, **options)
    softened = fano_frequencies(Y, method="greedy")
    frequencies = label_frequencies(Y)
    return interpolated_tree(
        embeddings, frequencies, fano_frequencies=softened, **shared, **options
    )


def learn_and_search(dataset: str, tree: dict[str, Any]) -> dict[str, Any]:
    """Build, learn and search in this process; single-row times are thread processor time."""
    train, test = load(dataset, "train"), load(dataset, "test")
    with Clock() as building:
        given = build(train, **tree)
    model = PLTClassifier(tree=given)
    with Clock() as learning:
        model.fit(train.X, train.labels)
    best, _ = model.predict_topk(test.X, 5)
    return {
        "building": building.to_dict(),
        "learning": learning.to_dict(),
        "nodes": given.n_nodes,
        "precision": precisions(best, test.labels),
        "searches": {str(k): search(model, test, k) for k in K},
    }


def search(model: PLTClassifier | EmbeddingClassifier, test: Stream, k: int) -> dict[str, float]:
    """The cost of finding the best k labels, and their depth."""
    batch = []
    for _ in range(BATCHES):
        with Clock() as clock:
            best, _, stats = model.predict_topk(test.X, k, return_stats=True)
        batch.append(clock.cpu)
    depths = _depths(model.tree_)
    rows = [test.X[i : i + 1] for i in range(min(SINGLE_ROWS, len(test.labels)))]
    calls = []
    for row in rows:
        begun = time.thread_time_ns()
        model.predict_topk(row, k)
        calls.append(time.thread_time_ns() - begun)
    middle, high = np.percentile(np.array(calls) / 1e3, [50, 99])
    return {
        "depth": float(expected_depth(depths[best].max(axis=1))),
        "classifiers": float(np.mean(stats.classifiers)),
        "blocks": float(np.mean(stats.blocks)),
        "batch_us": round(1e6 * float(np.median(batch)) / len(test.labels), 3),
        "p50_us": round(float(middle), 2),
        "p99_us": round(float(high), 2),
    }


def _depths(tree: LabelTree) -> npt.NDArray[np.int64]:
    """The depth of every label; 0 for labels missing from the tree."""
    depths = np.zeros(1 + int(tree.leaf_labels.max()), np.int64)
    depths[tree.leaf_labels] = tree.depths[tree.leaves]
    return depths


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``knob-<dataset>.json``."""
    parser = command_line(__doc__ or "", DATASETS)
    parser.add_argument("--lambdas", type=float, nargs="*", default=list(LAMBDAS))
    parser.add_argument("--leaf-sizes", type=int, nargs="*", default=list(LEAF_SIZES))
    chosen = parser.parse_args(arguments)
    interpolated = {
        f"λ′ = {lambda_prime:g}, leaves of {size}": {
            "builder": "interpolated",
            "lambda_prime": lambda_prime,
            "max_leaf_size": size,
        }
        for size in chosen.leaf_sizes
        for lambda_prime in chosen.lambdas
    }
    for dataset in filter(is_there, chosen.subjects):
        trees = []
        for title, tree in {**interpolated, **OTHERS}.items():
            found = fresh("benchmarks.knob:learn_and_search", dataset=dataset, tree=tree)
            trees.append({"title": title, **tree, **found})
            one = found["searches"]["1"]
            says = f"P@1 {found['precision'][0]:.1f}, depth@1 {one['depth']:.2f}"
            print(f"{dataset}: {title}: {says}, {one['batch_us']:.1f} µs", flush=True)
        write(chosen.output, "knob", dataset, {"trees": trees})


if __name__ == "__main__":
    main()
