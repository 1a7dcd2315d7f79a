"""From the link that `flux_start` prints to the administration, in a real browser"""

from __future__ import annotations

import base64
import re
import time
from urllib.parse import urljoin, urlsplit

import pytest

from tests.sign_in_codes import code_for

pytestmark = pytest.mark.browser

PASSWORD = "four unrelated words here"


def printed_link(instance) -> str:
    """The welcome is printed just after the doors are open."""
    until = time.monotonic() + 20
    while not (found := re.findall(r"http\S+/enrol/\S+", instance.output.read_text())):
        assert time.monotonic() < until, instance.output.read_text()
        time.sleep(0.05)
    return found[-1]


def shown_key(page) -> bytes:
    """As somebody without a camera types it."""
    return base64.b32decode("".join(page.inner_text(".key").split()))


def fill_in(page, *, username: str, code: str) -> None:
    page.get_by_label("User name").fill(username)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("The same password again").fill(PASSWORD)
    page.get_by_label("Code from the app").fill(code)
    page.get_by_role("button", name="Create my account").click()


def expect_styled(page, sheet: str) -> None:
    """The style sheet arrived and the browser took its rules."""
    page.wait_for_load_state()
    assert page.evaluate(
        "name => [...document.styleSheets].some(sheet => sheet.href?.includes(name) && sheet.cssRules.length > 5)",
        sheet,
    ), f"{page.url} is not styled by {sheet}"


def heading(page) -> str:
    return str(page.get_by_role("heading", level=1).inner_text())


def test_the_printed_link_leads_to_the_administration(instance, browser, complaints):
    running = instance().with_tables().start()
    link, people = printed_link(running), running.state["urls"]["people"]
    phone = browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 844})
    errors_are_shown_on_a_phone_without_javascript(phone.new_page(), link)

    page = browser.new_context().new_page()
    complaints.listen(page)
    page.goto(people)
    assert heading(page) == "test"
    assert "printed a one-time enrolment link" in page.inner_text("main")
    assert running.state["urls"]["rest"] in page.inner_text("main")

    page.goto(link)
    expect_styled(page, "dashboard/flux.css")
    assert page.get_by_alt_text("QR code").evaluate("image => image.complete && image.naturalWidth > 0")
    fill_in(page, username="ada", code=code_for(shown_key(page)))
    assert heading(page) == "Welcome, ada"
    codes = page.locator(".codes code").all_inner_texts()
    assert len(set(codes)) == 10

    # Both factors were given, so nobody asks for them again.
    page.get_by_role("link", name="Done, I saved them").click()
    assert heading(page) == "main" and "signed in as ada" in page.inner_text("footer")
    page.get_by_role("link", name="Admin", exact=True).click()
    expect_styled(page, "admin/css/base.css")
    expect_styled(page, "dashboard/admin.css")
    assert "ada" in page.inner_text("#user-tools").lower()
    visited = visit_the_administration(page, people)
    model = "/admin/*/*/"
    assert visited >= {"/admin/", model, f"{model}*/change/", f"{model}add/", f"{model}chains/"}, visited
    assert complaints == []

    page.goto(people)
    page.get_by_role("button", name="Sign out").click()
    assert "You are signed out" in page.inner_text(".messages")
    # The way back in asks for both, and leads to where the person wanted to go.
    page.goto(urljoin(people, "/admin/accounts/agent/"))
    page.get_by_label("User name").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Code").fill(codes[0])
    page.get_by_role("button", name="Sign in").click()
    page.locator("#user-tools").wait_for()
    assert urlsplit(page.url).path == "/admin/accounts/agent/"
    assert complaints == []

    late = phone.new_page()
    assert late.goto(link).status == 404
    assert "This link is closed" in late.inner_text("main")


def errors_are_shown_on_a_phone_without_javascript(page, link: str) -> None:
    page.goto(link)
    fill_in(page, username="not a name", code="12")
    page.locator("#id_username_error").wait_for()
    assert "letters, digits" in page.inner_text("#id_username_error")
    assert "six digits" in page.inner_text("#id_code_error")
    assert page.get_by_label("Password", exact=True).input_value() == ""


def visit_the_administration(page, people: str) -> set[str]:
    """Every kind of page the administration links to, so that the content policy is known to suit each of them.

    Pages of all models are looked through for what the policy forbids in tests/admin/test_who_sees_what.py.
    """
    waiting, seen = [urljoin(people, "/admin/")], set()
    while waiting:
        address = waiting.pop()
        # One row stands for all, and one model.
        kind = re.sub(r"/(\d+|[0-9a-f]{16,})(?=/)", "/*", urlsplit(address).path)
        kind = re.sub(r"^/admin/[a-z]+/[a-z]+/", "/admin/*/*/", kind)
        if kind in seen:
            continue
        seen.add(kind)
        page.goto(address)
        assert page.locator("#user-tools").is_visible(), address
        for found in page.eval_on_selector_all("a[href]", "links => links.map(link => link.href)"):
            parts = urlsplit(found)
            if not found.startswith(urljoin(people, "/admin/")) or parts.query or parts.fragment:
                continue  # elsewhere, or the same list in another order
            if not parts.path.endswith("/export/"):  # a file, no page
                waiting.append(found)
    return seen
