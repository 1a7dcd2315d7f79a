"""/mobile-preview: the dashboard in frames of its own, which no other page can be put into"""

from __future__ import annotations

import pytest

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
