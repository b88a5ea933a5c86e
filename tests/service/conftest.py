"""Services, without and with a socket."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Browser
from starlette.testclient import TestClient

from labelgrove.service import Service, _app, create_app
from labelgrove.service._app import Protocol
from reporting.browser import Screen
from service.kit import SMALL

# pytest parses the modules of this package itself, which two threads must not do at once in Python
# 3.11. So no thread of a test is to import this one first.
importlib.import_module("anyio._backends._asyncio")


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask again at once: who does not answer, and a leader for news. Flush no log."""
    monkeypatch.setattr("labelgrove.client._FIRST_PAUSE", 0.0)
    monkeypatch.setattr("labelgrove.service._follow._PAUSE", 0.01)
    monkeypatch.setattr("labelgrove.service._follow._PAUSE_AFTER_FAILURE", 0.01)
    monkeypatch.setattr("labelgrove.service._database._SYNCHRONOUS", "OFF")


@pytest.fixture(scope="session", autouse=True)
def document_is_made_once() -> Iterator[None]:
    """Describing all routes takes longer than most tests, which start a service each."""
    made = _app.openapi(_app.ROUTES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_app, "openapi", lambda _: made)
        yield


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    before = sys.getswitchinterval()
    made = Service(tmp_path / "served")
    made.create("demo", SMALL)
    yield made
    made.close()
    sys.setswitchinterval(before)


@pytest.fixture
def client(service: Service) -> Iterator[TestClient]:
    """Requests to a service with the project ``demo``."""
    with TestClient(create_app(service), base_url="http://127.0.0.1:8787") as made:
        yield made


@pytest.fixture
def address(service: Service) -> Iterator[str]:
    """Where the same service listens."""
    config = uvicorn.Config(
        create_app(service), port=0, lifespan="off", log_config=None, http=Protocol
    )
    server = uvicorn.Server(config)
    listening = config.bind_socket()
    listening.listen()  # from here on, callers wait for an answer
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join()
    listening.close()


@pytest.fixture
def screen(browser: Browser) -> Iterator[Callable[..., Screen]]:
    """Open windows of a browser."""
    with ExitStack() as opened:

        def open_screen(width: int, dark: bool) -> Screen:
            made = Screen(browser, width, dark)
            opened.callback(made.page.context.close)
            return made

        yield open_screen
