"""A task whose worker is lost is submitted again, but not for ever."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cluster.kit import in_memory, some_rows, written
from labelgrove import PLTClassifier, distributed
from labelgrove.distributed import _executors


class Lost(Exception):
    """Stands in for Dask's KilledWorker."""


class Losing(ThreadPoolExecutor):
    """Stands in for a Dask client, and loses the worker of every task this many times."""

    def __init__(self, times: int) -> None:
        super().__init__(2)
        self._times = times
        self._submitted: Counter[str] = Counter()

    def get_executor(self, *, pure: bool) -> ThreadPoolExecutor:
        assert not pure  # otherwise Dask would return the first failure again
        return self

    def submit(self, task: Any, /, *_: Any, **__: Any) -> Future[Any]:
        def lose() -> None:
            raise Lost

        self._submitted[repr(task)] += 1
        return super().submit(lose if self._submitted[repr(task)] <= self._times else task)


def test_tasks_of_lost_workers_are_submitted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_executors, "_dask", lambda: SimpleNamespace(KilledWorker=Lost))
    rows, target = tmp_path / "rows", tmp_path / "pieces.lg"
    dataset = written(rows, some_rows(100))
    expected = in_memory(PLTClassifier(), dataset, tmp_path / "memory.lg")
    with Losing(_executors.TRIES) as pool, pytest.raises(Lost):
        distributed.fit(PLTClassifier(), rows, target, executor=pool)
    with Losing(_executors.TRIES - 1) as pool:
        distributed.fit(PLTClassifier(), rows, target, executor=pool)
        assert target.read_bytes() == expected
        [(labels, _)] = distributed.predict_topk(target, rows, executor=pool)
        assert len(labels) == 100
    with Losing(_executors.TRIES) as pool, pytest.raises(Lost):
        list(distributed.predict_topk(target, rows, executor=pool))
