"""The review page in a real browser: a proposal arrives, is read, edited and accepted, on a desk and on a phone"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.browser.house import DESK, PHONE, fit

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("memory-pages")]
RULES = "# House rules\n\nAnswer briefly.\nNever guess a date.\nAsk when a question has two meanings.\n"


@pytest.fixture(scope="module")
def house(memory_house):
    call = memory_house.instance.call
    assert call("POST", "/stores", {"key": "handbook", "staging_prefix": "proposals"}).status == 200
    written(memory_house, "rules/answers.md", RULES)
    return memory_house


def written(house, path, text, reason=""):
    address = f"/stores/handbook/files/{path}?reason={reason.replace(' ', '+')}"
    answer = house.instance.call("PUT", address, text.encode(), headers={"Content-Type": "text/markdown"})
    assert answer.status == 200, answer.body


def looked_at(page, name):
    """As it is on both screens, in both colours, for whoever wants to see it."""
    folder = os.environ.get("FLUX_PICTURES")
    for size, width in ((DESK, "1280"), (PHONE, "390")) if folder else ():
        for scheme in ("light", "dark"):
            page.set_viewport_size(size)
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=Path(folder) / f"{name}-{width}-{scheme}.png", full_page=True)


def test_a_proposal_arrives_is_read_edited_and_accepted(house, browser, complaints):
    page = house.open(browser)
    complaints.listen(page)
    house.enter(page)
    page.get_by_role("link", name="Review", exact=True).click()
    page.locator("#live[data-state=live]").wait_for()
    looked_at(page, "review-empty")
    fit(page, "Review")
    page.set_viewport_size(DESK)
    better = RULES.replace("briefly.", "briefly and kindly.").replace("Never guess a date.\n", "") + "Cite sources.\n"
    written(house, "proposals/rules/answers.md", better, "users asked for a kinder tone")
    written(house, "proposals/rules/colours.json", '{"background": "white"}\n')
    page.locator(".proposals li >> nth=1").wait_for()  # without a reload
    looked_at(page, "review-list")
    fit(page, "Review")
    page.set_viewport_size(DESK)

    page.get_by_role("link", name="rules/answers.md in handbook").click()
    assert page.locator(".diff .added .text").all_inner_texts() == ["Answer briefly and kindly.", "Cite sources."]
    assert page.locator(".diff .removed .sign").first.inner_text() == "\N{MINUS SIGN}"
    assert page.locator("#changed").is_hidden()
    looked_at(page, "review-item")
    fit(page, "rules/answers.md in handbook")
    page.set_viewport_size(DESK)
    written(house, "rules/answers.md", RULES + "Be on time.\n")
    page.locator("#changed").wait_for()
    page.get_by_role("button", name="Accept", exact=True).click()
    assert "not as you have seen it" in page.get_by_role("alert").inner_text()
    looked_at(page, "review-changed")
    page.set_viewport_size(DESK)
    page.get_by_text("Edit and accept").click()
    looked_at(page, "review-edit")
    fit(page, "rules/answers.md in handbook")
    page.set_viewport_size(DESK)
    page.get_by_label("Text to accept").fill(better + "Be on time.\n")
    page.get_by_role("button", name="Accept this text").click()
    assert page.locator(".messages").inner_text() == "Accepted: rules/answers.md in handbook."
    accepted = house.instance.call("GET", "/stores/handbook/files/rules/answers.md").body.decode()
    assert accepted == better + "Be on time.\n"

    # From the overview to the same proposal in the administration.
    house.go(page, "/")
    page.get_by_role("link", name="1 proposal waits for a decision").click()
    page.get_by_role("link", name="rules/colours.json in handbook").click()
    looked_at(page, "review-admin")
    page.set_viewport_size(DESK)
    page.get_by_role("link", name="Accept", exact=True).click()
    assert '+{"background": "white"}' in page.locator("pre.data").inner_text()
    looked_at(page, "review-admin-accept")
    page.set_viewport_size(DESK)
    house.go(page, "/review")
    page.get_by_role("link", name="rules/colours.json in handbook").click()
    page.get_by_label("Reason to deny").fill("colours are the designer's")
    page.get_by_role("button", name="Deny").click()
    page.get_by_role("link", name="Denied", exact=True).click()
    assert "colours are the designer's" in page.locator(".proposals").inner_text()
    page.get_by_role("link", name="rules/colours.json in handbook").click()
    looked_at(page, "review-denied")
    fit(page, "rules/colours.json in handbook")
    assert [complaint for complaint in complaints if "409" not in complaint] == []
