"""Who runs tasks: anything with the `submit` of `concurrent.futures.Executor`, or Dask."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from labelgrove._errors import ParameterError
from labelgrove._optional import optional

Lost = tuple[type[BaseException], ...]

TRIES = 20
"""Times that a task is handed in before it is thought to be what kills its workers."""


def client(address: str) -> Any:
    """Connect to a Dask scheduler, for `fit` and `predict_topk`.

    Parameters
    ----------
    address : str
        Such as ``tcp://host:8786``.

    Returns
    -------
    dask.distributed.Client
        A context manager, which disconnects at the end of its block.

    Raises
    ------
    MissingDependencyError
        Without Dask.
    ParameterError
        If this is no address.
    OSError
        If there is no scheduler.
    """
    try:
        return _dask().Client(address)
    except ValueError as error:
        raise ParameterError(f"{address}: expected an address such as tcp://host:8786") from error


def _dask() -> Any:
    return optional("distributed", "a cluster", "dask")


def resolved(given: Any) -> tuple[Executor, Lost]:
    """What runs tasks, and what it raises where a worker was lost with one."""
    if hasattr(given, "get_executor"):
        return given.get_executor(pure=False), (_dask().KilledWorker,)
    if not hasattr(given, "submit"):
        raise ParameterError(
            f"executor is a {type(given).__name__}; expected a concurrent.futures.Executor, a "
            "client of Dask, or None"
        )
    return given, ()


def result_of(task: Callable[[], Any], future: Future[Any], executor: Executor, lost: Lost) -> Any:
    """Wait for a task; one that was lost with its worker is handed in again."""
    for _ in range(1, TRIES):
        try:
            return future.result()
        except lost:
            future = executor.submit(task)
    return future.result()
