"""HTTP around the resources: refusals, limits, connections, other sites and tokens."""

from __future__ import annotations

import asyncio
import errno
import gzip
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.testclient import TestClient

from labelgrove import LabelGroveError, TextClassifier
from labelgrove.service import Service, create_app
from labelgrove.service import _app as app
from labelgrove.service import _http as http
from labelgrove.service._log import Log
from labelgrove.service._model import Learner
from labelgrove.service._problems import Problem
from labelgrove.service._service import Tokens
from service.kit import DEMO, SMALL, refused, teach
from waiting import until


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"{", 400, "not valid JSON"),
        (b"[]", 422, "object"),
        (b'{"examples": []}', 422, "examples"),
        (b'{"examples": [{"text": "a", "labels": []}]}', 422, "examples[0].labels"),
        (b'{"examples": [{"text": "", "labels": ["a"]}]}', 422, "examples[0].text"),
        (b'{"examples": [{"text": "a", "labels": [7]}]}', 422, "examples[0].labels[0]"),
        (b'{"examples": [{"text": "a", "labels": ["b"], "id": "@7"}]}', 422, "examples[0].id"),
        (b'{"examples": [{"text": "a", "labels": ["b"], "id": "a/b"}]}', 422, "without slashes"),
        (b'{"examples": [{"text": "\xff", "labels": ["b"]}]}', 400, "utf-8"),
        (b'{"examples": [{"text": "a", "labels": ["b"], "x": 1}]}', 422, "`x`"),
    ],
)
def test_what_is_wrong_is_named(client: TestClient, body: bytes, status: int, words: str) -> None:
    sent = client.post(
        f"{DEMO}/examples", content=body, headers={"content-type": "application/json"}
    )
    refused(sent, status, words)
    assert client.get(f"{DEMO}/stats").json()["head"] == 1


@pytest.mark.parametrize(
    ("method", "path", "sent", "expected"),
    [
        ("POST", "/suggest-batch?treshold=1", {"json": {"documents": []}}, "one of limit, thresh"),
        ("POST", "/suggest", {"data": {"text": "a", "treshold": "1"}}, "one of limit, threshold"),
        ("POST", "/suggest?treshold=1", {"data": {"text": "a"}}, "none"),
        ("DELETE", "/examples/@2?treshold=1", {}, "one of wait"),
    ],
)
def test_a_misspelt_parameter_is_not_ignored(
    client: TestClient, method: str, path: str, sent: dict[str, Any], expected: str
) -> None:
    answer = client.request(method, DEMO + path, **sent)
    refused(answer, 400, f"found 'treshold'; expected {expected}")


@pytest.mark.parametrize(
    ("path", "form", "words"),
    [
        ("/suggest", "text=a&limit=1&limit=2", "form: found 'limit' more than once"),
        ("/examples?wait=applied&wait=durable", "", "query: found 'wait' more than once"),
        ("/examples?wait=%ff", "", "the query is not valid UTF-8"),
    ],
)
def test_no_value_is_dropped_or_replaced(
    client: TestClient, path: str, form: str, words: str
) -> None:
    kind = {"content-type": "application/x-www-form-urlencoded"}
    refused(client.post(DEMO + path, content=form, headers=kind), 400, words)


def test_a_compressed_body_is_refused_as_such(client: TestClient) -> None:
    sent = gzip.compress(b'{"examples": [{"text": "a", "labels": ["b"]}]}')
    kind = {"content-type": "application/json", "content-encoding": "gzip"}
    refused(client.post(f"{DEMO}/examples", content=sent, headers=kind), 415, "found 'gzip'")
    plain = kind | {"content-encoding": " Identity"}
    assert client.post(f"{DEMO}/examples", content=gzip.decompress(sent), headers=plain).is_success


