"""The cost of distributed learning, the gain on a cluster, and resuming after being killed.

Every task is timed separately, in processor time, and the schedule of many workers is computed
from these times: a task goes to the first idle worker, and a stage waits for the one before. With
``--kills`` the command is instead killed by SIGKILL at random instants until it completes; its
file must then equal the one of ``fit``, byte for byte.
"""

from __future__ import annotations

import argparse
import json
import pickle
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import Executor, Future
from heapq import heapreplace
from operator import itemgetter
from pathlib import Path
from typing import Any

from benchmarks._data import DATA
from labelgrove import PLTClassifier, distributed
from labelgrove.data import convert, open_dataset

WORKERS = (1, 2, 10, 100, 1000)
STAGES = ("embed", "build_tree", "learn")
TURNS = 5

SIZES = ((10**6, 10**5), (10**7, 10**6), (10**8, 10**7), (10**9, 10**8))
CELLS, LABELS_OF_A_ROW = 100, 5
"""Values and labels per row of the projected data sets."""


class Timed(Executor):
    """Runs every task immediately and records its time."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {stage: [] for stage in STAGES}
        self.sent = 0

    def submit(self, task: Any, /, *_: Any, **__: Any) -> Future[Any]:
        """Run a task, within one function that checks its worker and one that writes its result."""
        self.sent += len(pickle.dumps(task))
        begin = time.process_time()
        done: Future[Any] = Future()
        done.set_result(task())
        self.seconds[task.args[-1].args[-1].func.__name__].append(time.process_time() - begin)
        return done


def makespan(seconds: Sequence[float], workers: int) -> float:
    """Duration of tasks that are assigned in order to the first idle worker."""
    free = [0.0] * min(workers, max(len(seconds), 1))
    for one in seconds:
        heapreplace(free, free[0] + one)
    return max(free)


def measure(folder: Path, memory: int) -> dict[str, Any]:
    """Learn a data set in memory and in pieces, in turn; return the turn of the median ratio."""
    turns = sorted((turn(folder, memory) for _ in range(TURNS)), key=itemgetter("pieces_by_whole"))
    return turns[TURNS // 2]


def turn(folder: Path, memory: int) -> dict[str, Any]:
    """Learn a data set in memory and in pieces once; the models must be equal."""
    dataset = open_dataset(folder / "rows")
    begin = time.process_time()
    PLTClassifier().fit(dataset.X, dataset.labels).save(folder / "memory.lg")
    whole = time.process_time() - begin
    timed = Timed()
    begin = time.process_time()
    distributed.fit(
        PLTClassifier(), folder / "rows", folder / "pieces.lg", memory=memory, executor=timed
    )
    pieces = time.process_time() - begin
    if (folder / "memory.lg").read_bytes() != (folder / "pieces.lg").read_bytes():
        raise AssertionError("the two models differ")
    tasks = timed.seconds
    alone = pieces - sum(map(sum, tasks.values()))
    assert dataset.X is not None
    return {
        "rows": len(dataset),
        "cells": int(dataset.X.indptr[-1]),
        "features": dataset.X.shape[1],
        "model_bytes": (folder / "pieces.lg").stat().st_size,
        "whole_seconds": whole,
        "pieces_seconds": pieces,
        "pieces_by_whole": pieces / whole,
        "tasks": {stage: [len(found), sum(found)] for stage, found in tasks.items()},
        "longest_task": max(tasks["learn"]),
        "alone_seconds": alone,
        "sent_bytes": timed.sent,
        "workers": {
            workers: alone + sum(makespan(tasks[stage], workers) for stage in STAGES)
            for workers in WORKERS
        },
    }


def on_paper(found: dict[str, Any], memory: int) -> list[dict[str, float]]:
    """Project the resources for larger data from the measured rates."""
    rates = {stage: seconds / found["cells"] for stage, (_, seconds) in found["tasks"].items()}
    table = []
    for rows, labels in SIZES:
        cells = rows * CELLS
        table.append(
            {
                "rows": rows,
                "labels": labels,
                "data_gb": (8 * cells + 4 * LABELS_OF_A_ROW * rows + 16 * rows) / 1e9,
                "vectors_gb": 8 * cells * LABELS_OF_A_ROW / 1e9,
                "root_gb": 60 * rows / 1e9 + 4 * LABELS_OF_A_ROW * rows / 1e9,
                "tree_gb": 150 * labels / 1e9,
                "room_gb": (8 * cells + 128 * rows) / 1e9,
                "hours": sum(rates.values()) * cells / 3600,
                "root_hours": found["longest_task"] / found["cells"] * cells / 3600,
                "fits": float(60 * rows + 150 * labels < memory),
            }
        )
    return table


def killed_until_done(folder: Path, memory: int, seed: int) -> int:
    """Run the command until it completes; return how often it was killed."""
    dataset = open_dataset(folder / "rows")
    PLTClassifier().fit(dataset.X, dataset.labels).save(folder / "memory.lg")
    command = [sys.executable, "-m", "labelgrove", "train", folder / "rows"]
    command += ["-o", folder / "pieces.lg", "--algorithm", "plt", "--memory", str(memory)]
    chance, kills, work = random.Random(seed), 0, folder / ".pieces.lg.partial"
    while True:
        there = len(list(work.glob("*")))
        run = subprocess.Popen([*map(str, command)], stdout=subprocess.DEVNULL)
        while run.poll() is None and len(list(work.glob("*"))) == there:
            time.sleep(0.01)  # until it has begun to work
        try:
            status = run.wait(chance.uniform(0.0, 2.0))
        except subprocess.TimeoutExpired:
            run.kill()
            run.wait()
            kills += 1
            continue
        if status:
            raise AssertionError(f"it ended with status {status}")
        if (folder / "memory.lg").read_bytes() != (folder / "pieces.lg").read_bytes():
            raise AssertionError("the two models differ")
        return kills


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write the results to standard output."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pieces", description=__doc__)
    parser.add_argument("dataset", nargs="?", default="eurlex57k-tfidf")
    parser.add_argument("--memory", type=int, default=distributed.LEAST_MEMORY, metavar="BYTES")
    parser.add_argument("--kills", action="store_true", help="kill at random, then compare")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        convert([DATA / chosen.dataset / "train.txt.xz"], folder / "rows")
        if chosen.kills:
            found: dict[str, Any] = {"kills": killed_until_done(folder, chosen.memory, chosen.seed)}
        else:
            found = measure(folder, chosen.memory)
            found["on_paper"] = on_paper(found, chosen.memory)
    print(json.dumps({"dataset": chosen.dataset, **found}, indent=1))


if __name__ == "__main__":
    main()
