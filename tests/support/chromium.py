"""A headless Chromium for tests, and what its pages complained about and asked for."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

BROWSER = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), "")
PHONE, DESKTOP = {"width": 360, "height": 740}, {"width": 1280, "height": 900}

MARKS = [
    pytest.mark.integration,
    pytest.mark.skipif(not BROWSER, reason="no Chromium here (Debian: apt-get install chromium)"),
]


PATIENCE_MS = 150_000.0


@dataclass
class Seen:
    """A page with what it complained about and asked for."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def opened(self, address: str) -> Any:
        """The page at this address, watched from the beginning."""
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)
        return self.page


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=BROWSER, args=arguments)
        yield started
        started.close()


@contextmanager
def new_page(browser: Any, **options: Any) -> Iterator[Seen]:
    """A page that shares nothing with any before it."""
    context = browser.new_context(viewport=DESKTOP, **options)
    # Some pages are drawn when they are asked for, which takes half a minute on a machine that has other work.
    context.set_default_timeout(PATIENCE_MS)
    yield Seen(context.new_page())
    context.close()


@pytest.fixture
def seen(browser: Any, request: pytest.FixtureRequest) -> Iterator[Seen]:
    with new_page(browser, **getattr(request, "param", {})) as seen:
        yield seen
