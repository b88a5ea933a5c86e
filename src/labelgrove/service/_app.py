"""The service as an ASGI application, and as a server with a graceful shutdown."""

from __future__ import annotations

import asyncio
import gc
import logging
import math
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from errno import EADDRINUSE
from functools import partial
from importlib import resources
from typing import Any

import httptools
import msgspec
import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as Path
from starlette.routing import Router
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from labelgrove._errors import LabelGroveError
from labelgrove.service import _annif, _resources
from labelgrove.service._http import BODY_SECONDS, Call, Context, Route, answer, problem
from labelgrove.service._openapi import openapi
from labelgrove.service._service import Service

_log = logging.getLogger("labelgrove.service")

ROUTES = [*_annif.routes, *_resources.routes]
"""All routes of the API; `create_app` and the OpenAPI document are derived from them."""

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


_MOST_CONNECTIONS = 2_000
_HEAD_SECONDS = 20.0
_HEAD_BYTES = 64 * 1024
_READING_SECONDS = 60.0
_LAST_BODY_SECONDS = 2.0
_FRAMING = (b"content-length", b"transfer-encoding")


def create_app(service: Service) -> Router:
    """Create the ASGI application of a service."""
    context = Context(service)
    document = msgspec.json.encode(openapi(ROUTES))

    async def show_document(_: Call) -> Response:
        return Response(document, media_type="application/json")

    own = [
        Route("GET", "/openapi.json", show_document, None),
        *(Route("GET", f"/{name}", partial(_page, file), None) for name, file in _PAGE.items()),
    ]
    [info] = [one for one in ROUTES if one.path == "/v1/"]
    routes = [*ROUTES, *own, replace(info, path="/v1")]
    by_path: dict[str, dict[str, Route]] = {}
    for one in routes:
        by_path.setdefault(one.path, {})[one.method] = one
    resources = [_Resource(context, path, methods) for path, methods in by_path.items()]
    return Router(resources, redirect_slashes=False, default=_unknown)


