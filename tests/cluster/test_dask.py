"""Dask's workers learn the same bytes, also where one of them is killed and another one comes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import labelgrove
from cluster.kit import in_memory, some_rows, written
from labelgrove import DataError, ParameterError, PLTClassifier, distributed

dask = pytest.importorskip("distributed", reason="there is no Dask here (the extra dask)")

pytestmark = pytest.mark.slow  # processes that import everything


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with (
        dask.LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None) as local,
        dask.Client(local) as client,
    ):
        yield client


def test_a_worker_may_be_killed(cluster: Any, tmp_path: Path) -> None:
    parameters: dict[str, Any] = {"arity": 3, "max_leaf_size": 4}
    dataset = written(tmp_path / "rows", some_rows(400))
    expected = in_memory(PLTClassifier(**parameters), dataset, tmp_path / "memory.lg")
    alive = list(cluster.run(os.getpid).values())[:1]

    def kill_one(share: float) -> None:
        if share > 0.5 and alive:
            os.kill(alive.pop(), signal.SIGKILL)

    distributed.fit(
        PLTClassifier(**parameters),
        tmp_path / "rows",
        tmp_path / "pieces.lg",
        memory=60_000,
        executor=cluster,
        progress=kill_one,
    )
    assert not alive
    assert (tmp_path / "pieces.lg").read_bytes() == expected
    names = tmp_path / "pieces.lg", tmp_path / "rows"
    [(labels, _)] = distributed.predict_topk(*names, executor=cluster)
    assert labels.tolist() == labelgrove.load(names[0]).predict_topk(dataset.X)[0].tolist()


def test_what_fails_on_a_worker_is_raised_here(cluster: Any, tmp_path: Path) -> None:
    written(tmp_path / "rows", some_rows(50))
    (tmp_path / ".model.lg.partial").mkdir()
    values = tmp_path / "rows" / "X.data.f32"
    values.write_bytes(b"\xff" * values.stat().st_size)  # NaN
    with pytest.raises(DataError, match="is damaged"):
        distributed.fit(PLTClassifier(), tmp_path / "rows", tmp_path / "model.lg", executor=cluster)
    assert not (tmp_path / "model.lg").exists()


def test_what_is_no_address_is_named() -> None:
    with pytest.raises(ParameterError, match="junk: expected an address such as tcp://host:8786"):
        distributed.client("junk")
