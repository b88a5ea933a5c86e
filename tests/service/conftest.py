"""Services, without and with a socket."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import sync_playwright
from starlette.testclient import TestClient

from labelgrove.service import Service, create_app
from reporting.browser import PROGRAM, Screen
from service.kit import SMALL


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
    config = uvicorn.Config(create_app(service), port=0, lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    listening = config.bind_socket()
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join()
    listening.close()


@pytest.fixture
def screen() -> Iterator[Callable[..., Screen]]:
    """Open a window of a browser."""
    if PROGRAM is None:
        pytest.skip("there is no Chromium here (on Debian: apt install chromium)")
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
        with playwright.chromium.launch(executable_path=PROGRAM, args=flags) as browser:
            yield partial(Screen, browser)
