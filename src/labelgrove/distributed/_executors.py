"""Executors of tasks: anything with the `submit` of `concurrent.futures.Executor`, or Dask."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from labelgrove._errors import ParameterError
from labelgrove._optional import optional

Lost = tuple[type[BaseException], ...]

TRIES = 20
"""Number of times that a task is submitted before it is assumed to be killing its workers."""


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
        If Dask is not installed.
    ParameterError
        If this is not an address.
    OSError
        If there is no scheduler at this address.
    """
    try:
        return _dask().Client(address)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"address={address!r:.80}: expected an address such as tcp://host:8786"
        ) from error


def _dask() -> Any:
    return optional("distributed", "a cluster", "dask")


def resolved(given: Any) -> tuple[Executor, Lost]:
    """Return an executor, and the exceptions that it raises when a worker is lost."""
    if hasattr(given, "get_executor"):
        return given.get_executor(pure=False), (_dask().KilledWorker,)
    if not hasattr(given, "submit"):
        raise ParameterError(
            f"executor is a {type(given).__name__}; expected a concurrent.futures.Executor, a "
            "Dask client, or None"
        )
    return given, ()


def result_of(task: Callable[[], Any], future: Future[Any], executor: Executor, lost: Lost) -> Any:
    """Wait for a task, and resubmit it if its worker is lost."""
    for _ in range(1, TRIES):
        try:
            return future.result()
        except lost:
            future = executor.submit(task)
    return future.result()
