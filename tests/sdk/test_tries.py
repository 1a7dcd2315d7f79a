"""Retries of the client: only calls with the same effect if sent twice, and with limits."""

from __future__ import annotations

import asyncio
import time

import pytest

from flux import client as module
from flux import errors
from flux.client import AsyncFluxClient, FluxClient
from tests.sdk.conftest import answer, refused

STORED = {"grain_id": "g", "status": "stored", "provenance": "ai_stated"}
BUSY = refused(503, "busy", Retry_After="0")


@pytest.fixture(params=["sync", "async"])
def store(request):
    """Store one text through the synchronous or the asynchronous client."""

    def call(url, **settings):
        if request.param == "sync":
            with FluxClient(url, "t", **settings) as flux:
                return flux.store("x")

        async def talk():
            async with AsyncFluxClient(url, "t", **settings) as flux:
                return await flux.store("x")

        return asyncio.run(talk())

    return call


@pytest.mark.parametrize(
    "trouble", [BUSY, refused(429, "rate_limited", Retry_After="0"), None], ids=["503", "429", "cut"]
)
def test_a_write_is_sent_again_under_the_same_key(told, store, trouble):
    server = told(trouble, trouble, answer(200, STORED))
    assert store(server.url) == STORED
    assert len(server.asked) == 3
    assert len(set(server.keys())) == 1


def test_two_writes_have_two_keys(told):
    server = told(answer(200, STORED, Connection="close"), answer(200, STORED, Connection="close"))
    with FluxClient(server.url, "t") as flux:
        flux.store("x"), flux.store("x")
    assert len(set(server.keys())) == 2


def test_a_write_whose_answer_is_late_is_sent_again(told, store):
    server = told(4.0, answer(200, STORED))
    assert store(server.url, timeout=2) == STORED
    assert len(set(server.keys())) == 1


def test_a_recall_whose_answer_was_lost_is_not_asked_twice(told):
    """It would leave a second trace that the agent does not know of and so cannot rate."""
    server = told(None, answer(200, {}))
    with FluxClient(server.url) as flux, pytest.raises(errors.Unreachable):
        flux.retrieve("x")
    assert len(server.asked) == 1


def test_a_recall_that_was_refused_is_asked_again(told):
    server = told(BUSY, answer(200, {"grains": []}))
    with FluxClient(server.url) as flux:
        assert flux.retrieve("x") == {"grains": []}


@pytest.mark.parametrize(
    "status, code",
    [(400, "bad_json"), (403, "forbidden"), (409, "conflict"), (422, "invalid"), (500, "internal"), (507, "disk_full")],
)
def test_what_will_not_pass_is_raised_at_once(told, store, status, code):
    server = told(refused(status, code), answer(200, STORED))
    with pytest.raises(errors.FluxError) as raised:
        store(server.url)
    assert (raised.value.code, raised.value.status, len(server.asked)) == (code, status, 1)
    assert (raised.value.details, raised.value.request_id) == ({"a": 1}, "r-1")


def test_it_gives_up_after_its_tries(told, store):
    server = told(*[BUSY] * 4, answer(200, STORED))
    with pytest.raises(errors.Busy):
        store(server.url, retries=3)
    assert len(server.asked) == 4


def test_a_wait_beyond_its_patience_is_raised_at_once(told, store):
    server = told(refused(429, "rate_limited", Retry_After="60"), answer(200, STORED))
    with pytest.raises(errors.RateLimited) as raised:
        store(server.url, patience=5)
    assert (raised.value.retry_after, len(server.asked)) == (60.0, 1)


def test_retry_after_is_honoured(told, store):
    server = told(refused(429, "rate_limited", Retry_After="0.3"), answer(200, STORED))
    began = time.monotonic()
    store(server.url)
    assert time.monotonic() - began >= 0.3


def test_nobody_there(told, store):
    server = told()
    server.line.close()
    with pytest.raises(errors.Unreachable, match="cannot be reached"):
        store(server.url, retries=1)


@pytest.mark.parametrize(
    "said",
    [
        answer(200, b"<html>hello</html>"),
        answer(200, b""),
        answer(200, b'{"cut'),
        answer(502, b"Bad gateway"),
        answer(301, b"", Location="http://127.0.0.1:1/"),
        answer(500, {"code": 3}),
        answer(503, b"down", Retry_After="0"),
    ],
    ids=["html", "empty", "cut", "gateway", "elsewhere", "shapeless", "proxy"],
)
def test_what_is_no_answer_of_ours_is_said_to_be_none(told, store, said):
    server = told(said, answer(200, STORED))
    with pytest.raises(errors.NotUnderstood):
        store(server.url)


def test_an_answer_without_end_is_cut_off(told, store, monkeypatch):
    monkeypatch.setattr(module, "MAX_ANSWER", 1000)
    with pytest.raises(errors.NotUnderstood, match="more than"):
        store(told(answer(200, b"x" * 2000)).url)


def test_a_refusal_of_a_newer_server_keeps_its_words(told, store):
    server = told(refused(418, "teapot"))
    with pytest.raises(errors.FluxError) as raised:
        store(server.url)
    assert (raised.value.code, raised.value.status, raised.value.message) == ("teapot", 418, "as told")
    assert errors.FluxError.code == "internal"  # the table itself is untouched


def test_the_token_goes_nowhere_but_to_its_address(told, store, monkeypatch):
    elsewhere, server = told(answer(200, STORED)), told(answer(200, STORED))
    monkeypatch.setenv("HTTP_PROXY", elsewhere.url)
    monkeypatch.setenv("http_proxy", elsewhere.url)
    store(server.url)
    assert (len(server.asked), elsewhere.asked) == (1, [])
