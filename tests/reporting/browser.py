"""Reports in a browser."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

PROGRAM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
PATIENCE_MS = 120_000
"""How long a page may take; on a busy machine half a minute can be too short."""


class Screen:
    """A browser window and its errors.

    ``errors`` holds the severe messages of the page's console, including exceptions; ``requests``
    holds every requested address.
    """

    def __init__(self, browser: Browser, width: int, dark: bool) -> None:
        self.errors: list[str] = []
        self.requests: list[str] = []
        scheme: Any = "dark" if dark else "light"
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, is_mobile=width < 600
        )
        context.set_default_timeout(PATIENCE_MS)
        self.page: Page = context.new_page()
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", self._hear)

    def show(self, path: Path) -> None:
        """Open a page, and wait until its scripts have finished."""
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready]")

    def run(self, script: str) -> Any:
        """Evaluate JavaScript in the page; a promise is waited for."""
        return self.page.evaluate(script)

    def press(self, key: str) -> None:
        """Press and release a key."""
        self.page.keyboard.press(key)

    def _hear(self, message: Any) -> None:
        if message.type in ("error", "warning", "assert"):
            self.errors.append(message.text)


Show = Callable[..., Screen]
