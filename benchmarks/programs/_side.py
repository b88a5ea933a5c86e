"""What is done to every program alike, so that the same is measured of all of them."""

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
"""How many labels are asked for."""

ENOUGH_SECONDS = 10.0
"""Nothing is predicted again once these have passed: some programs take a second a row."""


class Program(Protocol):
    """A program as it is measured; what a user would do between two calls is not counted."""

    def __init__(self, options: dict[str, Any], threads: int) -> None: ...

    def read(self, paths: dict[str, str]) -> Any:
        """The training set, as the program wants it (see `benchmarks.batch` for the paths)."""

    def learn(self, data: Any, folder: str) -> None:
        """Learn; some write their model into `folder` meanwhile."""

    def save(self, folder: str) -> None:
        """Write what has been learnt, for prediction only."""

    def load(self, folder: str) -> None:
        """Forget all, and take up what is in `folder`."""

    def rows(self, X: sp.csr_matrix) -> Any:
        """Rows as the program wants them; indexing and slicing give the same of some of them."""

    def predict(self, rows: Any) -> Any:
        """The best `K` labels of all rows, as `labels` can read it."""

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
    """Megabytes of this process, by a field of what Linux says of it."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field + ":"))


def timed(call: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """What a call returns, and the seconds it took: on the wall and of all processors."""
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
    """Learn, save, load and predict in this process; the labels predicted go to a file.

    Memory is the growth of the process at its peak, from before the training set was read: data,
    learning and all, without what the program's libraries take.
    """
    program = kind(options, using)
    gc.collect()
    before = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
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
    """Run what the command line says, and print what was found as JSON."""
    print(json.dumps(run(kind, **json.loads(sys.argv[1]))))
