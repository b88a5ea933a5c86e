"""Prediction and evaluation on a data set that may be larger than memory, locally or anywhere."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy.typing as npt
from scipy.sparse import csr_array

from labelgrove._cuts import Cut
from labelgrove._errors import DataError, ModelFileError
from labelgrove._parameters import integer
from labelgrove._paths import followed
from labelgrove._unfinished import identity
from labelgrove.data._mapped import HEADER, Header, as_dataset, csr_over, texts_over
from labelgrove.distributed._executors import Workers
from labelgrove.distributed._tasks import opened
from labelgrove.evaluation._figures import Training, figures
from labelgrove.evaluation._observed import observe
from labelgrove.metrics._inputs import check_ks
from labelgrove.models import TextClassifier, load

ROWS = 8192
"""Rows per task."""

_AHEAD = 256
"""Number of tasks submitted ahead of the result being waited for."""

Found = tuple[npt.NDArray[Any], npt.NDArray[Any]]
Answer = tuple[tuple[Any, Any, Any], Any]
_Result = TypeVar("_Result")


def predict_topk(
    model: str | os.PathLike[str],
    dataset: str | os.PathLike[str],
    k: int = 5,
    *,
    start: int = 0,
    executor: Any = None,
) -> Iterator[Found]:
    """Predict the best labels of all rows of a data set on disk, a few thousand rows at a time.

    Parameters
    ----------
    model : str or os.PathLike
        A model file.
    dataset : str or os.PathLike
        A folder written by `labelgrove.data.convert`, whose checksums are then verified, or the
        `Dataset` opened from it; with texts for a TextClassifier.
    k : int
        Maximum number of labels per row.
    start : int
        The first row to predict. To resume after an interruption, pass the number of rows already
        predicted.
    executor : concurrent.futures.Executor or dask.distributed.Client, optional
        As for `fit`. Up to 256 tasks are submitted ahead of time.

    Yields
    ------
    labels, scores : ndarray of shape (n, k)
        The results of the model's ``predict_topk`` for consecutive rows.

    Raises
    ------
    ParameterError
        If a parameter is out of its domain.
    DataError
        If the data set cannot be used, or has been replaced in the meantime.
    ModelFileError
        If the model file is invalid, or has been replaced in the meantime.
    LabelGroveError
        If the executor breaks (for example because a worker is killed) or is closed, or if its
        workers have another version of the library or do not see the model or the data set.

    Examples
    --------
    See `fit`; then ``for labels, scores in predict_topk("model.lg", "two", k=1): …``
    """
    asked = _opened(model, dataset)
    integer("k", k, 1)
    start = integer("start", start, 0, asked.header.rows)
    tasks = [partial(predict, asked, *run, k) for run in _runs(start, asked.header.rows)]
    return _in_order(asked, tasks, executor)


def evaluate(
    model: str | os.PathLike[str],
    dataset: str | os.PathLike[str],
    *,
    ks: Iterable[int] = (1, 3, 5),
    threshold: Cut | None = None,
    executor: Any = None,
) -> dict[str, Any]:
    """Evaluate a model on all rows of a data set on disk, a few thousand rows at a time.

    Parameters
    ----------
    model, dataset, executor
        As for `predict_topk`. This process also loads the model, for its labels.
    ks, threshold
        As for `labelgrove.evaluation.evaluate`.

    Returns
    -------
    dict
        As from `labelgrove.evaluation.evaluate` for the same model and rows; "seconds" is the
        total of all tasks.

    Raises
    ------
    ParameterError, DataError, ModelFileError, LabelGroveError
        As for `predict_topk`.
    """
    places = check_ks(ks)
    source = as_dataset(dataset)
    asked, labels = _opened(model, source), source.labels
    runs = _runs(0, asked.header.rows)
    tasks = [partial(answer, asked, *run, places[-1], threshold) for run in runs]
    answering = _Answering(_loaded(asked), _in_order(asked, tasks, executor))
    batches = ((range(*run), list(labels[slice(*run)])) for run in runs)
    observed = observe(answering, batches, k=places[-1], threshold=threshold)
    return figures(observed, places, training=Training.of(answering))


class _Answering:
    """A model whose predictions for consecutive runs of rows are computed by tasks."""

    def __init__(self, model: Any, answers: Iterator[Answer]) -> None:
        self._model, self._answers = model, answers
        self._sets: Any = None

    def __getattr__(self, name: str) -> Any:
        """Delegate all other attributes to the model."""
        return getattr(self._model, name)

    def predict_topk(self, *_: Any, **__: Any) -> Any:
        """Return the best labels of the next run and their costs; its task knows the parameters."""
        best, self._sets = next(self._answers)
        return best

    def predict(self, *_: Any, **__: Any) -> Any:
        """Return the label sets of the same run, or its probabilities that reach a threshold."""
        return self._sets

    predict_proba = predict


@dataclass(frozen=True)
class Asked:
    """Paths of the model and the data set of a call, and what identifies their versions."""

    model: str
    model_is: tuple[int, int]
    data: str
    header: Header


def _opened(model: str | os.PathLike[str], dataset: str | os.PathLike[str]) -> Asked:
    source, path = as_dataset(dataset), followed(os.fsdecode(model))  # tasks rely on its checks
    return Asked(str(path), _state(path), str(followed(source.path)), source._header)


def _state(model: Path) -> tuple[int, int]:
    [(_, size, changed)] = identity([model])
    return size, changed


def _runs(start: int, n_rows: int) -> list[tuple[int, int]]:
    return [(begin, min(begin + ROWS, n_rows)) for begin in range(start, n_rows, ROWS)]


def _in_order(
    asked: Asked, tasks: Sequence[Callable[[], _Result]], executor: Any
) -> Iterator[_Result]:
    if executor is None:
        for task in tasks:
            yield task()
        return
    workers = Workers(executor, str(Path(asked.data, HEADER)), asked.model)
    with workers.failures_explained(" with a new executor"):
        waiting = deque((task, workers.submit(task)) for task in tasks[:_AHEAD])
        try:
            for task in tasks[_AHEAD:]:
                yield workers.result_of(*waiting.popleft())
                waiting.append((task, workers.submit(task)))
            while waiting:
                yield workers.result_of(*waiting.popleft())
        finally:
            for _, future in waiting:
                future.cancel()


def predict(asked: Asked, begin: int, end: int, k: int) -> Found:
    """Predict some rows."""
    clf = _loaded(asked)
    found: Found = clf.predict_topk(_rows(asked, clf, begin, end), k=k)
    return found


def answer(asked: Asked, begin: int, end: int, k: int, threshold: Cut | None) -> Answer:
    """Predict some rows, and their label sets unless the model is multi-class."""
    clf = _loaded(asked)
    X = _rows(asked, clf, begin, end)
    best = clf.predict_topk(X, k=k, return_stats=True)
    if threshold is not None:
        return best, clf.predict_proba(X, threshold=threshold)
    return best, None if clf.target_type_ == "multiclass" else clf.predict(X)


def _rows(asked: Asked, clf: Any, begin: int, end: int) -> csr_array | list[str]:
    arrays = opened(asked.data, asked.header)
    are_texts = asked.header.width < 0
    if are_texts != isinstance(clf, TextClassifier):
        found, other = ("texts", "features") if are_texts else ("features", "texts")
        raise DataError(f"{asked.data}: holds {found}; expected {other}, as the model has learnt")
    if are_texts:
        return texts_over(asked.data, arrays)[begin:end]
    ends = arrays["X.indptr.i64"][begin : end + 1]
    cells = slice(int(ends[0]), int(ends[-1]))
    values = (arrays[name][cells] for name in ("X.indices.i32", "X.data.f32"))
    return csr_over((ends - ends[0], *values), asked.header.width)


def _loaded(asked: Asked) -> Any:
    if _state(Path(asked.model)) != asked.model_is:
        raise ModelFileError(
            f"{asked.model}: has been replaced in the meantime; repeat the call to start again"
        )
    return _kept(asked.model, asked.model_is)


@lru_cache(maxsize=1)
def _kept(model: str, _: tuple[int, int]) -> Any:
    """Load the model, cached between tasks for as long as its file is unchanged."""
    return load(model)