class _Resource(Path):
    """A path without Starlette's wrapper around handlers, half of the cost of a request.

    The wrapper handles exceptions, but `answer` already turns every failure into a response.
    """

    def __init__(self, context: Context, path: str, methods: dict[str, Route]) -> None:
        super().__init__(path, answer, methods=[*methods])
        self._context = context
        self._routes = methods | ({"HEAD": methods["GET"]} if "GET" in methods else {})

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for this path."""
        request = Request(scope, receive)
        route = self._routes.get(scope["method"])
        if route is not None:
            response = await answer(self._context, route, request)
        else:
            allowed = sorted(self._routes)
            response = problem(405, f"{_asked(scope)}: expected {' or '.join(allowed)}")
            response.headers["Allow"] = ", ".join(allowed)
        response.raw_headers += _RAW_HEADERS
        await response(scope, receive, send)


async def _unknown(scope: Scope, receive: Receive, send: Send) -> None:
    said = f"{_asked(scope)}: no such resource; /openapi.json lists all resources"
    await problem(404, said)(scope, receive, send)


async def _too_many(scope: Scope, receive: Receive, send: Send) -> None:
    _log.warning("refused a request: more than %d clients are connected", _MOST_CONNECTIONS)
    said = f"more than {_MOST_CONNECTIONS} clients are connected; try again in a second"
    refusal = problem(503, said, 1)
    refusal.headers["Connection"] = "close"
    await refusal(scope, receive, send)


def _asked(scope: Scope) -> str:
    return f"{scope['method']} {scope['path']}"[:200]


async def _page(file: str, _: Call) -> Response:
    content = resources.files("labelgrove.service").joinpath("page", file).read_bytes()
    return Response(content, media_type=_KINDS[file.rpartition(".")[2]])


class _Parser:
    """Reads a request that offers another protocol like any other, as HTTP demands.

    Java's client offers HTTP/2 with every request. httptools then stops after the head and drops
    the body, so another parser goes on from there, told only how the body is framed.
    """

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol
        self._inner = self._another()

    def _another(self) -> httptools.HttpRequestParser:
        parser = httptools.HttpRequestParser(self._protocol)
        # As uvicorn: whatever follows a request that ends the connection does not spoil its answer.
        parser.set_dangerous_leniencies(lenient_data_after_close=True)
        return parser

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def feed_data(self, data: bytes) -> None:
        """Parse data, calling the protocol."""
        while True:
            try:
                self._inner.feed_data(data)
            except httptools.HttpParserUpgrade as offer:
                data = data[offer.args[0] :]
            else:
                return
            self._inner = self._another()
            self._protocol.head_is_known = True
            self._inner.feed_data(self._protocol.framing())
            self._protocol.head_is_known = False


class Protocol(HttpToolsProtocol):
    """HTTP with limits on connections, a request's head, and clients that do not read answers.

    Nor does a body that is answered before it ends, with 408 or 413 perhaps, keep a connection.
    """

    _head_bytes = 0
    head_is_known = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.parser: Any = _Parser(self)
        self._timers: dict[str, asyncio.TimerHandle] = {}  # of the head, the rest and reading

    def framing(self) -> bytes:
        """Return a head for the body of the last request."""
        told = [one for one in self.headers if one[0] in _FRAMING]
        fields = [b"%s: %s\r\n" % one for one in told]
        return b"POST / HTTP/1.1\r\n%s\r\n" % b"".join(fields)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer for the first request."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # writing pauses whenever the client is behind
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        for what in ("head", "rest", "reading"):
            self._stop(what)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Begin to watch whether the client reads."""
        super().pause_writing()
        self._watch_reading()

    def resume_writing(self) -> None:
        """Stop watching: the client has read everything."""
        self._stop("reading")
        super().resume_writing()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Keep the connection of a client that sends no more until its request is answered."""
        answering = self.cycle is not None and not self.cycle.response_complete
        if not answering or self.cycle.more_body:
            return False
        self.cycle.keep_alive = False
        return True

    def data_received(self, data: bytes) -> None:
        """Receive data; close the connection if a head grows too large."""
        if "head" in self._timers:
            self._head_bytes += len(data)
        super().data_received(data)
        if "head" in self._timers and self._head_bytes > _HEAD_BYTES:
            self.transport.close()

    def on_message_begin(self) -> None:
        """Start the timer for the head of a request."""
        if self.head_is_known:
            return
        super().on_message_begin()
        if "head" not in self._timers:
            self._expect_head()

    def on_headers_complete(self) -> None:
        """Stop the timer once the head is complete."""
        if self.head_is_known:
            return
        self._stop("head")
        too_many = len(self.connections) > _MOST_CONNECTIONS
        self.app = _too_many if too_many else self.config.loaded_app
        super().on_headers_complete()

    def on_url(self, url: bytes) -> None:
        """Take a part of the path."""
        if not self.head_is_known:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a field of the head."""
        if not self.head_is_known:
            super().on_header(name, value)

    def on_message_complete(self) -> None:
        """End the body, unless it follows in another parser."""
        if not self.parser.should_upgrade():
            self._stop("rest")
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """Start a timer for the rest of the body; a client may send all of it before it reads."""
        super().on_response_complete()
        if self.cycle.response_complete and self.cycle.more_body:
            self._start("rest", BODY_SECONDS, self.transport.close)

    def shutdown(self) -> None:
        """Close the connection once its request is answered, or does not arrive soon."""
        super().shutdown()
        self.loop.call_later(_LAST_BODY_SECONDS, self._stop_receiving)

    def _stop_receiving(self) -> None:
        if self.cycle is not None and self.cycle.more_body:
            self.transport.close()

    def _watch_reading(self, before: float = math.inf) -> None:
        left = self.transport.get_write_buffer_size()
        if left >= before:
            self.transport.abort()
        else:
            self._start("reading", _READING_SECONDS, partial(self._watch_reading, left))

    def _expect_head(self) -> None:
        self._head_bytes = 0
        self._start("head", _HEAD_SECONDS, self.transport.close)

    def _start(self, what: str, seconds: float, then: Callable[[], object]) -> None:
        self._timers[what] = self.loop.call_later(seconds, then)

    def _stop(self, what: str) -> None:
        if what in self._timers:
            self._timers.pop(what).cancel()


