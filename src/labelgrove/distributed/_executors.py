"""Executors of tasks: anything with the `submit` of `concurrent.futures.Executor`, or Dask."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from pydoc import locate
from socket import gethostname
from typing import Any

from labelgrove._errors import LabelGroveError, ParameterError
from labelgrove._optional import optional
from labelgrove._version import __version__
from labelgrove._workers import broken_pools_explained

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


class Workers:
    """An executor, whose workers must see the given paths."""

    def __init__(self, executor: Any, *paths: str) -> None:
        self._paths = paths
        self.lost: tuple[type[BaseException], ...] = ()  # raised when a worker is lost
        if hasattr(executor, "run_on_scheduler"):
            _require_versions(executor)
            executor, self.lost = _DaskExecutor(executor), (_dask().KilledWorker,)
        if not hasattr(executor, "submit"):
            raise ParameterError(
                f"executor is a {type(executor).__name__}; expected a concurrent.futures.Executor, "
                "a Dask client, or None"
            )
        self._executor: Executor | _DaskExecutor = executor

    def submit(self, task: Callable[[], Any]) -> Future[Any]:
        """Submit a task, which fails on a worker of another version or without the paths.

        Raises LabelGroveError if the executor refuses it, for example because it is closed.
        """
        try:
            return self._executor.submit(partial(_run, __version__, self._paths, task))
        except BrokenExecutor:
            raise
        except Exception as error:  # each kind of executor has its own
            raise _refusal(error) from error

    def result_of(self, task: Callable[[], Any], future: Future[Any]) -> Any:
        """Wait for a task, and resubmit it if its worker is lost."""
        for _ in range(1, TRIES):
            try:
                return future.result()
            except self.lost:
                future = self.submit(task)
        return future.result()

    @contextmanager
    def failures_explained(self, again: str) -> Iterator[None]:
        """As `broken_pools_explained`, for all ways in which an executor may lose tasks."""
        with broken_pools_explained(again):
            try:
                yield
            except self.lost as error:
                raise LabelGroveError(
                    f"{TRIES} attempts at a task have killed their workers, perhaps for lack of "
                    f"memory; repeat the call{again}"
                ) from error
            except CancelledError as error:
                raise LabelGroveError(
                    f"the executor was closed or lost its scheduler; repeat the call{again}"
                ) from error
            except Exception as error:
                if not type(error).__module__.startswith("distributed."):
                    raise
                raise LabelGroveError(
                    f"the cluster gave up ({str(error).rstrip('.')}); repeat the call{again}"
                ) from error


class _DaskExecutor:
    """A Dask client as an executor.

    Dask's own leaves a future unfinished for ever if a worker dies between the end of its task and
    the fetching of the result, and the task then kills another worker.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def submit(self, task: Callable[[], Any]) -> Future[Any]:
        running = self._client.submit(task, pure=False)
        result = self._client.gather(running, asynchronous=True)
        return asyncio.run_coroutine_threadsafe(result, self._client.loop.asyncio_loop)


def _refusal(error: Exception) -> LabelGroveError:
    return LabelGroveError(
        f"the executor refuses a task ({error}); if it is closed, repeat the call with a new one"
    )


def _require_versions(client: Any) -> None:
    """Refuse a Dask cluster whose scheduler or workers cannot run tasks of this version.

    Where the package is missing, a task could not even be decoded: Dask's workers would die of it,
    and the call would wait for others for ever.
    """
    name = "labelgrove.__version__"
    try:
        found = {"the scheduler": client.run_on_scheduler(locate, name)}
        on_workers = client.run(locate, name, on_error="return")
    except Exception as error:
        raise _refusal(error) from error
    found |= {f"worker {address}": version for address, version in on_workers.items()}
    for where, version in found.items():
        if isinstance(version, OSError):  # the worker has just been lost
            continue
        if isinstance(version, Exception):
            raise LabelGroveError(f"{where} cannot import labelgrove ({version})") from version
        _require_version(where, version, __version__)


def _require_version(where: str, found: str | None, expected: str) -> None:
    if found != expected:
        has = "does not have" if found is None else f"has version {found} of"
        raise LabelGroveError(
            f"{where} {has} labelgrove; expected version {expected}, as in the process that "
            "submits the tasks"
        )


def _run(version: str, paths: tuple[str, ...], task: Callable[[], Any]) -> Any:
    _require_version("a worker", __version__, version)
    for path in paths:
        if not Path(path).exists():
            raise LabelGroveError(
                f"a worker on {gethostname()} does not see {path}; expected the data set and the "
                "model under the same paths on all machines"
            )
    return task()
