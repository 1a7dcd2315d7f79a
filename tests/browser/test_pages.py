"""The people's pages in a real browser: on a desk and on a phone, in light and in the dark"""

from __future__ import annotations

import time
from datetime import datetime, timedelta

import pytest

from tests.browser.house import PASSWORD, House, answered, fit, heading

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("pages")]  # one instance serves this file


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    made = House(tmp_path_factory.mktemp("pages") / "flux")
    yield made
    made.instance.kill()


def test_every_page_can_be_read_and_used_on_any_screen(house, browser, complaints):
    page = house.open(browser)
    complaints.listen(page)
    house.go(page, "/")
    fit(page, "test")
    page.goto(house.instance.state["enrolment"])
    fit(page, "Become the administrator")
    house.codes = house.enrol(page, house.instance.state["enrolment"])
    fit(page, "Welcome, ada")
    for path, title in {
        "/": "main",
        "/account": "Your account",
        "/account/password": "Change password",
        "/account/authenticator": "Use another phone",
        "/fresh-code": "Confirm it's you",
    }.items():
        house.go(page, path)
        fit(page, title)
    house.go(page, "/mobile-preview")
    fit(page, "Mobile preview")
    for frame in page.frames[1:]:
        assert frame.get_by_role("heading", level=1).inner_text() == "main"
    house.store("The launch is on Friday")
    house.go(page, "/")
    page.locator("#live[data-state=live]").wait_for()
    fit(page, "main")
    house.go(page, "/account")
    page.get_by_role("button", name="Make new backup codes").click()
    fit(page, "Your backup codes")
    house.codes = page.locator(".codes code").all_inner_texts()
    page.get_by_role("link", name="Done, I saved them").click()
    page.locator("#live[data-state=live]").wait_for()
    answered(complaints)

    house.go(page, "/?space=nowhere")
    fit(page, "Page not found")
    answered(complaints, 404)
    house.go(page, "/account")
    page.locator("main input[name=csrfmiddlewaretoken]").last.evaluate("field => field.remove()")
    page.get_by_role("button", name="Make new backup codes").click()
    fit(page, "Please try again")
    answered(complaints, 403)

    house.go(page, "/account/password")
    page.get_by_label("New password").fill("short")
    page.get_by_label("The same password again").fill("another")
    page.get_by_role("button", name="Change password").click()
    fit(page, "Change password")
    assert "two passwords differ" in page.inner_text("main")
    answered(complaints, 422)

    house.go(page, "/")
    page.get_by_role("button", name="Sign out").click()
    fit(page, "Sign in")
    assert "You are signed out" in page.inner_text(".messages")
    page.get_by_label("User name").fill("ada")
    page.get_by_label("Password").fill("not the password")
    page.get_by_role("button", name="Continue").click()
    fit(page, "Sign in")
    answered(complaints, 401)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Continue").click()
    fit(page, "Enter your code")
    page.goto(house.instance.state["enrolment"])
    fit(page, "This link is closed")
    answered(complaints, 404)


def test_somebody_invited_finds_their_way_in(house, browser, complaints):
    if not house.codes:
        house.enter(house.open(browser))
    page = house.open(browser)
    complaints.listen(page)
    link = house.link("invite", "grace", "--space", "research", "--role", "viewer")
    page.goto(link)
    fit(page, "Finish your account")
    house.enrol(page, link)
    page.get_by_role("link", name="Done, I saved them").click()
    fit(page, "research")
    assert page.locator(".role").inner_text() == "viewer" and page.locator("select").count() == 0
    house.instance.command("flux_admin", "role", "grace", "--space", "research")
    house.go(page, "/")
    fit(page, "No space for you yet")
    assert page.locator(".people").inner_text() == "ada"
    answered(complaints)
    house.go(page, "/admin/accounts/guesscount/")
    fit(page, "No access to this page")
    answered(complaints, 403)
    page.goto(house.link("reset", "grace"))
    fit(page, "A new second factor")
    answered(complaints)


