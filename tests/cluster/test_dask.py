"""Dask's workers learn the same bytes, even if a worker is killed and others join late."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import labelgrove
from cluster.kit import fit_like_memory, some_rows, written, written_texts
from labelgrove import DataError, ParameterError, PLTClassifier, TextClassifier, distributed
from labelgrove.distributed._executors import Workers
from waiting import until

pytest.importorskip("distributed", reason="there is no Dask here (the extra dask)")

from distributed import KilledWorker

from cluster.dask_process import IMPORTED, run

pytestmark = pytest.mark.slow  # processes that import everything


class Cluster:
    """A scheduler and workers as users start them, each a process without a nanny.

    The scheduler gives up on a task as soon as one worker has died with it. The processes are forks
    of one that has imported what takes them seconds.
    """

    def __init__(self, folder: Path) -> None:
        self.file = folder / "scheduler.json"
        self.folder = folder
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(IMPORTED)
        self.processes: list[BaseProcess] = []
        self.start("scheduler", "--port", "0", "--host", "127.0.0.1", "--no-show")

    def start(self, *words: str) -> None:
        command = [*words, "--scheduler-file", str(self.file), "--no-dashboard"]
        process = self.context.Process(target=run, args=(command, self.folder), daemon=True)
        process.start()
        self.processes.append(process)

    def start_worker(self) -> None:
        self.start("worker", "--no-nanny", "--nthreads", "1")

    def address(self) -> str:
        def found() -> Any:
            with suppress(OSError, ValueError):  # missing or incomplete
                return json.loads(self.file.read_text(encoding="utf-8"))["address"]

        return str(until(found))

    def end(self) -> None:
        for process in self.processes[::-1]:
            process.kill()
            process.join()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    started = Cluster(tmp_path_factory.mktemp("cluster"))
    for _ in range(2):
        started.start_worker()
    yield started
    started.end()


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Any]:
    with distributed.client(cluster.address()) as connected:
        connected.wait_for_workers(2, timeout=60)
        yield connected


def test_workers_may_be_killed_and_come_late(cluster: Cluster, client: Any, tmp_path: Path) -> None:
    model = TextClassifier(PLTClassifier(arity=3, max_leaf_size=4))
    dataset = written_texts(tmp_path / "data", 200)
    to_kill = cluster.processes[1:]  # both workers, one after the other

    def kill_one_and_start_one(share: float) -> None:
        if to_kill and share > 0.8 - 0.2 * len(to_kill):
            to_kill.pop().kill()
            cluster.start_worker()

    fit_like_memory(
        model, dataset, memory=200_000, executor=client, progress=kill_one_and_start_one
    )
    assert not to_kill
    client.wait_for_workers(2, timeout=60)
    names = tmp_path / "pieces.lg", tmp_path / "data"
    [(labels, _)] = distributed.predict_topk(*names, executor=client)
    model = labelgrove.load(names[0])
    assert labels.tolist() == model.predict_topk(dataset.text)[0].tolist()


def test_a_worker_may_be_killed_before_its_result_is_fetched(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scheduler has the task done again then, and gives up if that kills another worker."""
    killed, fetch = KilledWorker("a task", None, 0), client._gather
    failures = iter([killed, killed])

    async def fetched(*asked: Any, **how: Any) -> Any:
        for failure in failures:
            raise failure
        return await fetch(*asked, **how)

    monkeypatch.setattr(client, "_gather", fetched)
    workers = Workers(client)
    assert workers.result_of(one, workers.submit(one)) == 1


def one() -> int:
    return 1


def test_what_fails_on_a_worker_is_raised_here(client: Any, tmp_path: Path) -> None:
    written(tmp_path / "rows", some_rows(50))
    (tmp_path / ".model.lg.partial").mkdir()
    values = tmp_path / "rows" / "X.data.f32"
    values.write_bytes(b"\xff" * values.stat().st_size)  # NaN
    with pytest.raises(DataError, match="is damaged"):
        distributed.fit(PLTClassifier(), tmp_path / "rows", tmp_path / "model.lg", executor=client)
    assert not (tmp_path / "model.lg").exists()


def test_a_scheduler_that_is_lost_is_reported_in_one_sentence(
    tmp_path: Path, warm: Sequence[str]
) -> None:
    (tmp_path / "cluster").mkdir()
    alone = Cluster(tmp_path / "cluster")  # without workers, so the command waits
    written(tmp_path / "rows", some_rows(50))
    names = [str(tmp_path / "rows"), "-o", str(tmp_path / "m.lg")]
    words = ["train", *names, "--algorithm", "plt", "--dask", alone.address()]
    command = subprocess.Popen(
        [*warm, "-m", "labelgrove", *words],
        env={**os.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "10s"},
        stderr=subprocess.PIPE,
        text=True,
    )
    until(lambda: list(tmp_path.glob(".m.lg.partial/*/counts")))
    alone.end()
    _, said = command.communicate()
    assert said.startswith("error: the executor") and said.count("\n") == 1


@pytest.mark.usefixtures("client")
def test_searches_for_parameters_run_on_workers() -> None:
    here = os.getpid()

    def score(model: Any, X: Any, y: Any) -> float:
        assert os.getpid() != here
        return float(model.score(X, y))

    random = np.random.default_rng(0)
    y = random.integers(0, 5, 200)
    X = np.eye(5)[y] + random.random((200, 5))
    grid = {"C": [0.1, 1.0]}
    with joblib.parallel_config(backend="dask"):
        search = GridSearchCV(PLTClassifier(), grid, scoring=score, error_score="raise").fit(X, y)
    local = GridSearchCV(PLTClassifier(), grid).fit(X, y)
    name = "mean_test_score"
    assert search.cv_results_[name].tolist() == local.cv_results_[name].tolist()


def test_what_is_no_address_is_named() -> None:
    for address in ("junk", 5):
        with pytest.raises(ParameterError, match=f"address={address!r}: expected an address such"):
            distributed.client(address)
