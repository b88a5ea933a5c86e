"""napkinXC, the OPLT authors' own program, in its own environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks._data import CACHE, arrays_of
from benchmarks._environments import NAPKINXC, run


def learn(dataset: str) -> dict[str, Any]:
    """Learn a data set in one pass and one thread; the model stays in the cache."""
    model = _model(dataset)
    return _run("learn", train=str(arrays_of(dataset, "train")), model=str(model))


def predict(dataset: str, repetitions: int, single_rows: int) -> dict[str, Any]:
    """Predict the test set, learning first if there is no model yet.

    Returns
    -------
    dict
        ``batch``: clocks for all rows at once; ``single``: seconds per single row; ``predicted``:
        path of the predicted labels.
    """
    model = _model(dataset)
    if not (model / "learned.json").exists():
        learn(dataset)
    return _run(
        "predict",
        test=str(arrays_of(dataset, "test")),
        model=str(model),
        repetitions=repetitions,
        single_rows=single_rows,
        predicted=str(model / "predicted.npy"),
    )


def predicted(found: dict[str, Any]) -> npt.NDArray[np.int64]:
    """Load the labels from ``found["predicted"]``: shape (n, 5), -1 for missing ones."""
    labels: npt.NDArray[np.int64] = np.load(found["predicted"])
    return labels


def tree(dataset: str) -> tuple[list[int], dict[int, int]]:
    """The tree that napkinXC grew: parents, and the labels of the leaves."""
    lines = (_model(dataset) / "tree.txt").read_text(encoding="ascii").splitlines()
    nodes = [[int(field) for field in line.split()] for line in lines[1:]]  # line 0 is a count
    parent_of = {node: parent for parent, node, *_ in nodes}
    labels = {node: label[0] for _, node, *label in nodes if label}
    return [parent_of[node] for node in range(len(parent_of))], labels


def _model(dataset: str) -> Path:
    return CACHE / "napkinxc-models" / dataset


def _run(mode: str, **arguments: Any) -> dict[str, Any]:
    return run(NAPKINXC, "napkinxc_oplt", mode=mode, **arguments)
