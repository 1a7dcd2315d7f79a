"""/ for visitors: the front page, and the pages for what goes wrong"""

from __future__ import annotations

import re

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.db import OperationalError
from django.template.loader import render_to_string

from accounts import people, roles
from accounts.principals import shell
from dashboard.middleware import POLICY
from fluxcore.version import VERSION
from tests.dashboard.conftest import PASSWORD


def test_it_names_the_instance_and_keeps_its_version_from_strangers(people_client):
    page = people_client.get("/")
    assert page.status_code == 200
    text = page.content.decode()
    assert f"<h1>{settings.HOME.name}</h1>" in text and VERSION not in text and "Running" in text
    assert 'href="/admin' not in text and "/sign-out" not in text


def test_without_an_administrator_it_says_where_the_link_is(people_client, link):
    text = people_client.get("/").content.decode()
    assert "flux_start" in text and "enrolment link" in text
    assert link not in text


def test_with_an_administrator_it_only_offers_to_sign_in(people_client):
    people.create_administrator(shell(), username="ada", password=PASSWORD)
    text = people_client.get("/").content.decode()
    assert "flux_start" not in text and "ada" not in re.sub(r"<[^>]+>", "", text).split()
    assert "Sign in" in text


def test_it_shows_a_visitor_nothing_of_any_space(people_client, api, ada):
    text = people_client.get("/?space=home").content.decode()
    assert text == people_client.get("/?space=nowhere").content.decode() == people_client.get("/").content.decode()
    assert "alice" not in text and "<nav" not in text and "<script" not in text


def test_it_says_nothing_about_what_is_remembered(people_client, api):
    # Stored through the verb: the REST door is closed while the people's door stands in for it.
    from accounts import tokens
    from memory.grains.store import store

    store(tokens.authenticate(api.token), content="The launch is on Friday")
    assert "Friday" not in people_client.get("/").content.decode()


@pytest.mark.parametrize("path", ["/nothing", "/store", "/api/v1/grains", "/enrol/", "/enrol/a/b"])
def test_another_address_is_a_friendly_404(people_client, path):
    answer = people_client.get(path)
    assert answer.status_code == 404 and "Page not found" in answer.content.decode()


def test_a_foreign_host_name_is_a_friendly_400(people_client):
    answer = people_client.get("/", headers={"Host": "evil.example"})
    assert answer.status_code == 400 and "FLUX_ALLOWED_HOSTS" in answer.content.decode()


def test_a_failure_inside_is_a_friendly_500(people_client, monkeypatch):
    def fail() -> bool:
        raise RuntimeError("the reason is for the log, not for the page")

    monkeypatch.setattr(roles, "has_administrator", fail)
    answer = people_client.get("/")
    assert answer.status_code == 500
    text = answer.content.decode()
    assert "Something went wrong" in text and "the reason" not in text


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [("database is locked", 503, "refused the write"), ("database or disk is full", 507, "The disk is full")],
)
def test_a_database_that_is_busy_or_full_is_said_to_be_so(people_client, monkeypatch, words, status, says):
    def fail() -> bool:
        raise OperationalError(words)

    monkeypatch.setattr(roles, "has_administrator", fail)
    answer = people_client.get("/")
    assert answer.status_code == status and answer["Retry-After"] and answer["Content-Security-Policy"] == POLICY
    assert says in answer.content.decode() and "OperationalError" not in answer.content.decode()


@pytest.mark.parametrize("path", ["/", "/nothing", "/enrol/nonsense", "/admin/login/"])
def test_every_page_forbids_what_is_inline_or_from_elsewhere(people_client, path):
    assert people_client.get(path)["Content-Security-Policy"] == POLICY
    assert "unsafe" not in POLICY and "http" not in POLICY


def test_our_templates_hold_nothing_inline_and_nothing_from_elsewhere():
    from pathlib import Path

    import dashboard

    templates = list((Path(dashboard.__file__).parent / "templates").rglob("*.html"))
    assert len(templates) >= 10
    for template in templates:
        text = template.read_text()
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|https?://", text), template


def test_a_missing_name_under_static_is_a_404(people_client):
    assert people_client.get("/static/dashboard/none.css").status_code == 404


def test_the_pages_are_styled(people_client):
    page = people_client.get("/").content.decode()
    for address in re.findall(r'(?:href|src)="(/static/[^"]+)"', page):
        assert finders.find(address.removeprefix("/static/")), address
        assert people_client.get(address).status_code == 200


def test_the_browsers_own_question_for_an_icon_is_answered(people_client):
    assert people_client.get("/favicon.ico")["Location"] == "/static/dashboard/mark.svg"


@pytest.mark.parametrize("name", ["400.html", "403.html", "403_csrf.html", "404.html", "413.html", "500.html"])
def test_error_pages_need_no_context(name):
    assert "<h1>" in render_to_string(name)


@pytest.mark.either_database
@pytest.mark.parametrize("path", ["/", "/welcome", "/admin/", "/admin/login/", "/enrol/nonsense"])
@pytest.mark.parametrize("session", ['"abcdefgh\\000x"', "x" * 5000, "\u00e9" * 32, "' OR 1=1 --", "../../etc/passwd"])
def test_a_hostile_session_is_no_session(people_client, settings, path, session):
    name = settings.SESSION_COOKIE_NAME
    answer = people_client.get(path, headers={"Cookie": f"{name}={session}"})
    assert answer.status_code == people_client.get(path).status_code
    assert answer.status_code < 500


def test_every_answer_has_a_request_id_of_its_own(people_client):
    first, second = people_client.get("/")["X-Request-Id"], people_client.get("/")["X-Request-Id"]
    assert first != second
    assert re.fullmatch(r"[0-9a-f]{16}", first)


def test_the_admin_offers_nothing_that_writes_past_the_audit_chain():
    from django.contrib import admin

    admin.autodiscover()
    foreign = {model._meta.label for model in admin.site._registry if model.__module__.startswith("django")}
    assert foreign == set()
