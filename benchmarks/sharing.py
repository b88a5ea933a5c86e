"""Time to predict one row while another thread updates the same model."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from time import perf_counter, sleep
from typing import Any

import numpy as np

from benchmarks._data import Stream, is_there, load
from benchmarks._models import DEFAULT
from benchmarks._results import command_line, write
from labelgrove import OnlinePLTClassifier, SharedModel

DATASETS = ("eurlex57k-tfidf",)
KNOWN = 4096
"""Rows that the model learns beforehand."""
PAUSE = 0.001
"""Seconds between two predictions of a reader."""


def latencies(model: SharedModel, rows: list[Any], stop: threading.Event) -> list[float]:
    """Repeatedly predict the best five labels of a row until told to stop."""
    seconds = []
    for row in cycle(rows):
        begin = perf_counter()
        model.predict_topk(row, 5)
        seconds.append(perf_counter() - begin)
        if stop.is_set():
            return seconds
        sleep(PAUSE)
    return seconds


def percentiles(seconds: Iterator[list[float]]) -> dict[str, float]:
    """Percentiles in milliseconds."""
    every = 1e3 * np.concatenate([*seconds])
    p50, p99 = np.percentile(every, [50, 99]).tolist()
    return {"asked": len(every), "p50": p50, "p99": p99, "worst": float(every.max())}


def measure(train: Stream, questions: list[Any], n_readers: int) -> dict[str, Any]:
    """Measure predicting alone, predicting while learning, and learning alone."""
    model = OnlinePLTClassifier(**DEFAULT).partial_fit(train.X[:KNOWN], train.labels[:KNOWN])
    shared = model.shared()
    rest = train.X[KNOWN:], train.labels[KNOWN:]
    found = {}
    with ThreadPoolExecutor(n_readers) as pool:

        def ask(while_: Any) -> dict[str, float]:
            stop = threading.Event()
            asked = [pool.submit(latencies, shared, questions, stop) for _ in range(n_readers)]
            while_()
            stop.set()
            return percentiles(one.result() for one in asked)

        found["alone"] = ask(lambda: sleep(2))
        begin = perf_counter()
        found["beside"] = ask(lambda: shared.partial_fit(*rest))
        shared_seconds = perf_counter() - begin
    twin = OnlinePLTClassifier(**DEFAULT).partial_fit(train.X[:KNOWN], train.labels[:KNOWN])
    begin = perf_counter()
    twin.partial_fit(*rest)
    plain_seconds = perf_counter() - begin
    n = len(rest[1])
    found["rows_per_second"] = {"shared": n / shared_seconds, "plain": n / plain_seconds}
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``sharing-<dataset>.json``."""
    parser = command_line(__doc__ or "", DATASETS)
    parser.add_argument("--readers", type=int, nargs="*", default=[1, 4], help="reader threads")
    chosen = parser.parse_args(arguments)
    for dataset in filter(is_there, chosen.subjects):
        train, test = load(dataset, "train"), load(dataset, "test")
        questions = [test.X[[i]] for i in range(min(1000, test.X.shape[0]))]
        runs = [{"readers": n, **measure(train, questions, n)} for n in chosen.readers]
        write(chosen.output, "sharing", dataset, {"runs": runs})


if __name__ == "__main__":
    main()
