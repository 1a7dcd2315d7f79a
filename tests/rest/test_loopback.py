"""REST_OPEN_TO_LOOPBACK: who may act without a token, as whom, and what never may"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client, override_settings

from memory.api import loopback
from memory.grains.models import Grain
from tests.conftest import Api
from tests.rest.routes import ROUTES


@pytest.fixture
def opened(make_token: Callable[..., str], configure: Callable[..., None]) -> Api:
    """A client without a token, where the key names an agent."""
    make_token("guest", capabilities=("grains.read", "grains.write"), trust="trusted")
    configure(REST_OPEN_TO_LOOPBACK="home/guest")
    return Api(None)


def test_it_is_off_by_default(make_token: Callable[..., str]) -> None:
    make_token("guest")
    assert Api(None).post("/store", {"content": "x"}).status_code == 401
    assert loopback.loopback_warnings() == []


def test_a_program_of_this_machine_acts_as_the_agent(opened: Api) -> None:
    assert opened.post("/store", {"content": "Said without a token."}).json()["provenance"] == "ai_stated"
    assert Grain.objects.get().writer == "agent:guest"
    assert opened.post("/retrieve", {"query": "token"}).status_code == 200
    assert opened.get("/me").json()["agent"] == "guest"
    refused = opened.put("/agents/guest/kv/a", {"value": 1})
    assert (refused.status_code, refused.json()["details"]["missing"]) == (403, "memory.write:a")
    assert loopback.loopback_warnings() == [
        "REST is open without a token to every program on this machine, as agent home/guest (REST_OPEN_TO_LOOPBACK)"
    ]


def test_a_higher_claim_is_lowered_and_the_answer_says_so(opened: Api) -> None:
    answer = opened.post("/store", {"content": "One.", "provenance": "user_stated"}).json()
    assert (answer["provenance"], answer["provenance_claimed"]) == ("ai_stated", "user_stated")
    items = [{"content": "Two.", "provenance": "user_stated"}, {"content": "Three.", "provenance": "ai_inferred"}]
    first, second = opened.post("/store/batch", {"items": items}).json()["results"]
    assert (first["provenance"], first["provenance_claimed"]) == ("ai_stated", "user_stated")
    assert second["provenance"] == "ai_inferred" and "provenance_claimed" not in second
    answer = opened.post("/extract", {"content": "Four.", "provenance": "user_stated"}).json()
    assert answer["provenance_claimed"] == "user_stated"


def test_a_token_is_still_who_it_is(opened: Api, make_token: Callable[..., str]) -> None:
    assert Api(make_token("alice")).get("/me").json()["agent"] == "alice"
    wrong = opened.get("/me", headers={"Authorization": "Bearer flux_wrong"})
    assert wrong.status_code == 401


def test_the_agent_does_no_more_than_a_sandboxed_one_that_stores(
    make_token: Callable[..., str], configure: Callable[..., None]
) -> None:
    capabilities = ("grains.read", "grains.write", "memory.write", "bb.write", "artifacts.write")
    token = make_token("guest", capabilities=capabilities, trust="trusted")
    configure(REST_OPEN_TO_LOOPBACK="home/guest")
    assert Api(token).put("/boards/main/kv/a", {"value": 1}).status_code == 200
    refused = Api(None).put("/boards/main/kv/a", {"value": 1})
    assert (refused.status_code, refused.json()["details"]["missing"]) == (403, "bb.write@main:a")
    assert Api(None).put("/agents/guest/kv/a", {"value": 1}).status_code == 200
    assert Api(None).post("/store", {"content": "Said."}).status_code == 200


def test_no_call_fails_for_want_of_a_token(make_token: Callable[..., str], configure: Callable[..., None]) -> None:
    held = ("grains.read", "grains.write", "grains.feedback", "memory.read", "memory.write", "bb.read", "health.read")
    make_token("alice", capabilities=held, trust="trusted")
    configure(REST_OPEN_TO_LOOPBACK="home/alice")
    statuses = {name: route.call(Api(None)).status_code for name, route in ROUTES.items()}
    assert statuses["GET watch"] == 200
    assert {name: status for name, status in statuses.items() if status >= 500 or status == 401} == {}


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ({"Origin": "http://localhost"}, "a browser sent it"),
        ({"Sec-Fetch-Site": "none"}, "a browser sent it"),
        ({"Sec-Fetch-Mode": "no-cors"}, "a browser sent it"),
        ({"Forwarded": "for=10.0.0.1"}, "a proxy sent it"),
        ({"X-Forwarded-For": "10.0.0.1"}, "a proxy sent it"),
        ({"X-Forwarded-Proto": "https"}, "a proxy sent it"),
        ({"X-Real-Ip": "10.0.0.1"}, "a proxy sent it"),
        ({"Via": "1.1 proxy"}, "a proxy sent it"),
        ({"Host": "testserver"}, "the Host is not a loopback name"),
    ],
)
def test_browsers_proxies_and_other_hosts_are_nobody(opened: Api, headers: dict[str, str], why: str) -> None:
    answer = opened.get("/me", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert why in answer.json()["message"]


def test_another_content_type_and_another_machine_are_nobody(opened: Api) -> None:
    sent = opened.client.generic("POST", "/store", b'{"content": "x"}', "text/plain", headers={"Host": "localhost"})
    assert sent.status_code == 401 and "application/json" in sent.json()["message"]
    far = Client(REMOTE_ADDR="192.0.2.7").get("/me", headers={"Host": "localhost"})
    assert far.status_code == 401 and "not on this machine" in far.json()["message"]
    assert Grain.objects.count() == 0


def test_what_is_open_to_everybody_stays_open(opened: Api) -> None:
    assert opened.get("/health", headers={"Origin": "http://localhost"}).status_code == 200


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ({"REST_HOST": "0.0.0.0"}, "REST_HOST is not a loopback address"),
        ({"REST_OPEN_TO_LOOPBACK": "home/nobody"}, "there is no active agent 'nobody'"),
        ({"REST_OPEN_TO_LOOPBACK": "home/strong"}, "the agent 'strong' is privileged"),
    ],
)
def test_an_instance_it_cannot_be_used_in(
    opened: Api, configure: Callable[..., None], make_token: Callable[..., str], setting: dict[str, Any], why: str
) -> None:
    make_token("strong", trust="privileged")
    configure(**setting)
    answer = opened.get("/me")
    assert answer.status_code == 401 and why in answer.json()["message"]
    assert why in loopback.loopback_warnings()[0]


def test_it_does_not_go_with_https(opened: Api) -> None:
    with override_settings(HTTPS=True):
        assert opened.get("/me").status_code == 401
        assert "FLUX_HTTPS is on" in loopback.loopback_warnings()[0]
