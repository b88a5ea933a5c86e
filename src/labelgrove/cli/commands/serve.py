"""``labelgrove serve``: a service that learns while it answers."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from ipaddress import ip_address
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelgrove._errors import LabelGroveError, MissingDependencyError, ParameterError
from labelgrove.cli._options import JsonOption
from labelgrove.cli.streams._console import encode, say, write_json

if TYPE_CHECKING:
    from labelgrove.service import Service

_TOKEN = "LABELGROVE_TOKEN"  # noqa: S105  the name of a variable


def serve(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where logs and models are; made if missing.")
    ],
    project: Annotated[
        list[str] | None,
        typer.Option("--project", metavar="NAME", help="Make this project if it is missing."),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="0 for any that is free.")
    ] = 8787,
    follow: Annotated[
        str | None,
        typer.Option(
            "--follow",
            metavar="URL",
            show_default=False,
            help=f"Be a replica of this server; its token is taken from {_TOKEN}.",
        ),
    ] = None,
    memory: Annotated[
        int | None,
        typer.Option(
            "--memory",
            metavar="MB",
            min=1,
            show_default=False,
            help="Put projects away that were not used for longest, so that models fit into this.",
        ),
    ] = None,
    new_token: Annotated[
        str | None,
        typer.Option(
            "--new-token",
            metavar="SCOPE",
            show_default=False,
            help="Make a token for read, learn or admin, show it once, and stop.",
        ),
    ] = None,
    recover: Annotated[
        str | None,
        typer.Option(
            "--recover",
            metavar="NAME",
            show_default=False,
            help="Keep what is whole of this project's damaged log, and stop.",
        ),
    ] = None,
    demo: Annotated[
        bool,
        typer.Option("--demo", help="Teach a project demo what the documentation of Python says."),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Suggest labels over HTTP, and learn over HTTP, from the first example on.

    What was acknowledged is on the disk. The page at / shows it all; /openapi.json describes it.
    SIGTERM or Ctrl-C ends it in good order.
    """
    try:
        from labelgrove import service
    except ImportError as error:
        raise MissingDependencyError(
            f'the service needs {error.name}: pip install "labelgrove[service]"'
        ) from None
    if recover is not None:
        kept, moved = service.recover(directory / "projects" / recover / "log.sqlite")
        say(f"{kept} events were whole and are kept; the damaged file is {moved}")
        return
    if new_token is not None and new_token not in service.SCOPES:
        raise ParameterError(f"--new-token {new_token}: expected {', '.join(service.SCOPES)}")
    _log_to_stderr(as_json=json)
    served = service.Service(
        directory, memory=None if memory is None else memory * 1_000_000, leader=follow
    )
    try:
        if new_token is not None:
            typer.echo(served.tokens.add(new_token))
            return
        if not len(served.tokens) and not _is_loopback(host):
            raise ParameterError(
                f"--host {host}: others could reach it, and there is no token yet; make one "
                f"first: labelgrove serve {directory} --new-token admin"
            )
        served.begin([*(project or []), *(["demo"] if demo else [])], os.environ.get(_TOKEN))

        def serving(address: str) -> None:
            if json:
                write_json({"url": address, "pid": os.getpid(), "projects": served.names()})
                sys.stdout.flush()
            else:
                say(f"serving {directory} at {address}")
            if demo:  # while it serves, so that the page shows it
                threading.Thread(target=_teach_demo, args=(served,), daemon=True).start()

        service.serve(served, host, port, serving)
    finally:
        served.close()


def _teach_demo(served: Service) -> None:
    from labelgrove.datasets import iter_python_docs

    with served.using("demo") as project:
        known = project.log.examples
    docs = iter_python_docs()
    while known == 0 and (some := list(islice(docs, 50))):
        try:
            served.teach("demo", [doc.text for doc in some], [doc.labels for doc in some])
        except LabelGroveError:  # the service is being stopped
            return


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


class _Lines(logging.Formatter):
    """Log records as JSON, one a line."""

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
        return encode(line).decode()


def _log_to_stderr(*, as_json: bool) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_Lines() if as_json else logging.Formatter("%(levelname)s %(message)s"))
    for name in ("labelgrove.service", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if name != "uvicorn" else logging.WARNING)
