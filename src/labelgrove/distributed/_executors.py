"""Executors of tasks: anything with the `submit` of `concurrent.futures.Executor`, or Dask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import contextmanager
from functools import partial
from typing import Any

from labelgrove._errors import LabelGroveError, ParameterError
from labelgrove._optional import optional
from labelgrove._version import __version__
from labelgrove._workers import broken_pools_explained

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


def submit(task: Callable[[], Any], executor: Executor) -> Future[Any]:
    """Submit a task, which fails on a worker that has another version of the library.

    Raises LabelGroveError if the executor refuses it, for example because it is closed.
    """
    try:
        return executor.submit(partial(_run_by, __version__, task))
    except BrokenExecutor:
        raise
    except Exception as error:  # each kind of executor has its own
        raise LabelGroveError(
            f"the executor refuses a task ({error}); if it is closed, repeat the call with a new "
            "one"
        ) from error


def _run_by(version: str, task: Callable[[], Any]) -> Any:
    if version != __version__:
        raise LabelGroveError(
            f"a worker has version {__version__} of labelgrove; expected {version}, as in the "
            "process that submits the tasks"
        )
    return task()


def result_of(task: Callable[[], Any], future: Future[Any], executor: Executor, lost: Lost) -> Any:
    """Wait for a task, and resubmit it if its worker is lost."""
    for _ in range(1, TRIES):
        try:
            return future.result()
        except lost:
            future = submit(task, executor)
    return future.result()


@contextmanager
def failures_explained(lost: Lost, again: str) -> Iterator[None]:
    """As `broken_pools_explained`, for all ways in which an executor may lose tasks."""
    with broken_pools_explained(again):
        try:
            yield
        except lost as error:
            raise LabelGroveError(
                f"{TRIES} attempts at a task have killed their workers, perhaps for lack of "
                f"memory; repeat the call{again}"
            ) from error
        except CancelledError as error:
            raise LabelGroveError(
                f"the executor was closed or lost its scheduler; repeat the call{again}"
            ) from error
