"""A real browser: Debian's Chromium, driven by Playwright, never downloaded. Without its windows it is cheaper."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.browser.house import House
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
    "--host-resolver-rules=MAP *.lan 127.0.0.1",  # every such name is this machine, as a router's DNS would have it
]


# With a WebGL in software, for pages that draw; the others are cheaper without.
DRAWING = [*(one for one in ARGUMENTS if one != "--disable-gpu"), "--enable-unsafe-swiftshader"]


@pytest.fixture(scope="package")
def launch() -> Iterator[Callable[[list[str]], Any]]:
    """Start browsers for this folder. Not for others: Playwright's loop would stand in the way of their database."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError as error:
        pytest.skip(missing("browser", str(error)))

    def start(arguments: list[str]) -> Any:
        try:
            return driver.chromium.launch(executable_path=CHROMIUM, args=arguments)
        except Error as error:
            pytest.skip(missing("browser", str(error).splitlines()[0]))

    with sync_playwright() as driver:
        yield start


@pytest.fixture(scope="package")
def chromium(launch: Callable[[list[str]], Any]) -> Iterator[Any]:
    chromium = launch(ARGUMENTS)
    yield chromium
    chromium.close()


@pytest.fixture(scope="package")
def drawing_chromium(launch: Callable[[list[str]], Any]) -> Iterator[Any]:
    chromium = launch(DRAWING)
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


class MemoryHouse(House):
    """One instance for the pages that show a memory; whoever enters later brings the cookies of the first."""

    cookies: list[Any]

    def enter(self, page: Any) -> None:
        if not self.codes:
            super().enter(page)
            self.cookies = page.context.cookies()
            return
        page.context.add_cookies(self.cookies)
        self.go(page, "/")
        page.locator(".frame").wait_for()
        page.wait_for_load_state()


@pytest.fixture(scope="package")
def memory_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryHouse]:
    """What each file looks at it stores itself, and no file counts what is of another's kind."""
    house = MemoryHouse(tmp_path_factory.mktemp("memory") / "flux")
    yield house
    house.instance.kill()
