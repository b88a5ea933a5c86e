"""HTTP around the resources: authorisation, request limits, error responses, metrics."""

from __future__ import annotations

import asyncio
import base64
import inspect
import logging
import re
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from http import HTTPStatus
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_type_hints
from urllib.parse import parse_qsl, urlsplit
from weakref import WeakValueDictionary

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from labelgrove._errors import DataError, LabelGroveError, ModelStateError, ParameterError
from labelgrove.client import without_secret
from labelgrove.service._database import is_disk_full
from labelgrove.service._events import sentence
from labelgrove.service._log import Receipt
from labelgrove.service._problems import Problem, ShuttingDown
from labelgrove.service._project import Project
from labelgrove.service._service import Service

if TYPE_CHECKING:
    from labelgrove.service._annif import ProjectInfo

_log = logging.getLogger("labelgrove.service")

T = TypeVar("T")
Handler = Callable[["Call"], Awaitable[Any]]
H = TypeVar("H", bound=Handler)

PROJECT = "/v1/projects/{project}"
"""Path of a project."""

MOST_BYTES = 32 * 1024 * 1024
"""Limit of a request's body."""

_MOST_HELD = 512 * 2**20  # bytes of the bodies of all requests in progress
_SMALL = 64 * 1024  # bytes of a body that is taken nevertheless

_FIELDS = 1_000
_ANNIFS_OWN = re.compile(r"project|metadata(_.*)?", re.DOTALL)  # fields of a form that we ignore
BODY_SECONDS = 30.0
WAIT_SECONDS = 60.0
_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5, 30, 60)


class Awaited:
    """Hands results of other threads to the event loop, in batches.

    Waking the event loop is a system call that releases the interpreter lock, so one call wakes it
    for many results. Unlike with ``asyncio.wrap_future``, giving up waiting does not cancel the
    other thread's future.
    """

    def __init__(self) -> None:
        self._found: deque[tuple[asyncio.Future[Any], Future[Any]]] = deque()
        self._woken = False

    async def result(self, future: Future[T]) -> T:
        """Await a future of another thread."""
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[T] = loop.create_future()
        future.add_done_callback(lambda found: self._tell(loop, waiting, found))
        return await waiting

    def _tell(
        self, loop: asyncio.AbstractEventLoop, waiting: asyncio.Future[T], found: Future[T]
    ) -> None:
        self._found.append((waiting, found))
        if not self._woken:
            self._woken = True
            with suppress(RuntimeError):  # the loop has ended; nobody waits any more
                loop.call_soon_threadsafe(self._hand_over)

    def _hand_over(self) -> None:
        self._woken = False  # first, so that later results wake the loop again
        while self._found:
            waiting, found = self._found.popleft()
            if waiting.done():
                continue
            failure = found.exception()
            if failure is None:
                waiting.set_result(found.result())
            else:
                waiting.set_exception(failure)