class _Server(uvicorn.Server):
    """A server that reports its address, and returns on signals instead of raising them again.

    It also returns once there is a failure, which it raises.
    """

    def __init__(
        self, config: uvicorn.Config, service: Service, serving: Callable[[str], None]
    ) -> None:
        super().__init__(config)
        self._service, self._serving = service, serving
        self.failure: BaseException | None = None

    async def startup(self, sockets: Any = None) -> None:
        """Start listening, and report the address."""
        logged: list[OSError] = []

        def keep(record: logging.LogRecord) -> bool:
            """Keep the system's error, which uvicorn logs and then exits, out of the log."""
            if isinstance(record.msg, OSError):
                logged.append(record.msg)
            return not isinstance(record.msg, OSError)

        logger = logging.getLogger("uvicorn.error")
        logger.addFilter(keep)
        try:
            await super().startup(sockets)
        except SystemExit:
            place = f"{self.config.host}:{self.config.port}"
            others = [error for error in logged if error.errno != EADDRINUSE]
            why = f" ({others[0]})" if others else "; is it already in use?"
            raise LabelGroveError(f"cannot listen on {place}{why}") from None
        finally:
            logger.removeFilter(keep)
        if self.started:
            [host, port, *_] = self.servers[0].sockets[0].getsockname()
            self._serving(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")

    async def on_tick(self, counter: int) -> bool:
        """Tell whether to shut down."""
        return await super().on_tick(counter) or self.failure is not None

    async def shutdown(self, sockets: Any = None) -> None:
        """Shut down, without waiting for projects that are being opened or rebuilt."""
        self._service.closing = True
        for project in self._service.held():
            project.stop_building()
        await super().shutdown(sockets)

    def run(self, sockets: Any = None) -> None:
        """Serve until there is a signal or a failure."""
        super().run(sockets)
        if self.failure is not None:
            raise self.failure

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Return on SIGTERM and Ctrl-C."""
        before = {one: signal.signal(one, self.handle_exit) for one in _SIGNALS}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def serve(
    service: Service,
    host: str,
    port: int,
    serving: Callable[[str], None],
    begin: Callable[[], None] = lambda: None,
) -> None:
    """Serve until SIGTERM or Ctrl-C, then shut down gracefully.

    Shutting down completes running requests, applies waiting events and writes snapshots.

    Parameters
    ----------
    service : Service
        Closed at the end.
    host : str
    port : int
        0 for any free port.
    serving : callable
        Called with the address once the server listens, before it answers.
    begin : callable, optional
        Opens the projects, in another thread, once the server listens; it is not ready meanwhile.
        If this fails, so does serving.
    """

    def begin_beside() -> None:
        try:
            begin()
        except BaseException as failure:  # noqa: BLE001  the other thread raises it
            server.failure = failure
        # Existing objects live until exit. Exempt them from garbage collection, whose repeated
        # scans would stall all requests.
        gc.collect()
        gc.freeze()
        service.opening = False

    def listening(address: str) -> None:
        serving(address)
        beginning.start()

    service.opening = True
    beginning = threading.Thread(target=begin_beside, name="beginning", daemon=True)
    # Threads that compute in Python yield sooner to those that answer requests.
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
            http=Protocol,
            ws="none",
        )
        server = _Server(config, service, listening)
        server.run()
    finally:
        service.closing = True
        if beginning.ident is not None:
            beginning.join()
        service.close()
        sys.setswitchinterval(before)
