"""`flux_start --broadcast`: a person comes in through the name of the machine in the local network"""

from __future__ import annotations

import base64
import re
import socket
import time
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.sign_in_codes import code_for

pytestmark = [pytest.mark.browser, pytest.mark.proof]

PASSWORD = "four unrelated words here"
LISTED, UNLISTED = "flux.lan", "other.lan"
# Chromium ignores this header where there is no TLS and says so; it does no harm there.
IGNORED = "Cross-Origin-Opener-Policy header has been ignored"


def said_at_start(instance) -> str:
    until = time.monotonic() + 20
    while "Ctrl-C" not in instance.output.read_text():
        assert time.monotonic() < until, instance.output.read_text()
        time.sleep(0.05)
    return instance.output.read_text()


def follow_a_space(page) -> dict[str, Any]:
    """The page's own script opens the live feed, as the pages of this door do; the first thing it hears."""
    said: dict[str, Any] = page.evaluate(
        """() => new Promise((resolve, reject) => {
            const feed = new WebSocket(`ws://${location.host}/live?space=main`);
            feed.onmessage = message => { resolve(JSON.parse(message.data)); feed.close(); };
            feed.onclose = closed => reject(new Error(`closed with ${closed.code}`));
        })"""
    )
    return said


def test_a_person_enrols_and_signs_in_through_a_name_of_the_network(instance, browser, complaints):
    running = instance(FLUX_ALLOWED_HOSTS=LISTED).with_tables().start("--broadcast")
    printed, port = said_at_start(running), running.state["ports"]["people"]
    machine = socket.gethostname().lower()
    for name in (LISTED, machine):
        assert f"http://{name}:{port}/" in printed
    assert running.call("GET", "/sign-in", door="people", headers={"Host": f"{machine}:{port}"}).status == 200
    home = f"http://{LISTED}:{port}"
    link = urlsplit(re.findall(r"http\S+/enrol/\S+", printed)[-1])

    page = browser.new_context().new_page()
    complaints.listen(page)
    stranger = browser.new_context().new_page()
    assert stranger.goto(f"http://{UNLISTED}:{port}{link.path}").status == 400
    assert "FLUX_ALLOWED_HOSTS" in stranger.inner_text("main")

    page.goto(f"{home}{link.path}")
    key = base64.b32decode("".join(page.inner_text(".key").split()))
    page.get_by_label("User name").fill("ada")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("The same password again").fill(PASSWORD)
    page.get_by_label("Code from the app").fill(code_for(key))
    page.get_by_role("button", name="Create my account").click()
    page.get_by_role("heading", name="Welcome, ada").wait_for()
    assert urlsplit(page.url).hostname == LISTED
    backup_code = page.locator(".codes code").first.inner_text()
    assert [said for said in complaints if IGNORED not in said] == []

    # Somebody else's browser, the same name: nothing of the enrolment helps it.
    page = browser.new_context().new_page()
    complaints.listen(page)
    page.goto(f"{home}/sign-in")
    with pytest.raises(Exception, match="closed with 1006"):
        follow_a_space(page)
    complaints.clear()  # the refused socket
    page.get_by_label("User name").fill("ada")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url(f"{home}/sign-in/code")
    page.get_by_label("Code").first.fill(backup_code)  # the app's code is spent for half a minute
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{home}/")
    assert follow_a_space(page)["actor"] == "user:ada"
    assert page.goto(f"{home}/account").status == 200
    assert [said for said in complaints if IGNORED not in said] == []
