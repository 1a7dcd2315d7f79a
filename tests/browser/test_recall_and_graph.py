"""The recall and the graph page in a real browser: asked, drawn, clicked, on a desk and on a phone"""

from __future__ import annotations

import time

import pytest

from tests.browser.conftest import ARGUMENTS, CHROMIUM
from tests.browser.test_pages import House, answered, fit

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("memory-pages")]  # one instance serves this file

# Colours on the canvas that are not its background, read where sigma draws: its buffers are gone after a frame, so it
# is asked for a picture of the page instead.
FACTS = [
    *(f"Anna visited the garden in Porto on day {number}" for number in range(12)),
    *(f"Ben repaired the lighthouse of Oslo with crew {number}" for number in range(12)),
    "Anna works as a nurse in Lisbon",
    "Ben plays the violin with Anna in Lisbon",
]


@pytest.fixture(scope="module")
def chromium():
    """With a WebGL in software: this file's pages draw."""
    playwright = pytest.importorskip("playwright.sync_api")
    arguments = [one for one in ARGUMENTS if one != "--disable-gpu"] + ["--enable-unsafe-swiftshader"]
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    made = House(tmp_path_factory.mktemp("memory-pages") / "flux")
    items = [{"content": text, "session": "talk", "speaker": text.split()[0]} for text in FACTS]
    answer = made.instance.call("POST", "/store/batch", {"items": items})
    assert answer.status == 200, answer.body
    yield made
    made.instance.kill()