class Metrics:
    """The metrics of `/metrics`; labels of a model never become labels of a metric."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.seconds = Histogram(
            "labelgrove_request_seconds",
            "Time from the head of a request to its response",
            ("operation", "status"),
            registry=self.registry,
            buckets=_BUCKETS,
        )
        self.learnt = Counter(
            "labelgrove_examples",
            "Examples acknowledged since the service started",
            ("project",),
            registry=self.registry,
        )
        self.gauges = {
            name: Gauge(f"labelgrove_{name}", text, ("project",), registry=self.registry)
            for name, text in {
                "log_sequence": "Last event in the log",
                "applied_sequence": "Last event applied to the model",
                "waiting_requests": "Requests waiting to be committed",
                "model_bytes": "Memory of the model",
                "failed": "1 if the model no longer follows its log",
            }.items()
        }


@dataclass
class Context:
    """State shared by all requests."""

    service: Service
    metrics: Metrics = field(default_factory=Metrics)
    awaited: Awaited = field(default_factory=Awaited)
    opening: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)
    renaming: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)
    # By project: what it was like at an event of its log.
    seen: dict[str, tuple[int, ProjectInfo]] = field(default_factory=dict)
    held: int = 0  # bytes of the bodies of requests in progress

    async def entered(self, name: str) -> Project:
        """Enter a project; it stays in memory until it is left."""
        project = self.service.held_now(name)
        if project is None:
            # However many requests wait for a project, opening it takes one of to_thread's few.
            async with self.opening.setdefault(name, asyncio.Lock()):
                project = self.service.held_now(name)
                if project is None:
                    project = await asyncio.to_thread(self.service.enter, name)
        return project


class Waiting(msgspec.Struct):
    """Whether to answer once the change is durable, or once the model has applied it.

    The query of the routes whose requests become events of the log.
    """

    wait: Literal["durable", "applied"] = "durable"


@dataclass(frozen=True)
class Route:
    """A method of a resource; the OpenAPI document is derived from the routes.

    Attributes
    ----------
    method, path : str
        The path in OpenAPI's notation: ``/v1/projects/{project}``.
    handle : callable
        Awaited with a `Call`; returns an object to encode, None, or a Response.
    scope : str or None
        Scope that a token must have; None if none is needed.
    body : type, optional
        Type of the request body.
    query : type, optional
        A Struct of the query parameters.
    form : bool
        Whether the body is a form rather than JSON.
    """

    method: str
    path: str
    handle: Handler
    scope: str | None
    body: Any = None
    query: Any = None
    form: bool = False

    @property
    def name(self) -> str:
        """The operation id."""
        return getattr(self.handle, "__name__", "show_page")

    @property
    def summary(self) -> str:
        """What the handler does: its docstring."""
        return (inspect.getdoc(self.handle) or "").removesuffix(".")

    @property
    def writes(self) -> bool:
        """Whether its requests become events of the log."""
        return self.query is Waiting

    @property
    def answer(self) -> Any:
        """Type of the response body: what the handler is annotated to return."""
        return get_type_hints(self.handle)["return"]


class Routes(list[Route]):
    """Routes in the order in which they are tried, added by decorating their handlers."""

    def add(self, method: str, path: str, scope: str | None, **more: Any) -> Callable[[H], H]:
        """Return a decorator that adds a handler; the parameters are those of `Route`."""

        def add(handle: H) -> H:
            self.append(Route(method, path, handle, scope, **more))
            return handle

        return add


class Call:
    """A request, as a handler sees it.

    Attributes
    ----------
    context : Context
    request : Request
    body, query : object
        Decoded and validated, of the route's types.
    raw : bytes
        The body as it was sent.
    size : int
        Bytes of the body received so far.
    status : int
        Status of the response, unless the handler returns None (204), returns its own, or fails.
    headers : dict
        Additional headers of the response.
    """

    def __init__(self, context: Context, route: Route, request: Request) -> None:
        self.context, self.route, self.request = context, route, request
        self.body: Any = None
        self.query: Any = None
        self.raw = b""
        self.size = 0
        self.status = 200
        self.headers: dict[str, str] = {}
        self._project: Project | None = None

    @property
    def service(self) -> Service:
        """The projects."""
        return self.context.service

    @property
    def name(self) -> str:
        """The name of the project in the path."""
        name: str = self.request.path_params["project"]
        return name

    async def project(self) -> Project:
        """Return the project named in the path; it stays in memory until the call ends."""
        if self._project is None:  # entered only once, since it is left only once
            self._project = await self.context.entered(self.name)
        return self._project

    async def result(self, future: Future[T]) -> T:
        """Await a future of another thread."""
        return await self.context.awaited.result(future)

    async def durable(self, future: Future[Receipt]) -> Receipt:
        """Await a future of the log; with ``wait=applied``, also wait for the model to apply it."""
        receipt = await self.result(future)
        if not receipt.repeated:
            self.context.metrics.learnt.labels(self.name).inc(receipt.examples)
        if self.query.wait == "applied":
            project = await self.project()
            async with asyncio.timeout(WAIT_SECONDS):
                await self.result(project.applied(receipt.sequence))
        self.headers["LabelGrove-Sequence"] = str(receipt.sequence)
        return receipt

    @property
    def key(self) -> str | None:
        """The idempotency key."""
        key = self.request.headers.get("idempotency-key")
        if key is not None and not 1 <= len(key) <= 200:
            raise Problem(422, "Idempotency-Key: expected 1 to 200 characters")
        return key

    def may_learn(self) -> None:
        """Refuse writes to a replica."""
        if self.service.leader is not None:
            leader = without_secret(self.service.leader)
            raise Problem(403, f"this is a read-only replica; send writes to {leader}")

    def hold(self, piece: bytes) -> None:
        """Count a piece of the body.

        Raises Problem: 413 if the body is too large, 503 if those of all requests are.
        """
        self.size += len(piece)
        self.context.held += len(piece)
        if self.size > MOST_BYTES:
            raise Problem(413, f"the body is too large; expected at most {MOST_BYTES} bytes")
        if self.size > _SMALL and self.context.held > _MOST_HELD:
            raise Problem(503, "too many large requests at once; try again in a second")

    def leave(self) -> None:
        """Release the project and the body."""
        self.context.held -= self.size
        if self._project is not None:
            self.service.leave(self._project.name)


async def answer(context: Context, route: Route, request: Request) -> Response:
    """Check a request, handle it, and turn the result or failure into a response."""
    started = time.perf_counter()
    call = Call(context, route, request)
    try:
        _check_origin(request, context.service)
        if route.scope is not None:
            context.service.tokens.allow(_token(request), route.scope)
            call.query = _query(route, request)
        await _take_body(call)
        if route.writes:
            call.may_learn()
        result = await route.handle(call)
        response = _success(call, result)
    except ClientDisconnect:
        response = Response(status_code=499)
    except asyncio.CancelledError:  # by the server, which has waited long enough
        response = _failure(ShuttingDown())
    except Exception as failure:  # noqa: BLE001  every failure becomes an answer
        response = _failure(failure)
    finally:
        call.leave()
    response.headers.update(call.headers)
    seconds = context.metrics.seconds.labels(route.name, str(response.status_code))
    seconds.observe(time.perf_counter() - started)
    return response


def _success(call: Call, result: Any) -> Response:
    if isinstance(result, Response):
        return result
    if result is None:
        return Response(status_code=204)
    return Response(msgspec.json.encode(result), call.status, media_type="application/json")


async def _take_body(call: Call) -> None:
    route, request = call.route, call.request
    if route.body is None:
        return
    coding = request.headers.get("content-encoding", "identity")
    if coding.strip().lower() != "identity":
        raise Problem(415, f"Content-Encoding: found {coding!r:.80}; expected an uncompressed body")
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length) > MOST_BYTES:
        raise Problem(413, f"the body has {length} bytes; expected at most {MOST_BYTES}")
    pieces = []
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for piece in request.stream():
                call.hold(piece)
                pieces.append(piece)
    except TimeoutError:
        raise Problem(408, f"the body did not arrive within {BODY_SECONDS:.0f} s") from None
    call.raw = b"".join(pieces)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if route.form:
        if kind != "application/x-www-form-urlencoded":
            raise Problem(
                415,
                f"found a body of type {kind!r:.80}; expected a form, "
                "application/x-www-form-urlencoded",
            )
        fields = _fields(call.raw, "form")
        sent = [one for one in fields if not _ANNIFS_OWN.fullmatch(one[0])]
        call.body = _converted(sent, route.body, "form")
        return
    if kind != "application/json":
        raise Problem(415, f"found a body of type {kind!r:.80}; expected application/json")
    try:
        call.body = msgspec.json.decode(call.raw, type=route.body)
    except RecursionError:
        raise Problem(400, "the body is nested too deeply") from None


def _fields(raw: bytes, place: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            raw.decode("utf-8"), True, encoding="utf-8", errors="strict", max_num_fields=_FIELDS
        )
    except UnicodeDecodeError:
        raise Problem(400, f"the {place} is not valid UTF-8") from None
    except ValueError as error:
        raise Problem(400, f"the {place} cannot be parsed ({error})") from None


def _query(route: Route, request: Request) -> Any:
    raw = request.scope.get("query_string")
    fields = _fields(raw, "query") if raw else []
    if route.query is None:
        _refuse_ignored(fields, (), "query")
        return None
    return _converted(fields, route.query, "query")


def _refuse_ignored(fields: Sequence[tuple[str, str]], known: Sequence[str], place: str) -> None:
    """Refuse fields that would be ignored: those perhaps misspelt, or given before."""
    names: set[str] = set()
    for name, _ in fields:
        if name not in known:
            expected = f"one of {', '.join(known)}" if known else "none"
            raise Problem(400, f"{place}: found {name!r:.80}; expected {expected}")
        if name in names:
            raise Problem(400, f"{place}: found {name!r} more than once; expected one value")
        names.add(name)


def _converted(fields: Sequence[tuple[str, str]], kind: Any, place: str) -> Any:
    _refuse_ignored(fields, kind.__struct_fields__, place)
    try:
        return msgspec.convert(dict(fields), kind, strict=False)
    except msgspec.ValidationError as error:
        raise Problem(400, f"{place}: {sentence(error)}") from None


def _failure(failure: Exception) -> Response:
    if isinstance(failure, Problem):
        return problem(failure.status, str(failure), failure.retry_after)
    if isinstance(failure, msgspec.ValidationError):
        return problem(422, sentence(failure))
    if isinstance(failure, msgspec.DecodeError | UnicodeDecodeError):
        return problem(400, f"the body is not valid JSON ({failure})")
    if isinstance(failure, DataError | ParameterError):
        return problem(422, str(failure))
    if isinstance(failure, ModelStateError):
        return problem(503, str(failure), 1)
    if isinstance(failure, TimeoutError):
        return problem(
            504, f"the change is durable, but was not applied within {WAIT_SECONDS:.0f} s"
        )
    if isinstance(failure, LabelGroveError):
        return problem(500, str(failure))
    if is_disk_full(failure):
        return problem(507, "the disk is full; nothing was changed")
    if isinstance(failure, OSError):
        _log.error("a request failed: %s", failure)
        return problem(500, f"a file of the service cannot be used ({failure})")
    _log.exception("a request failed", exc_info=failure)
    return problem(500, "internal error; the server's log has the details")


def problem(status: int, detail: str, retry_after: int | None = None) -> Response:
    """Build an error response in the format of RFC 9457."""
    content = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    }
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    if status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(
        msgspec.json.encode(content),
        status_code=status,
        headers=headers,
        media_type="application/problem+json",
    )


# --- authorisation -------------------------------------------------------------------------------


def _token(request: Request) -> str | None:
    """Return the token of a request: Bearer, or the password of Basic authentication."""
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return value.strip()
    if kind.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
        except ValueError:
            return None
    return None


def _check_origin(request: Request, service: Service) -> None:
    """Refuse cross-site requests from browsers.

    Without tokens, every client that reaches the address is allowed. The Host must then be this
    machine: otherwise another site could point its own domain name here (DNS rebinding).
    """
    try:
        asked = _address(f"//{request.headers.get('host', '')}")
        origin = request.headers.get("origin")
        sent_by = None if origin is None else _address(origin)
    except ValueError:
        raise Problem(400, "the Host or Origin header cannot be parsed") from None
    if not len(service.tokens) and not is_loopback(asked[0] or ""):
        raise Problem(
            403, f"Host: found {asked[0]!r:.80}; expected localhost unless there are tokens"
        )
    if sent_by is not None and request.method != "GET" and sent_by != asked:
        raise Problem(403, f"Origin: refused a request from another site, {origin!r:.80}")


@lru_cache(16)
def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by its own address or name."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _address(url: str) -> tuple[str | None, int | None]:
    parts = urlsplit(url)
    return parts.hostname, parts.port
