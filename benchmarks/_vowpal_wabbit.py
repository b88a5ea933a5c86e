"""Vowpal Wabbit's multi-class reductions, in their own environment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._data import Stream
from benchmarks._environments import VOWPAL_WABBIT, run

BITS = 24
"""Size of its weight table, large enough for few collisions."""


def write_text(stream: Stream, path: Path) -> None:
    """Write rows in its text format, where classes start at 1."""
    ends, ids, values = stream.X.indptr.tolist(), stream.X.indices, stream.X.data
    with path.open("w", encoding="ascii") as text:
        for row, (label,) in enumerate(stream.labels):
            begin, end = ends[row], ends[row + 1]
            pairs = zip(ids[begin:end].tolist(), values[begin:end].tolist(), strict=True)
            text.write(f"{label + 1} | " + " ".join(f"{i}:{value:.7g}" for i, value in pairs))
            text.write("\n")


def learn_and_predict(
    train: Stream, test: Stream, runs: Sequence[tuple[str, int]], folder: Path
) -> list[dict[str, Any]]:
    """Learn the same rows with several option strings, one after another in one process.

    Parameters
    ----------
    train, test : Stream
        With one label per row.
    runs : sequence of (options, passes)
    folder : Path
        For the text files; existing ones are assumed to hold the same rows.

    Returns
    -------
    list of dict
        ``error`` in per cent, and the figures of `benchmarks.programs.vowpal_wabbit`.
    """
    paths = {"train": folder / "train.vw", "test": folder / "test.vw"}
    for part, stream in (("train", train), ("test", test)):
        if not paths[part].exists():
            write_text(stream, paths[part])
    calls = [
        {
            "train": str(paths["train"]),
            "test": str(paths["test"]),
            "options": f"{options} -b {BITS}",
            "passes": passes,
        }
        for options, passes in runs
    ]
    truth = np.array([label + 1 for (label,) in test.labels])
    found: list[dict[str, Any]] = run(VOWPAL_WABBIT, "vowpal_wabbit", runs=calls)["runs"]
    for one in found:
        one["error"] = round(100 * float(np.mean(np.array(one.pop("classes")) != truth)), 3)
    return found
