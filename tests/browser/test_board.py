"""The board page in a real browser: what agents share, as it changes, on a desk and on a phone"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.browser.house import DESK, PHONE, fit

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("memory-pages")]


@pytest.fixture(scope="module")
def house(memory_house):
    call = memory_house.instance.call
    for key, value, ttl in (
        ("status/assistant", {"doing": "reading the harbour report", "since": "09:40"}, 3600),
        ("config/retries", 3, None),
        ("progress/import", {"done": 412, "of": 900}, None),
        ("claims/ticket-77", "assistant", 900),
    ):
        body = {"value": value, **({"ttl_secs": ttl} if ttl else {})}
        assert call("PUT", f"/boards/main/kv/{key}", body).status == 200
    call("POST", "/boards", {"board": "scratch", "ephemeral": True})
    call("POST", "/locks", {"lock": "deploy", "ttl_secs": 3600, "note": "release 0.5"})
    call("POST", "/queues", {"queue": "thumbnails", "value": {"picture": 7}})
    call("POST", "/queues", {"queue": "thumbnails", "value": {"picture": 8}})
    call("POST", "/queues/claim", {"queue": "thumbnails", "ttl_secs": 3600})
    return memory_house


def test_it_shows_what_is_shared_and_follows_it(house, browser, complaints):
    page = house.open(browser)
    complaints.listen(page)
    house.enter(page)
    page.get_by_role("link", name="Board", exact=True).click()
    page.locator("#live[data-state=live]").wait_for()
    pictures = os.environ.get("FLUX_PICTURES")
    for size, name in ((DESK, "1280"), (PHONE, "390")):
        for scheme in ("light", "dark"):
            page.set_viewport_size(size)
            page.emulate_media(color_scheme=scheme)
            if pictures:
                page.screenshot(path=Path(pictures) / f"board-{name}-{scheme}.png", full_page=True)
    fit(page, "Board")
    page.set_viewport_size(DESK)
    assert page.locator("[data-lock=deploy]").inner_text().startswith("deploy token 1")
    assert page.locator("[data-queue=thumbnails]").inner_text().endswith("1 waiting, 1 claimed")
    assert page.locator("[data-key='config/retries'] .amount").inner_text() == "1"
    house.instance.call("PUT", "/boards/main/kv/config/retries", {"value": 5})
    page.locator("[data-key='config/retries'][data-version='2']").wait_for()
    house.instance.call("POST", "/locks/release", {"lock": "deploy", "token": 1})
    page.locator("[data-lock=deploy]").wait_for(state="detached")
    house.instance.call("DELETE", "/boards/main/kv/claims/ticket-77")
    page.locator("[data-key='claims/ticket-77']").wait_for(state="detached")
    page.get_by_role("link", name="scratch").click()
    assert "emptied at every start" in page.locator(".choose").inner_text()
    page.get_by_role("link", name="main", exact=True).click()
    page.get_by_role("link", name="config/retries").click()
    page.get_by_role("link", name="Restore a version").wait_for()
    if pictures:
        page.screenshot(path=Path(pictures) / "item-1280.png", full_page=True)
    assert complaints == []
