"""``labelgrove serve``: an HTTP service that answers while it learns."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from labelgrove._errors import DataError, LabelGroveError, MissingDependencyError, ParameterError
from labelgrove._numbers import counted
from labelgrove._parameters import byte_count
from labelgrove._paths import named
from labelgrove.cli._remote import is_address
from labelgrove.cli.streams._console import STANDARD_OUTPUT, encode, say, write_json

if TYPE_CHECKING:
    from labelgrove.service import Service

_MOST_FILES = 16_384
_TOKEN = "LABELGROVE_TOKEN"  # noqa: S105  the name of a variable


def serve(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder of logs and models; created if missing.")
    ],
    project: Annotated[
        list[str] | None,
        typer.Option(
            "--project", metavar="NAME", help="Create this project if missing. Repeatable."
        ),
    ] = None,
    host: Annotated[
        str, typer.Option("--host", metavar="HOST", help="Address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            "--port",
            metavar="N",
            min=0,
            max=65535,
            help="Port to listen on; 0 for any free one.",
        ),
    ] = 8787,
    follow: Annotated[
        str | None,
        typer.Option(
            "--follow",
            metavar="URL",
            show_default=False,
            help=f"Run as a read-only replica of this server; {_TOKEN} holds its token.",
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            show_default=False,
            help="Memory for models, such as 2GB; the least recently used projects are closed "
            "beyond it.",
        ),
    ] = None,
    new_token: Annotated[
        Literal["read", "learn", "admin"] | None,
        typer.Option(
            "--new-token",
            show_default=False,
            help="Create a token of this scope, print it once, and exit.",
        ),
    ] = None,
    recover: Annotated[
        str | None,
        typer.Option(
            "--recover",
            metavar="NAME",
            show_default=False,
            help="Recover the intact events of this project's damaged log, and exit.",
        ),
    ] = None,
    demo: Annotated[
        bool,
        typer.Option("--demo", help="Teach a project named demo the documentation of Python."),
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the address and the log as lines of JSON.")
    ] = False,
) -> None:
    """Serve an HTTP API that suggests labels and learns.

    Acknowledged examples are durable. The page at / shows the projects; /openapi.json describes
    the API. SIGTERM or Ctrl-C shuts down cleanly.
    """
    try:
        from labelgrove import service
    except ImportError as error:
        raise MissingDependencyError(
            f'the service needs {error.name}; install it with pip install "labelgrove[service]"'
        ) from None
    if recover is not None:
        log = directory / "projects" / recover / "log.sqlite"
        if not log.is_file():
            raise DataError(f"--recover {recover}: there is no such project in {directory}")
        with service.alone_in(directory):
            kept, moved = service.recover(log)
        say(f"recovered {counted(kept, 'event')}; the damaged file is now {moved}")
        return
    if follow is not None:
        _check_leader(follow, own=bool(project or demo))
    if directory.exists() and not directory.is_dir():
        raise ParameterError(
            f"{directory}: this is a file; expected a folder, in which the service keeps what it "
            "learns"
        )
    _log_to_stderr(as_json=json)
    _allow_many_files()
    most = None if memory is None else byte_count("--memory", memory, 1_000_000)
    served = service.Service(directory, memory=most, leader=follow)
    try:
        if new_token is not None:
            served.tokens.add(new_token, _show)
            return
        if not len(served.tokens) and not service.is_loopback(host):
            raise ParameterError(
                f"--host {host}: the service would be open to the network without a token; create "
                f"one first: labelgrove serve {directory} --new-token admin"
            )

        def serving(address: str) -> None:
            served.create_missing([*(project or []), *(["demo"] if demo else [])])
            if json:
                write_json({"url": address, "pid": os.getpid(), "projects": served.names()})
                sys.stdout.flush()
            else:
                say(f"serving {directory} at {address}")
            if demo:  # in the background, so that the page shows the model learning
                threading.Thread(target=_teach_demo, args=(served,), daemon=True).start()

        begin = partial(served.begin, os.environ.get(_TOKEN))
        service.serve(served, host, port, serving, begin)
    finally:
        served.close()


def _check_leader(follow: str, *, own: bool) -> None:
    if not is_address(follow) or "#" in follow:
        raise ParameterError(
            f"--follow {follow}: expected the address of a service, such as "
            "http://localhost:8787, without a project"
        )
    if own:
        raise ParameterError(
            "--follow: a replica has the projects of its leader; expected neither --project nor "
            "--demo"
        )


def _allow_many_files() -> None:
    """Raise the usual limit of 1,024 open files; a project has five, and a connection one."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        with suppress(OSError, ValueError):  # the system may allow fewer than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))


def _show(token: str) -> None:
    with named(STANDARD_OUTPUT):
        typer.echo(token)  # flushes


def _teach_demo(served: Service) -> None:
    """Teach what is missing, unless others have used the project."""
    from labelgrove.datasets import iter_python_docs
    from labelgrove.service._events import body_of

    with suppress(LabelGroveError):  # the service is being stopped, or cannot open the project
        with served.using("demo") as project:
            head = project.log.head
            [newest] = project.log.read(head - 1, 1)
        docs = iter_python_docs()
        taught = list(islice(docs, head - 1))  # all but the settings, of a demo that was stopped
        if taught and getattr(body_of(newest), "text", None) != taught[-1].text:
            return
        while some := list(islice(docs, 50)):
            served.teach("demo", [doc.text for doc in some], [doc.labels for doc in some])


class _Lines(logging.Formatter):
    """Format log records as JSON, one per line."""

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {
            "time": f"{moment}.{record.msecs:03.0f}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return encode(line).decode().removesuffix("\n")  # the handler ends the line


def _log_to_stderr(*, as_json: bool) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_Lines() if as_json else logging.Formatter("%(levelname)s %(message)s"))
    for name in ("labelgrove.service", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if name != "uvicorn" else logging.WARNING)
