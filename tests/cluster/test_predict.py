"""Rows are predicted in order, starting at any row, and as by the model alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cluster.kit import some_rows, written, written_texts
from labelgrove import (
    DataError,
    FileFormatError,
    ModelFileError,
    ParameterError,
    PLTClassifier,
    TextClassifier,
    distributed,
)
from labelgrove.data._mapped import Writer
from labelgrove.distributed import _predict
from labelgrove.evaluation import evaluate


def test_rows_are_predicted_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_predict, "ROWS", 7)
    monkeypatch.setattr(_predict, "_AHEAD", 3)
    dataset = written(tmp_path / "rows", some_rows(100))
    model = PLTClassifier().fit(dataset.X, dataset.labels)
    model.save(tmp_path / "model.lg")
    names = tmp_path / "model.lg", tmp_path / "rows"
    with ThreadPoolExecutor(3) as pool:
        for start, executor in ((0, None), (0, pool), (50, pool), (100, pool)):
            found = list(distributed.predict_topk(*names, k=3, start=start, executor=executor))
            expected = model.predict_topk(dataset.X, k=3)
            for part, whole in enumerate(expected):
                rows = [row for both in found for row in both[part].tolist()]
                assert rows == whole[start:].tolist()
        begun = distributed.predict_topk(*names, executor=pool)
        assert next(begun)[0].shape == (7, 5)  # the others are not requested


def test_texts_are_predicted_by_a_model_of_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_predict, "ROWS", 7)
    dataset = written_texts(tmp_path / "texts", 40)
    model = TextClassifier(PLTClassifier(), "words").fit(dataset.text, dataset.labels)
    model.save(tmp_path / "model.lg")
    names = tmp_path / "model.lg", tmp_path / "texts"
    found = list(distributed.predict_topk(*names, k=2, start=10))
    expected = model.predict_topk(dataset.text[10:], k=2)
    assert [row for both in found for row in both[0].tolist()] == expected[0].tolist()
    assert distributed.evaluate(*names)["examples"] == 40
    written(tmp_path / "rows", some_rows(3))
    with pytest.raises(DataError, match="rows: holds features; expected texts"):
        next(distributed.predict_topk(tmp_path / "model.lg", tmp_path / "rows"))


@pytest.mark.parametrize("threshold", [None, 0.3])
@pytest.mark.parametrize("in_a_row", [None, 1])
def test_figures_are_those_of_the_whole(
    threshold: float | None, in_a_row: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_predict, "ROWS", 7)
    rows = [(labels[:in_a_row], x) for labels, x in some_rows(100) if labels or not in_a_row]
    dataset = written(tmp_path / "rows", rows)
    Y = [label for (label,) in dataset.labels] if in_a_row else dataset.labels
    model = PLTClassifier().fit(dataset.X, Y)
    model.save(tmp_path / "model.lg")
    expected = evaluate(model, dataset.X, Y, ks=[1, 4], threshold=threshold)
    with ThreadPoolExecutor(3) as pool:
        found = distributed.evaluate(
            tmp_path / "model.lg", tmp_path / "rows", ks=[4, 1], threshold=threshold, executor=pool
        )
    for figures in (found, expected):
        del figures["seconds"], figures["examples_per_second"]
    assert found == expected


def test_the_last_of_a_new_file_counts(tmp_path: Path) -> None:
    dataset = written(tmp_path / "rows", some_rows(30))
    names = tmp_path / "model.lg", tmp_path / "rows"
    scores = []
    for bias in (1.0, 0.0):
        PLTClassifier(bias=bias).fit(dataset.X, dataset.labels).save(names[0])
        [(_, found)] = distributed.predict_topk(*names)
        scores.append(found)
    assert not np.array_equal(*scores)


@pytest.mark.parametrize(("replaced", "error"), [("rows", DataError), ("model.lg", ModelFileError)])
@pytest.mark.parametrize("asks", [distributed.predict_topk, distributed.evaluate])
def test_what_is_replaced_meanwhile_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    asks: Any,
    replaced: str,
    error: type[Exception],
) -> None:
    monkeypatch.setattr(_predict, "ROWS", 7)
    dataset = written(tmp_path / "rows", some_rows(30))
    other = written(tmp_path / "other", some_rows(30)[::-1])
    PLTClassifier().fit(dataset.X, dataset.labels).save(tmp_path / "model.lg")
    PLTClassifier().fit(other.X, other.labels).save(tmp_path / "other.lg")
    new = tmp_path / {"rows": "other", "model.lg": "other.lg"}[replaced]

    class Late(ThreadPoolExecutor):
        def submit(self, task: Any, /, *args: Any, **kwargs: Any) -> Any:
            if new.exists():
                (tmp_path / replaced).rename(tmp_path / "old")
                new.rename(tmp_path / replaced)
            return super().submit(task, *args, **kwargs)

    with Late(1) as pool, pytest.raises(error, match="has been replaced in the meantime"):
        list(asks(tmp_path / "model.lg", tmp_path / "rows", executor=pool))


def test_what_cannot_be_predicted_is_refused(tmp_path: Path) -> None:
    dataset = written(tmp_path / "rows", some_rows(30))
    PLTClassifier().fit(dataset.X, dataset.labels).save(tmp_path / "model.lg")
    written_texts(tmp_path / "texts", 1)
    for start in (31, -1, 1.5, "1"):
        with pytest.raises(ParameterError, match="start=.*: expected an integer from 0 to 30"):
            distributed.predict_topk(tmp_path / "model.lg", tmp_path / "rows", start=start)
    with pytest.raises(ParameterError, match="k=0"):
        distributed.predict_topk(tmp_path / "model.lg", tmp_path / "rows", k=0)
    with pytest.raises(DataError, match="texts: holds texts; expected features"):
        list(distributed.predict_topk(tmp_path / "model.lg", tmp_path / "texts"))
    (tmp_path / "torn").mkdir()
    with Writer(tmp_path / "torn", is_text=False, labels_are_int=True) as writer:
        writer.labels([(1,)])
        writer.features(np.array([2]), np.zeros(1, np.int32), np.ones(1, np.float32), 40)
    with pytest.raises(FileFormatError, match="X.indptr.i64 holds invalid row ends"):
        distributed.predict_topk(tmp_path / "model.lg", tmp_path / "torn")
