"""Saving and loading an online model: time, and extra memory (needs Linux).

A subject is a data set, or a number of labels, each with one example of three features.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import labelgrove
from benchmarks._data import Chunk, is_there, load
from benchmarks._measure import Clock, Growth, fresh
from benchmarks._models import DEFAULT, learn
from benchmarks._results import command_line, write

SUBJECTS = ("eurlex57k-tfidf", "stackexchange-tfidf", "100000", "300000", "1000000")
FEATURES = 50_000


def once_each(n_labels: int) -> list[Chunk]:
    """One example of three features, drawn at random, for every label."""
    drawn = np.random.default_rng(0).integers(0, FEATURES, (n_labels, 3))
    ends = np.arange(0, 3 * n_labels + 1, 3)
    X = sp.csr_matrix((np.ones(drawn.size, np.float32), drawn.ravel(), ends), (n_labels, FEATURES))
    X.sum_duplicates()
    return [(X, [(label,) for label in range(n_labels)])]


def measured(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Return the result of the work, its time, and its peak and remaining memory."""
    with Growth() as memory, Clock() as clock:
        result = work()
    return result, {"processor_s": clock.cpu, "peak_mb": memory.peak, "held_mb": memory.held}


def save(subject: str, path: str) -> dict[str, Any]:
    """Learn and save in this process; the data are loaded before and do not count."""
    chunks = once_each(int(subject)) if subject.isdecimal() else load(subject, "train").chunks
    learn([(X[:8], labels[:8]) for X, labels in chunks[:1]], DEFAULT)  # trigger lazy imports
    (model, _), learning = measured(lambda: learn(chunks, DEFAULT))
    _, saving = measured(lambda: model.save(path))
    size = model.size()
    return {
        "learning": learning,
        "saving": saving,
        "model_mb": (size["model_bytes"] + size["memory_bytes"]) / 2**20,
        "file_mb": Path(path).stat().st_size / 2**20,
    }


def load_again(path: str, small: str) -> dict[str, Any]:
    """Load in this process, which has loaded only a small model before."""
    labelgrove.OnlinePLTClassifier().partial_fit([[1.0]], ["any"]).save(small)
    labelgrove.load(small)
    return measured(lambda: labelgrove.load(path))[1]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``files-<subject>.json``."""
    chosen = command_line(__doc__ or "", SUBJECTS, "data sets or numbers of labels").parse_args(
        arguments
    )
    for subject in chosen.subjects:
        if not (subject.isdecimal() or is_there(subject)):
            continue
        with tempfile.TemporaryDirectory() as folder:
            path, small = f"{folder}/model.lg", f"{folder}/small.lg"
            found = fresh("benchmarks.files:save", subject=subject, path=path)
            found["loading"] = fresh("benchmarks.files:load_again", path=path, small=small)
        write(chosen.output, "files", subject, found)


if __name__ == "__main__":
    main()
