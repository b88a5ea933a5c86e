"""Prediction for a data set on disk that may be larger than memory, in order, here or anywhere."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy.typing as npt

from labelgrove._errors import DataError, ParameterError
from labelgrove._parameters import integer
from labelgrove.data._mapped import csr_over, open_arrays
from labelgrove.distributed._executors import resolved, result_of
from labelgrove.models import load

ROWS = 8192
"""Of a task."""

_AHEAD = 256
"""Tasks that are handed in before the first of them is asked for."""

Found = tuple[npt.NDArray[Any], npt.NDArray[Any]]


def predict_topk(
    model: str | os.PathLike[str],
    dataset: str | os.PathLike[str],
    k: int = 5,
    *,
    start: int = 0,
    executor: Any = None,
) -> Iterator[Found]:
    """Predict the best labels of all rows of a data set on disk, some thousand rows at a time.

    Parameters
    ----------
    model : str or os.PathLike
        A model file, of a classifier of features.
    dataset : str or os.PathLike
        A folder that `labelgrove.data.convert` has written, with features and not texts.
    k : int
        Labels of a row, at most.
    start : int
        The first row: how many rows were predicted already, to go on after a stop.
    executor : concurrent.futures.Executor or dask.distributed.Client, optional
        As for `fit`. Tasks begin before their results are asked for, 256 of them at most.

    Yields
    ------
    labels, scores : ndarray of shape (n, k)
        As the model's ``predict_topk`` gives them, of rows one after another.

    Raises
    ------
    ParameterError
        If a parameter is out of its domain.
    DataError
        If the data set cannot be used.
    ModelFileError
        If the model is none.

    Examples
    --------
    See `fit`; then ``for labels, scores in predict_topk("model.lg", "two", k=1): …``
    """
    data = str(Path(os.fsdecode(dataset)).resolve())
    n_rows = open_arrays(data)[0].rows
    path = str(Path(os.fsdecode(model)).resolve())
    integer("k", k, 1)
    if not 0 <= start <= n_rows:
        raise ParameterError(f"start={start}: expected a row from 0 to {n_rows}")
    runs = range(start, n_rows, ROWS)
    return _in_order(
        [partial(predict, path, data, begin, min(begin + ROWS, n_rows), k) for begin in runs],
        executor,
    )


def _in_order(tasks: list[Callable[[], Found]], executor: Any) -> Iterator[Found]:
    if executor is None:
        for task in tasks:
            yield task()
        return
    pool, lost = resolved(executor)
    waiting = deque((task, pool.submit(task)) for task in tasks[:_AHEAD])
    try:
        for task in tasks[_AHEAD:]:
            yield result_of(*waiting.popleft(), pool, lost)
            waiting.append((task, pool.submit(task)))
        while waiting:
            yield result_of(*waiting.popleft(), pool, lost)
    finally:
        for _, future in waiting:
            future.cancel()


def predict(model: str, data: str, begin: int, end: int, k: int) -> Found:
    """Predict some rows."""
    header, arrays = open_arrays(data)
    if header.width < 0:
        raise DataError(f"{data}: holds texts; expected features")
    ends = arrays["X.indptr.i64"][begin : end + 1]
    cells = slice(int(ends[0]), int(ends[-1]))
    values = (arrays[name][cells] for name in ("X.indices.i32", "X.data.f32"))
    X = csr_over((ends - ends[0], *values), header.width)
    found: Found = _loaded(model, Path(model).stat().st_mtime_ns).predict_topk(X, k=k)
    return found


@lru_cache(maxsize=1)
def _loaded(model: str, changed: int) -> Any:
    """The model, kept from one task to the next as long as its file is the same."""
    del changed
    return load(model)
