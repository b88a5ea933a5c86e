"""The steps that every program goes through, so that measurements are comparable."""

from __future__ import annotations

import gc
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

K = 5
"""Number of labels to predict."""

ENOUGH_SECONDS = 10.0
"""Repetitions stop after this time: some programs take a second per row."""


class Program(Protocol):
    """A program to measure; conversions that a user does between calls are not timed."""

    def __init__(self, options: dict[str, Any], threads: int) -> None: ...

    def read(self, paths: dict[str, str]) -> Any:
        """The training set in the program's format (see `benchmarks.batch` for the paths)."""

    def learn(self, data: Any, folder: str) -> None:
        """Learn; some programs write their model to `folder` meanwhile."""

    def save(self, folder: str) -> None:
        """Write the model, for prediction only."""

    def load(self, folder: str) -> None:
        """Replace the model by the one in `folder`."""

    def rows(self, X: sp.csr_matrix) -> Any:
        """Rows in the program's format, which must support slicing."""

    def predict(self, rows: Any) -> Any:
        """The best `K` labels of all rows, in a format that `labels` reads."""

    def labels(self, found: Any) -> Sequence[Sequence[int]]:
        """Label ids, best first."""


def arrays(path: str) -> tuple[sp.csr_matrix, list[list[int]]]:
    """Read what `benchmarks._data.arrays_of` has written."""
    with np.load(path) as stored:
        triple = (stored["values"], stored["indices"], stored["indptr"])
        X = sp.csr_matrix(triple, shape=tuple(stored["shape"].tolist()))
        flat, ends = stored["labels"].tolist(), stored["label_indptr"].tolist()
    return X, [flat[begin:end] for begin, end in pairwise(ends)]


def indicator(path: str, columns: int) -> sp.csr_matrix:
    """The labels of the same file as a 0/1 matrix."""
    with np.load(path) as stored:
        flat, ends = stored["labels"], stored["label_indptr"]
    ones = np.ones(len(flat), np.float32)
    matrix = sp.csr_matrix((ones, flat.astype(np.int32), ends), shape=(len(ends) - 1, columns))
    matrix.sort_indices()
    return matrix


def memory(field: str) -> float:
    """Megabytes of this process, from a field of ``/proc/self/status``."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field + ":"))


def timed(call: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """The result of a call, with its wall time and processor time."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return result, {"wall": round(wall, 5), "cpu": round(cpu, 5)}


def run(
    kind: type[Program],
    train: dict[str, str],
    test: str,
    options: dict[str, Any],
    using: int,
    batches: int,
    single_rows: int,
    predicted: str,
) -> dict[str, Any]:
    """Learn, save, load and predict in this process; write the predicted labels to a file.

    Memory is the peak growth of the process since before the training set was read. It covers data
    and learning, not the program's libraries.
    """
    program = kind(options, using)
    gc.collect()
    before = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # reset the peak
    with tempfile.TemporaryDirectory() as folder:
        data, reading = timed(partial(program.read, train))
        _, learning = timed(partial(program.learn, data, folder))
        peak = memory("VmHWM") - before
        program.save(folder)
        model_bytes = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        program.load(folder)
        X, _ = arrays(test)
        rows = program.rows(X)
        runs = [timed(partial(program.predict, rows))]
        while len(runs) < batches and sum(clock["wall"] for _, clock in runs) < ENOUGH_SECONDS:
            runs.append(timed(partial(program.predict, rows)))
        single = _single(program, rows, min(single_rows, X.shape[0]))
    labels = program.labels(runs[0][0])
    np.save(predicted, np.array([([int(label) for label in row] + [-1] * K)[:K] for row in labels]))
    return {
        "reading": reading,
        "learning": learning,
        "peak_mb": round(peak, 1),
        "model_bytes": model_bytes,
        "batch": [clock for _, clock in runs],
        "single": single,
    }


def whole(
    kind: type[Program], train: dict[str, str], options: dict[str, Any], using: int
) -> dict[str, Any]:
    """Read the training set from text, learn and save in this process, and time each step."""
    program = kind(options, using)
    with tempfile.TemporaryDirectory() as folder:
        data, reading = timed(partial(program.read, train))
        _, learning = timed(partial(program.learn, data, folder))
        _, saving = timed(partial(program.save, folder))
    return {"reading": reading, "learning": learning, "saving": saving}


def _single(program: Program, rows: Any, n: int) -> dict[str, float]:
    cut = [rows[i : i + 1] for i in range(n)]
    seconds: list[float] = []
    begun = time.perf_counter()
    for row in cut:
        start = time.perf_counter()
        program.predict(row)
        seconds.append(time.perf_counter() - start)
        if time.perf_counter() - begun > ENOUGH_SECONDS:
            break
    middle, high = np.percentile(1e6 * np.array(seconds or [0.0]), [50, 99])
    return {"rows": len(seconds), "p50": round(float(middle), 2), "p99": round(float(high), 2)}


def main(kind: type[Program]) -> None:
    """Run with the arguments of the command line and print the results as JSON."""
    arguments = json.loads(sys.argv[1])
    measure: Callable[..., dict[str, Any]] = run if "test" in arguments else whole
    print(json.dumps(measure(kind, **arguments)))
