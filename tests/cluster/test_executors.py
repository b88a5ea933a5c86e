"""A task whose worker is lost is submitted again, but not for ever."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

from cluster.kit import in_memory, some_rows, written
from labelgrove import LabelGroveError, PLTClassifier, distributed
from labelgrove._version import __version__
from labelgrove.distributed import _executors

KILLED = "20 attempts at a task have killed their workers, .*; repeat the call with a new executor"


class Lost(Exception):
    """Stands in for Dask's KilledWorker."""


class Client(ThreadPoolExecutor):
    """Stands in for a Dask client."""

    def run_on_scheduler(self, function: Callable[[str], Any], name: str) -> Any:
        return function(name)

    def run(self, function: Callable[[str], Any], name: str, *, on_error: str) -> dict[str, Any]:
        assert on_error == "return"  # a worker may be lost at any time
        return {"tcp://lost:1": OSError(), "tcp://host:1": function(name)}


class Losing(Client):
    """Loses the worker of every task this many times."""

    def __init__(self, times: int) -> None:
        super().__init__(2)
        self._times = times
        self._submitted: Counter[str] = Counter()
        self.loop = SimpleNamespace(asyncio_loop=asyncio.new_event_loop())
        self._thread = Thread(target=self.loop.asyncio_loop.run_forever)

    def __enter__(self) -> Losing:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        loop = self.loop.asyncio_loop
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join()
        loop.close()

    def submit(self, task: Any, /, *, pure: bool) -> Future[Any]:
        assert not pure  # otherwise Dask would return the first failure again

        def lose() -> None:
            raise Lost

        self._submitted[repr(task)] += 1
        return super().submit(lose if self._submitted[repr(task)] <= self._times else task)

    async def gather(self, future: Future[Any], *, asynchronous: bool) -> Any:
        assert asynchronous
        return await asyncio.wrap_future(future)


def test_tasks_of_lost_workers_are_submitted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_executors, "_dask", lambda: SimpleNamespace(KilledWorker=Lost))
    rows, target = tmp_path / "rows", tmp_path / "pieces.lg"
    dataset = written(rows, some_rows(100))
    expected = in_memory(PLTClassifier(), dataset, tmp_path / "memory.lg")
    with Losing(_executors.TRIES) as pool, pytest.raises(LabelGroveError, match=KILLED):
        distributed.fit(PLTClassifier(), rows, target, executor=pool)
    with Losing(_executors.TRIES - 1) as pool:
        distributed.fit(PLTClassifier(), rows, target, executor=pool)
        assert target.read_bytes() == expected
        [(labels, _)] = distributed.predict_topk(target, rows, executor=pool)
        assert len(labels) == 100
    with Losing(_executors.TRIES) as pool, pytest.raises(LabelGroveError, match=KILLED):
        list(distributed.predict_topk(target, rows, executor=pool))


class Elsewhere(Client):
    """Its scheduler or its workers have another version of the library, or none."""

    def __init__(self, scheduler: str | None, worker: str | Exception | None) -> None:
        super().__init__(1)
        self._versions = {"run_on_scheduler": scheduler, "run": worker}

    def run_on_scheduler(self, *_: Any) -> Any:
        return self._versions["run_on_scheduler"]

    def run(self, *_: Any, **__: Any) -> dict[str, Any]:
        return {"tcp://host:1": self._versions["run"]}


def closed_client() -> Client:
    class Closed(Client):
        def run_on_scheduler(self, *_: Any) -> Any:
            raise RuntimeError("IOLoop is closed")

    return Closed(1)


class NoWorkerError(Exception):
    """Stands in for Dask's error of this name."""

    __module__ = "distributed.scheduler"


def without_workers() -> ThreadPoolExecutor:
    class Empty(ThreadPoolExecutor):
        def submit(self, *_: Any, **__: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_exception(NoWorkerError("timed out without any running workers."))
            return future

    return Empty(1)


class Cancelling(ThreadPoolExecutor):
    """Stands in for a Dask client that has lost its scheduler."""

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future


class Older(ThreadPoolExecutor):
    """Its workers have an older version of the library."""

    def submit(self, task: Any, /, *_: Any, **__: Any) -> Future[Any]:
        def run() -> Any:
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(_executors, "__version__", "0.0.9")
                return task()

        return super().submit(run)


def closed() -> ThreadPoolExecutor:
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    return pool


def broken() -> ThreadPoolExecutor:
    """Breaks at once, as a pool of processes does when one of them is killed."""

    def fail() -> None:
        raise RuntimeError

    return ThreadPoolExecutor(1, initializer=fail)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (broken, "killed, .*; repeat the call with a new executor"),
        (Cancelling, "was closed or lost its scheduler; repeat the call with a new executor"),
        (closed, "refuses a task .*; if it is closed, repeat the call with a new one"),
        (closed_client, "refuses a task .*; if it is closed, repeat the call with a new one"),
        (
            without_workers,
            r"the cluster gave up \(timed out .* workers\); repeat the call with a new",
        ),
        (lambda: Elsewhere(None, __version__), "the scheduler does not have labelgrove; expected"),
        (lambda: Elsewhere(__version__, None), "tcp://host:1 does not have labelgrove; expected"),
        (lambda: Elsewhere(__version__, "9.0"), "tcp://host:1 has version 9.0 of labelgrove; exp"),
        (
            lambda: Elsewhere(__version__, ImportError("no libgomp")),
            r"worker tcp://host:1 cannot import labelgrove \(no libgomp\)",
        ),
        (Older, r"a worker has version 0\.0\.9 of labelgrove; expected "),
    ],
)
def test_an_executor_that_cannot_go_on_is_explained(
    tmp_path: Path, make: Callable[[], ThreadPoolExecutor], message: str
) -> None:
    rows, target = tmp_path / "rows", tmp_path / "pieces.lg"
    written(rows, some_rows(100))
    with make() as pool, pytest.raises(LabelGroveError, match=message):
        distributed.fit(PLTClassifier(), rows, target, executor=pool)
    distributed.fit(PLTClassifier(), rows, target)
    with make() as pool, pytest.raises(LabelGroveError, match=message):
        list(distributed.predict_topk(target, rows, executor=pool))


class Blind(ThreadPoolExecutor):
    """Its worker is on a machine that lacks a file or folder."""

    def __init__(self, hidden: Path) -> None:
        super().__init__(1)
        self._hidden, self._away = hidden, hidden.with_name("away")

    def submit(self, task: Any, /, *_: Any, **__: Any) -> Future[Any]:
        def run() -> Any:
            self._hidden.rename(self._away)
            try:
                return task()
            finally:
                self._away.rename(self._hidden)

        return super().submit(run)


def test_what_a_worker_does_not_see_is_named(tmp_path: Path) -> None:
    rows, target = tmp_path / "rows", tmp_path / "pieces.lg"
    message = r"a worker on \S+ does not see "
    written(rows, some_rows(100))
    header = rows / "dataset.json"  # what an empty folder lacks, where nothing is mounted
    for hidden in (header, tmp_path / ".pieces.lg.partial"):
        with (
            Blind(hidden) as pool,
            pytest.raises(LabelGroveError, match=f"{message}{hidden}; expec"),
        ):
            distributed.fit(PLTClassifier(), rows, target, executor=pool)
    distributed.fit(PLTClassifier(), rows, target)
    for hidden in (header, target):
        with (
            Blind(hidden) as pool,
            pytest.raises(LabelGroveError, match=f"{message}{hidden}; expec"),
        ):
            list(distributed.predict_topk(target, rows, executor=pool))
