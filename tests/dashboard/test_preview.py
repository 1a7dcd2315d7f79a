"""/mobile-preview: the dashboard in frames of its own, which no other page can be put into"""

from __future__ import annotations

import re

import pytest

from accounts.models import Agent
from dashboard.preview import DEVICES

FRAME = {"Sec-Fetch-Dest": "iframe", "Sec-Fetch-Site": "same-origin"}


def rules(answer):
    return dict(rule.split(" ", 1) for rule in answer["Content-Security-Policy"].split("; "))


def test_it_shows_a_page_in_each_device(ada, space):
    text = ada.sign_in().get("/mobile-preview", {"page": "/recall"}).content.decode()
    assert text.count('<iframe src="/recall"') == len(DEVICES)


@pytest.mark.parametrize("wanted", ["https://evil.example/", "//evil.example", "/admin/", "javascript:alert(1)", ""])
def test_it_frames_pages_of_the_dashboard_only(ada, space, wanted):
    text = ada.sign_in().get("/mobile-preview", {"page": wanted}).content.decode()
    assert text.count('<iframe src="/"') == len(DEVICES)


def test_it_wants_somebody_who_has_signed_in(people_client):
    assert people_client.get("/mobile-preview")["Location"].startswith("/sign-in")


def test_it_alone_may_frame_and_what_it_frames_may_be_framed_by_us(ada, space):
    client = ada.sign_in()
    own = client.get("/mobile-preview")
    assert (rules(own)["frame-src"], rules(own)["frame-ancestors"]) == ("'self'", "'none'")
    framed = client.get("/recall", headers=FRAME)
    assert (rules(framed)["frame-ancestors"], framed["X-Frame-Options"]) == ("'self'", "SAMEORIGIN")
    assert "frame-src" not in rules(framed)


def test_every_page_it_offers_may_be_framed(ada, space):
    client = ada.sign_in()
    offered = re.findall(r'<option value="([^"]+)"', client.get("/mobile-preview").content.decode())
    assert offered[:2] == ["/", "/recall"] and len(offered) == 10
    for path in offered:
        assert rules(client.get(path, headers=FRAME))["frame-ancestors"] == "'self'", path


def test_the_admin_and_pages_with_secrets_and_codes_may_not_be_framed(ada, space, make_token):
    make_token("alice", space=space.name)
    client = ada.sign_in()
    connect = f"/agents/{Agent.objects.get(name='alice').uuid}/connect"
    page = client.get(connect, headers=FRAME)
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.content.decode())[1]
    fields = {"csrfmiddlewaretoken": token, "ceiling": "ai_stated"}
    shown = client.post(connect, fields, headers=FRAME)
    assert "FLUX_TOKEN" in shown.content.decode()
    others = (
        "/admin/",
        "/admin/accounts/token/",
        "/account",
        "/account/password",
        "/fresh-code",
        "/import",
        "/nowhere",
    )
    for answer in (page, shown, *(client.get(path, headers=FRAME) for path in others)):
        assert (rules(answer)["frame-ancestors"], answer["X-Frame-Options"]) == ("'none'", "DENY")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Dest": "document", "Sec-Fetch-Site": "same-origin"},
        {**FRAME, "Sec-Fetch-Site": "cross-site"},
        {**FRAME, "Sec-Fetch-Site": "same-site"},
        {**FRAME, "Sec-Fetch-Dest": "object"},
    ],
)
def test_everything_else_may_not_be_framed(ada, space, headers):
    answer = ada.sign_in().get("/recall", headers=headers)
    assert (rules(answer)["frame-ancestors"], answer["X-Frame-Options"]) == ("'none'", "DENY")