@pytest.mark.parametrize("script", [True, False], ids=["script", "no-script"])
def test_the_space_is_switched_with_and_without_javascript(house, browser, complaints, script):
    page = house.open(browser, java_script_enabled=script)
    complaints.listen(page)
    house.enter(page)
    assert heading(page) == "main"
    page.get_by_label("Space", exact=True).select_option("research")
    page.get_by_role("button", name="Switch").click()
    assert heading(page) == "research"
    house.go(page, "/account")
    house.go(page, "/")
    assert heading(page) == "research" and "No agents yet" in page.inner_text("main")
    if not script:
        assert page.inner_text("#live") == "Reload the page to see what is new."
    answered(complaints)


def test_what_happens_appears_without_a_reload(house, browser, complaints):
    page = house.open(browser, timezone_id="Asia/Kolkata", locale="en-GB")
    complaints.listen(page)
    for number in range(3):
        house.store(f"There before the page was {number} {time.time()}")
    house.enter(page)
    page.locator("#live[data-state=live]").wait_for()
    page.evaluate("window.untouched = true")
    before = int(page.locator("#numbers strong").first.inner_text())
    grain = house.store(f"Seen at once {time.time()}")
    row = page.locator("#events li", has=page.locator("code", has_text=grain)).first
    row.wait_for()
    assert "memory stored" in row.inner_text().lower() and "agent:assistant" in row.inner_text()
    page.locator("#numbers strong", has_text=str(before + 1)).first.wait_for()
    assert page.evaluate("window.untouched")
    shown = [text for text in page.locator("#events li code").all_inner_texts() if text]
    assert len(shown) == len(set(shown))  # what the page had already is not said twice
    # UTC on the wire, the viewer's own time on the page: Kolkata is half past when others are on the hour.
    shown = row.locator("time").inner_text()
    at = datetime.fromisoformat(row.locator("time").get_attribute("datetime"))
    assert at.utcoffset() == timedelta(0)
    assert shown.endswith(f"{at + timedelta(hours=5, minutes=30):%H:%M}")
    answered(complaints)


def test_a_page_that_is_not_live_says_so_and_comes_back(house, browser, complaints):
    page = house.open(browser)
    doors = []

    def door(socket) -> None:
        doors.append(socket)
        if len(doors) <= 2:
            socket.close()
        else:
            socket.connect_to_server()

    page.route_web_socket("**/live?*", door)
    complaints.listen(page)
    house.enter(page)
    page.locator("#live[data-state=broken]").wait_for()
    assert page.inner_text("#live").startswith("Disconnected")
    missed = house.store(f"Stored in between {time.time()}")
    page.locator("#live[data-state=live]").wait_for()
    page.locator("#events li code", has_text=missed).wait_for()
    assert len(doors) == 3

    # Signing out ends the feed on every other page too, and those do not ask again.
    elsewhere = house.open(browser)
    house.enter(elsewhere)
    elsewhere.get_by_role("button", name="Sign out").click()
    page.locator("#live[data-state=ended]").wait_for()
    assert "session has ended" in page.inner_text("#live") and len(doors) == 3
    answered(complaints)


def test_a_file_is_imported_and_its_arrival_is_seen(house, browser, complaints):
    page = house.open(browser)
    complaints.listen(page)
    house.enter(page)
    house.go(page, "/import")
    fit(page, "Import")
    notes = {"name": "bees.md", "mimeType": "text/markdown", "buffer": b"# Bees\nThey winter on the roof.\n\n## x\ny"}
    page.get_by_label("Files").set_input_files(notes)
    page.get_by_role("button", name="Import", exact=True).click()
    page.locator("#progress[data-finished]").wait_for()  # without a reload: the page looks by itself
    assert "2 of 2 records processed" in page.locator("#progress").inner_text()
    fit(page, "Import of bees.md")
    assert complaints == []


def test_the_keyboard_reaches_everything_in_order(house, browser):
    page = house.open(browser)
    house.enter(page)
    page.keyboard.press("Tab")
    skip = page.locator("a.skip")
    assert skip.evaluate("link => link === document.activeElement && link.getBoundingClientRect().left >= 0")
    reached = []
    for _ in range(18):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.textContent.trim().split(/\\s+/).join(' ')"))
    assert reached == [
        "Flux Memory",
        "main research",
        "Switch",
        "Your account",
        "Sign out",
        "Overview",
        "Recall",
        "Graph",
        "Live",
        "Board",
        "Review",
        "Traces",
        "Vitals",
        "Memories",
        "Agents",
        "Audit",
        "Import",
        "Admin",
    ]
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    skip.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.getElementById('main').contains(document.activeElement)")
