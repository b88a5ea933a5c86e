"""The service as an application, and as a server that ends in good order."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import resources
from typing import Any

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as Path

from labelgrove.service._http import Call, Context, Metrics, Route, answer, problem
from labelgrove.service._openapi import openapi
from labelgrove.service._routes import ROUTES
from labelgrove.service._service import Service

_LEAST_SWITCH = 0.0005
_PAGE = {"": "index.html", "page.css": "page.css", "page.js": "page.js"}
_KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript"}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]


def create_app(service: Service) -> Starlette:
    """Make the ASGI application of a service.

    Parameters
    ----------
    service : Service

    Returns
    -------
    Starlette
    """
    context = Context(service, Metrics(), time.time())
    document = msgspec.json.encode(openapi(ROUTES))

    async def show_document(_: Call) -> Response:
        return Response(document, media_type="application/json")

    own = [
        Route("GET", "/openapi.json", show_document, "read", "This document", public=True),
        *(
            Route("GET", f"/{name}", partial(_page, file), "read", "The page", public=True)
            for name, file in _PAGE.items()
        ),
    ]
    paths = [
        Path(one.path, partial(_endpoint, context, one), methods=[one.method])
        for one in (*ROUTES, *own)
    ]
    [info] = [one for one in ROUTES if one.path == "/v1/"]
    paths.append(Path("/v1", partial(_endpoint, context, info), methods=["GET"]))
    return Starlette(routes=paths, exception_handlers={HTTPException: _unknown})


async def _endpoint(context: Context, route: Route, request: Request) -> Response:
    response = await answer(context, route, request)
    response.raw_headers += _RAW_HEADERS
    return response


async def _page(file: str, _: Call) -> Response:
    content = resources.files("labelgrove.service").joinpath("page", file).read_bytes()
    return Response(content, media_type=_KINDS[file.rpartition(".")[2]])


def _unknown(request: Request, failure: Any) -> Response:
    what = f"{request.method} {request.url.path}"[:200]
    if failure.status_code == 405:
        response = problem(405, f"{what}: expected another method")
        response.headers.update(failure.headers or {})
        return response
    return problem(404, f"{what}: there is no such resource; /openapi.json lists all")


class _Server(uvicorn.Server):
    """A server that says when it serves, and ends without a signal of its own."""

    def __init__(self, config: uvicorn.Config, serving: Callable[[str], None]) -> None:
        super().__init__(config)
        self._serving = serving

    async def startup(self, sockets: Any = None) -> None:
        """Begin to listen, and say where."""
        await super().startup(sockets)
        if self.started:
            [host, port, *_] = self.servers[0].sockets[0].getsockname()
            self._serving(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End at SIGTERM and Ctrl-C, by returning."""
        before = {one: signal.signal(one, self.handle_exit) for one in _SIGNALS}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def serve(service: Service, host: str, port: int, serving: Callable[[str], None]) -> None:
    """Serve until SIGTERM or Ctrl-C; then answer what was begun, learn what waits, write snapshots.

    Parameters
    ----------
    service : Service
        Closed at the end.
    host : str
    port : int
        0 for any that is free.
    serving : callable
        Is given the address, once it is served.
    """
    # Threads that compute in Python hand over sooner to those who answer.
    before = sys.getswitchinterval()
    sys.setswitchinterval(_LEAST_SWITCH)
    try:
        config = uvicorn.Config(
            create_app(service),
            host=host,
            port=port,
            lifespan="off",
            access_log=False,
            log_config=None,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=30,
            limit_concurrency=2_000,
            h11_max_incomplete_event_size=64 * 1024,
        )
        _Server(config, serving).run()
    finally:
        service.close()
        sys.setswitchinterval(before)