@pytest.mark.parametrize("path", [DEMO, "/metrics"])
def test_others_do_not_wait_for_who_waits_for_a_model(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    waiting, go = threading.Event(), threading.Event()

    def wait(_: Learner) -> int:
        waiting.set()
        assert go.wait(30)
        return 0

    monkeypatch.setattr(Learner, "label_count", wait)
    monkeypatch.setattr(Learner, "bytes", wait)
    with ThreadPoolExecutor(2) as threads:
        asked = threads.submit(client.get, path)
        try:
            assert waiting.wait(30)
            assert threads.submit(client.get, "/health/live").result(5).status_code == 200
        finally:
            go.set()
        assert asked.result().status_code == 200


def test_bounds(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = b'[{"text": "a", "subjects": [], "metadata": {"x": %s}}]' % (
        b"[" * 999_999 + b"]" * 999_999
    )
    kind = {"content-type": "application/json"}
    refused(client.post(f"{DEMO}/learn", content=deep, headers=kind), 400, "too deeply")
    many = {"text": "a", **{f"field{i}": "" for i in range(1000)}}
    refused(client.post(f"{DEMO}/suggest", data=many), 400, "form", "fields")
    refused(client.post(f"{DEMO}/explain", json={"text": "a" * 100_001}), 422, "100000")
    monkeypatch.setattr(http, "MOST_BYTES", 1000)
    refused(client.post(f"{DEMO}/suggest", data={"text": "a" * 1000}), 413, "1000")
    pieces = client.post(f"{DEMO}/learn", content=iter([b"a" * 600] * 2), headers=kind)
    refused(pieces, 413, "1000")
    refused(client.post(f"{DEMO}/examples", content=b"{}"), 415, "application/json")
    refused(client.post(f"{DEMO}/suggest", json={}), 415, "form")
    refused(client.get("/nowhere"), 404, "/openapi.json")
    refused(client.get(f"{DEMO}/suggest"), 405, "expected POST")
    allowed = client.post(DEMO, json={}).headers["Allow"].split(", ")
    assert {"GET", "HEAD", "PUT", "DELETE"} <= set(allowed)

    def full(*_: Any) -> None:
        raise Problem(429, "too much waits")

    monkeypatch.setattr(Log, "append", full)
    sent = {"examples": [{"text": "a", "labels": ["b"]}]}
    answer = client.post(f"{DEMO}/examples", json=sent)
    refused(answer, 429)
    assert answer.headers["Retry-After"] == "1"


def test_who_dawdles_or_never_ends_is_not_waited_for(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, _, port = address.removeprefix("http://").partition(":")
    whole = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for begun in (b"", b"GET / HT", whole + b"GET"):
        monkeypatch.setattr(app, "_HEAD_SECONDS", 0.05)
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(begun)
            while connection.recv(9999):
                pass
    monkeypatch.undo()
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        with suppress(ConnectionError):
            connection.sendall(b"GET / HTTP/1.1\r\n")
            for name in range(10_000):
                connection.sendall(b"x%d: %s\r\n" % (name, b"y" * 1000))
        assert name < 9_999


@pytest.mark.parametrize(("path", "status"), [("/nowhere", 404), (f"{DEMO}/learn", 408)])
def test_a_body_that_is_answered_before_it_ends_does_not_keep_the_connection(
    address: str, path: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocols = []
    made = app.Protocol.connection_made

    def note(protocol: app.Protocol, transport: asyncio.Transport) -> None:
        protocols.append(protocol)
        made(protocol, transport)

    monkeypatch.setattr(app.Protocol, "connection_made", note)
    monkeypatch.setattr(http, "BODY_SECONDS", 0.05)
    host, _, port = address.removeprefix("http://").partition(":")
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection((host, int(port)), timeout=20) as connection:

        def begin_and_be_answered() -> None:
            connection.sendall(head.encode() + b"1\r\nx\r\n")
            found = b""
            while not found.endswith(b"}"):
                found += connection.recv(9999)
            assert found.startswith(f"HTTP/1.1 {status}".encode())

        for _ in range(2):  # a body that ends soon after its answer does no harm
            begin_and_be_answered()
            until(lambda: "rest" in protocols[0]._timers)
            connection.sendall(b"0\r\n\r\n")
            until(lambda: "rest" not in protocols[0]._timers)
        monkeypatch.setattr(app, "BODY_SECONDS", 0.05)
        begin_and_be_answered()

        def is_closed() -> bool:
            try:
                connection.sendall(b"1\r\nx\r\n")
            except ConnectionError:
                return True
            return False

        until(is_closed)


def test_who_never_reads_is_not_waited_for(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    host, _, port = address.removeprefix("http://").partition(":")
    gone = threading.Event()

    lost = app.Protocol.connection_lost

    def note(protocol: app.Protocol, exc: Exception | None) -> None:
        lost(protocol, exc)
        gone.set()

    monkeypatch.setattr(app.Protocol, "connection_lost", note)
    monkeypatch.setattr(app, "_READING_SECONDS", 0.05)
    ask = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(500 * ask)  # more than the system's buffers hold
        assert gone.wait(20)


def test_who_reads_slowly_is_waited_for() -> None:
    left, calls = [3, 2, 1, 1], list[tuple[Any, ...]]()
    protocol = app.Protocol.__new__(app.Protocol)
    protocol.transport = Mock(get_write_buffer_size=lambda: left.pop(0))
    protocol.loop = Mock(call_later=lambda *call: calls.append(call))
    protocol._timers = {}
    protocol._watch_reading()
    for _ in range(3):
        protocol.transport.abort.assert_not_called()
        _, again = calls.pop()
        again()
    protocol.transport.abort.assert_called_once()
    assert not calls


def test_who_comes_when_there_are_too_many_is_told(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "_MOST_CONNECTIONS", 1)
    with httpx.Client(base_url=address) as first, httpx.Client(base_url=address) as second:
        assert first.get("/health/live").status_code == 200
        answer = second.get("/health/live")
        refused(answer, 503, "more than 1 clients are connected")
        assert answer.headers["Retry-After"] == "1" and answer.headers["Connection"] == "close"
        assert first.get("/health/live").status_code == 200


def test_bodies_that_never_end_do_not_fill_the_memory(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "_MOST_HELD", 200_000)
    host, _, port = address.removeprefix("http://").partition(":")
    head = (
        f"POST {DEMO}/examples HTTP/1.1\r\nHost: localhost\r\nContent-Length: 300000\r\n"
        "Content-Type: application/json\r\n\r\n"
    )
    large, small = {"text": "a" * 150_000}, {"text": "a"}
    with httpx.Client(base_url=address) as client:
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(head.encode() + b"a" * 150_000)
            until(lambda: client.post(f"{DEMO}/suggest", data=large).status_code != 200)
            answer = client.post(f"{DEMO}/suggest", data=large)
            refused(answer, 503, "too many large requests")
            assert answer.headers["Retry-After"] == "1"
            assert client.post(f"{DEMO}/suggest", data=small).status_code == 200
        until(lambda: client.post(f"{DEMO}/suggest", data=large).status_code == 200)


def test_who_sends_no_more_is_answered_all_the_same(address: str) -> None:
    host, _, port = address.removeprefix("http://").partition(":")
    body = b'{"examples": [{"text": "red", "labels": ["colour"]}]}'
    head = (
        b"POST /v1/projects/demo/examples HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    )
    for sent, answered in ((head + body, True), (head + body[:9], False), (head[:9], False)):
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            found = b""
            while some := connection.recv(9999):  # until the service closes the connection, too
                found += some
        assert (b'"examples":1' in found) == answered


@pytest.mark.parametrize("offer", ["h2c", "websocket"])
@pytest.mark.parametrize("framing", [b"Content-Length: 8", b"Transfer-Encoding: chunked"])
def test_a_request_that_offers_another_protocol_is_answered_in_http(
    address: str, offer: str, framing: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    host, _, port = address.removeprefix("http://").partition(":")
    body = b"text=red" if b"Length" in framing else b"3\r\ntex\r\n5\r\nt=red\r\n0\r\n\r\n"
    fields = [
        b"Host: localhost",
        b"Connection: Upgrade, HTTP2-Settings",
        b"Upgrade: " + offer.encode(),
        b"Content-Type: application/x-www-form-urlencoded",
        framing,
    ]
    ask = b"POST /v1/projects/demo/suggest HTTP/1.1\r\n" + b"\r\n".join(fields) + b"\r\n\r\n" + body
    look = b"GET /health/live HTTP/1.1\r\n" + b"\r\n".join(fields[:3]) + b"\r\n\r\n"
    sent = ask + look + ask + look
    for cut in (len(sent), 20, len(ask) - len(body), len(ask) - 2):
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(sent[:cut])
            time.sleep(0.05)
            connection.sendall(sent[cut:])
            found = b""
            while found.count(b"HTTP/1.1 200") + found.count(b"HTTP/1.1 4") < 4 and (
                some := connection.recv(9999)
            ):
                found += some
        assert found.count(b"HTTP/1.1 200") == 4 and found.count(b'{"results":') == 2
    assert not caplog.records


def test_what_follows_a_request_that_ends_the_connection_is_ignored(address: str) -> None:
    host, _, port = address.removeprefix("http://").partition(":")
    ask = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(ask + ask)
        found = b""
        while some := connection.recv(9999):
            found += some
    assert found.startswith(b"HTTP/1.1 200") and found.count(b"HTTP/1.1") == 1


def test_who_is_not_answered_when_the_service_ends_is_told(
    client: TestClient, service: Service
) -> None:
    begun = asyncio.Event()

    async def wait_for_ever(_: http.Call) -> None:
        begun.set()
        await asyncio.sleep(1_000)

    async def end() -> Response:
        context = http.Context(service)
        route = http.Route("GET", "/", wait_for_ever, "read")
        scope = {"type": "http", "headers": [(b"host", b"localhost")], "method": "GET"}
        task = asyncio.create_task(http.answer(context, route, Request(scope)))
        await begun.wait()
        task.cancel()
        return await task

    with ThreadPoolExecutor(1) as thread:  # this thread may have a loop: a browser's
        answer = thread.submit(asyncio.run, end()).result()
    assert answer.status_code == 503 and b"shutting down" in bytes(answer.body)


def test_pages_of_other_sites_are_kept_out(client: TestClient) -> None:
    sent = {"text": "a"}
    evil = {"Origin": "https://evil.example"}
    refused(client.post(f"{DEMO}/suggest", data=sent, headers=evil), 403, "another site")
    own = {"Origin": "http://127.0.0.1:8787"}
    assert client.post(f"{DEMO}/suggest", data=sent, headers=own).status_code == 200
    refused(client.get("/v1/projects", headers={"Host": "evil.example"}), 403, "localhost")
    refused(client.get("/v1/projects", headers={"Host": "127.0.0.1.evil.example"}), 403)
    for host in ("localhost:8787", "127.0.0.2:8787", "[::1]:8787"):  # all may be listened on
        assert client.get("/v1/projects", headers={"Host": host}).status_code == 200
    refused(client.get("/v1/projects", headers={"Host": "[::"}), 400)


def test_a_file_that_cannot_be_written_is_told(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def save(_: object, path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    teach(client, 5)
    monkeypatch.setattr(TextClassifier, "save", save)
    refused(client.post(f"{DEMO}/snapshots"), 500, "Permission denied", "writing.lg")


def test_tokens(tmp_path: Path) -> None:
    service = Service(tmp_path)
    service.create("demo", SMALL)
    read, learn, admin = (service.tokens.add(scope) for scope in ("read", "learn", "admin"))
    assert not any(token.encode() in (tmp_path / "tokens.json").read_bytes() for token in (read,))
    assert (tmp_path / "tokens.json").stat().st_mode & 0o077 == 0
    service.close()
    service = Service(tmp_path)
    with TestClient(create_app(service), base_url="http://example.org") as client:

        def asked(token: str, method: str, path: str, **more: Any) -> int:
            head = {"Authorization": f"Bearer {token}"}
            return int(client.request(method, path, headers=head, **more).status_code)

        missing = client.get("/v1/projects")
        refused(missing, 401, "Bearer")
        assert missing.headers["WWW-Authenticate"] == "Bearer"
        assert client.get("/health/ready").status_code == 200
        assert asked("lg_wrong", "GET", "/v1/projects") == 401
        assert asked(read, "GET", "/v1/projects") == 200
        sent = {"examples": [{"text": "a", "labels": ["b"]}]}
        assert asked(read, "POST", f"{DEMO}/examples", json=sent) == 403
        assert asked(learn, "POST", f"{DEMO}/examples", json=sent) == 200
        assert asked(learn, "DELETE", DEMO) == 403
        assert client.get("/v1/projects", auth=("annif", read)).status_code == 200
        assert asked(admin, "DELETE", DEMO) == 204
    service.close()


def test_the_scope_of_a_token_is_one_of_three(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    Tokens(file).add("read")
    file.write_text(file.read_text().replace("read", "write"))
    with pytest.raises(LabelGroveError, match=r"tokens\.json: .*read\|learn\|admin.*scope"):
        Tokens(file)
