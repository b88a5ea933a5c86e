"""Dask's workers learn the same bytes, also where one of them is killed and others come late."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sklearn.base import clone

import labelgrove
from cluster.kit import in_memory, some_rows, written, written_texts
from labelgrove import DataError, ParameterError, PLTClassifier, TextClassifier, distributed

dask = pytest.importorskip("distributed", reason="there is no Dask here (the extra dask)")

pytestmark = pytest.mark.slow  # processes that import everything


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with (
        dask.LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None) as local,
        dask.Client(local) as client,
    ):
        yield client


def test_workers_may_be_killed_and_come_late(cluster: Any, tmp_path: Path) -> None:
    model = TextClassifier(PLTClassifier(arity=3, max_leaf_size=4))
    dataset = written_texts(tmp_path / "data", 200)
    assert dataset.text is not None
    expected = in_memory(clone(model), dataset, tmp_path / "memory.lg")
    to_kill = list(cluster.run(os.getpid).values())[:1]
    n_workers = len(cluster.scheduler_info()["workers"])

    def kill_one_and_start_one(share: float) -> None:
        if share > 0.5 and to_kill:
            os.kill(to_kill.pop(), signal.SIGKILL)
            cluster.cluster.scale(n_workers + 1)
            cluster.wait_for_workers(n_workers + 1)

    distributed.fit(
        model,
        tmp_path / "data",
        tmp_path / "pieces.lg",
        memory=200_000,
        executor=cluster,
        progress=kill_one_and_start_one,
    )
    assert not to_kill
    assert (tmp_path / "pieces.lg").read_bytes() == expected
    names = tmp_path / "pieces.lg", tmp_path / "data"
    [(labels, _)] = distributed.predict_topk(*names, executor=cluster)
    model = labelgrove.load(names[0])
    assert labels.tolist() == model.predict_topk(dataset.text)[0].tolist()


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
