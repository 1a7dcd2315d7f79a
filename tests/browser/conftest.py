"""A real browser: Debian's Chromium, driven by Playwright, never downloaded. Without its windows it is cheaper."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tests.servers import missing

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium") or "/usr/bin/chromium"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """One for the tests of a file. Not for more: Playwright's loop would stand in the way of others' database."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError as error:
        pytest.skip(missing("browser", str(error)))
    with sync_playwright() as driver:
        try:
            chromium = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        except Error as error:
            pytest.skip(missing("browser", str(error).splitlines()[0]))
        yield chromium
        chromium.close()


@pytest.fixture
def browser(chromium: Any) -> Iterator[Any]:
    """With nobody's cookies and no page open."""
    yield chromium
    for context in chromium.contexts:
        context.close()


class Complaints(list[str]):
    """Everything a page says is wrong: console errors, blocked content, failed requests, script errors."""

    def _failed(self, request: Any) -> None:
        """A picture that was still on its way when its page was left has not failed."""
        if not ("/static/" in request.url and request.failure == "net::ERR_ABORTED"):
            self.append(f"{request.url} {request.failure}")

    def listen(self, page: Any) -> None:
        page.on("console", lambda said: self.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.append(str(error)))
        page.on("requestfailed", self._failed)
        page.on(
            "response", lambda answer: self.append(f"{answer.status} {answer.url}") if answer.status >= 400 else None
        )


@pytest.fixture
def complaints() -> Complaints:
    return Complaints()
