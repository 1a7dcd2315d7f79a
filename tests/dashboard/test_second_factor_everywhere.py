"""Every address of the people's door, found by walking its routes, is closed without the second factor"""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from tests.dashboard.conftest import PASSWORD, post

pytestmark = pytest.mark.either_database  # it is stopped before its view

# What a visitor must be able to open. None of it shows anything of the instance's memory.
FOR_EVERYBODY = {"/", "/health", "/favicon.ico", "/sign-in", "/sign-in/code", "/enrol/x", "/sign-out"}
SAMPLES = {
    "object_id": "1",
    "secret": "x",
    "name": "stop",
    "url": "nothing",
    "app_label": "accounts",
    "content_type_id": "1",
    "chain": "instance",
}


def addresses(patterns=None, prefix: str = "/") -> list[str]:
    found = []
    for pattern in patterns if patterns is not None else get_resolver("dashboard.urls").url_patterns:
        text = re.sub(r"<(?:\w+:)?(\w+)>", lambda match: SAMPLES.get(match.group(1), "1"), str(pattern.pattern))
        text = re.sub(r"\(\?P<(\w+)>[^)]*\)", lambda match: SAMPLES.get(match.group(1), "1"), text)
        text = text.replace("^", "").replace("$", "").replace("\\Z", "")
        if isinstance(pattern, URLResolver):
            found.extend(addresses(pattern.url_patterns, prefix + text))
        elif isinstance(pattern, URLPattern):
            found.append(prefix + text)
    return found


def visitors(ada) -> dict[str, object]:
    # Without CSRF checks: they would refuse a form before anybody asked who sends it.
    nobody, half, password_only = (Client(headers={"Host": "localhost"}) for _ in range(3))
    post(half, "/sign-in", username="ada", password=PASSWORD)
    # What a door that forgot the second factor would have made: a session of Django's own sign-in.
    password_only.force_login(ada.user)
    return {"nobody": nobody, "half-way": half, "password only": password_only}


def test_the_walk_finds_the_door(db):
    found = set(addresses())
    assert len(found) > 40
    assert {
        "/account",
        "/account/password",
        "/admin/",
        "/admin/accounts/agent/",
        "/admin/accounts/agent/1/change/",
        "/admin/accounts/agent/1/do/stop/",
        "/admin/accounts/agent/add/",
    } <= found


@pytest.mark.parametrize("method", ["get", "post"])
def test_nothing_opens_without_the_second_factor(ada, space, method):
    for who, client in visitors(ada).items():
        for address in sorted(set(addresses()) - FOR_EVERYBODY):
            answer = getattr(client, method)(address)
            assert answer.status_code in (301, 302, 403, 404), (who, method, address, answer.status_code)
            if answer.status_code in (301, 302):
                where = answer["Location"]
                # To the sign-in, or to another address of this list.
                assert where.startswith(("/sign-in", "/admin/login/", address + "/", "/account", "/admin/")), where


def test_all_of_it_opens_with_the_second_factor(ada, space):
    """So that the test above cannot pass because everything is closed to everybody."""
    client = ada.sign_in()
    opened = [address for address in sorted(set(addresses())) if client.get(address).status_code == 200]
    assert {"/account", "/account/password", "/admin/", "/admin/accounts/agent/"} <= set(opened)
    assert len(opened) > 15, opened


def test_the_session_that_has_only_a_password_sees_a_visitors_front_page(ada, space):
    for who, client in visitors(ada).items():
        page = client.get("/").content.decode()
        assert "Sign in" in page and space.name not in re.sub(r"<[^>]*>", "", page), who
