"""GET /grains and GET /grains/{id}"""

from __future__ import annotations

import base64

import pytest

from memory.grains.models import Grain
from tests.rest.routes import plain, refused


def store_many(api, count: int, start: int = 0) -> list[str]:
    found: list[str] = []
    for first in range(start, start + count, 100):
        some = [{"content": f"grain {n}"} for n in range(first, min(first + 100, start + count))]
        found += api.post("/store/batch", {"items": some}).json()["grain_ids"]
    return found


PARTICULARS = {
    "id",
    "content",
    "provenance",
    "decay_class",
    "confidence",
    "origin",
    "authority",
    "status",
    "valid_from",
    "valid_to",
    "time",
    "session",
    "speaker",
    "tags",
    "pinned",
    "recorded_at",
    "ordinal",
    "writer",
    "label",
    "corroborations",
    "digest",
    "enriched",
    "content_snippet",
    "created_at",
}
BELONGINGS = {"kind", "conduits", "found_by", "recalls", "transitions", "votes", "cluster", "lineage"}


def test_it_gives_one_grain_with_its_origin_and_writer(api):
    said = {
        "content": "Rain is wet",
        "provenance": "user_stated",
        "session": "s",
        "speaker": "Ada",
        "tags": ["weather"],
        "time": "2026-03-02T09:00:00+01:00",
        "valid_from": "2026-03-01T00:00:00Z",
        "valid_to": "2027-03-01T00:00:00Z",
    }
    stored = api.post("/store", {**said, "caller_id": "desk"}).json()
    grain = api.get(f"/grains/{stored['grain_id']}").json()
    assert set(grain) == PARTICULARS | BELONGINGS
    assert grain["recorded_at"].endswith("Z") and len(grain["digest"]) == 64
    expected = {
        "id": stored["grain_id"],
        "content": "Rain is wet",
        "provenance": "user_stated",
        "origin": "user_stated",
        "authority": "user_stated",
        "status": "active",
        "writer": "agent:alice",
        "label": "desk",
        "corroborations": 0,
        "session": "s",
        "ordinal": 0,
        "speaker": "Ada",
        "tags": ["weather"],
        "time": "2026-03-02T08:00:00.000000Z",
        "valid_from": "2026-03-01T00:00:00.000000Z",
        "valid_to": "2027-03-01T00:00:00.000000Z",
        "pinned": False,
        "decay_class": "working",
        "confidence": 1.0,
    }
    assert {name: grain[name] for name in expected} == expected
    assert grain["created_at"] == grain["recorded_at"]


def test_the_snippet_is_the_beginning_of_a_long_text(api):
    api.post("/store", {"content": "long " * 100})
    (grain,) = api.get("/grains").json()["grains"]
    assert grain["content_snippet"] == ("long " * 100)[:120]
    (listed,) = api.get("/grains").json()["grains"]
    assert listed == {name: grain[name] for name in PARTICULARS}


def test_what_nobody_said_about_a_grain_is_null(api):
    grain = api.get(f"/grains/{api.post('/store', {'content': 'x'}).json()['grain_id']}").json()
    assert [grain[name] for name in ("session", "ordinal", "speaker", "time", "valid_from", "valid_to")] == [None] * 6
    assert grain["tags"] == []


def test_an_id_may_be_written_in_capitals(api):
    grain = api.post("/store", {"content": "x"}).json()["grain_id"]
    assert api.get(f"/grains/{grain.upper()}").json()["id"] == grain


ABSENT = "8d7a1f0e-9f44-4f57-8e7a-5a8d5f3e9c11"


@pytest.mark.either_database
@pytest.mark.parametrize(
    "wrong",
    [
        "0",
        "null",
        "..",
        "%2e%2e",
        "%00",
        "a" * 3000,
        "%F0%9F%A6%8A",
        "%ff%fe",
        "{%s}",
        "urn:uuid:%s",
        "%s%%00",
        "%s%%0a",
        "%%20%s",
        "%s/",
        "%s.json",
        "1 OR 1=1",
        "'; DROP TABLE grains_grain; --",
        "${jndi:ldap://x}",
    ],
)
def test_what_is_no_id_is_not_found(api, wrong):
    grain = api.post("/store", {"content": "x"}).json()["grain_id"]
    refused(api.get("/grains/" + (wrong % grain if "%s" in wrong else wrong)), 404, "not_found")
    assert Grain.objects.count() == 1


def test_python_spellings_of_an_id_are_not_ids(api):
    grain = api.post("/store", {"content": "x"}).json()["grain_id"]
    for spelling in (grain.replace("-", ""), f"{{{grain}}}", f"urn:uuid:{grain}", grain.replace("-", "_")):
        refused(api.get(f"/grains/{spelling}"), 404, "not_found")


def test_a_foreign_id_answers_exactly_like_an_absent_one(make_token, as_agent):
    owner, stranger = as_agent(make_token("anna", space="north")), as_agent(make_token("bert", space="south"))
    grain = owner.post("/store", {"content": "north's own"}).json()["grain_id"]
    headers = {"X-Request-Id": "same"}
    foreign = stranger.get(f"/grains/{grain}", headers=headers)
    absent = stranger.get(f"/grains/{ABSENT}", headers=headers)
    assert plain(foreign) == plain(absent)
    assert foreign.content == absent.content and foreign.headers.items() == absent.headers.items()
    refused(foreign, 404, "not_found")


def test_the_newest_come_first(api):
    stored = store_many(api, 5)
    body = api.get("/grains").json()
    assert [grain["id"] for grain in body["grains"]] == stored[::-1]
    assert (body["count"], body["next_cursor"]) == (5, None)


def test_without_a_limit_a_page_has_fifty(api):
    store_many(api, 60)
    assert api.get("/grains").json()["count"] == 50


@pytest.mark.parametrize("limit", [1, 7, 200])
def test_a_walk_meets_every_grain_once_while_new_ones_arrive(api, limit):
    stored = store_many(api, 23)
    seen: list[str] = []
    cursor: dict[str, str] = {}
    pages = 0
    while True:
        body = api.get("/grains", limit=limit, **cursor).json()
        assert body["count"] == len(body["grains"]) <= limit
        seen += [grain["id"] for grain in body["grains"]]
        pages += 1
        store_many(api, 2, start=1000 * pages)  # behind the walker's back
        if body["next_cursor"] is None:
            break
        cursor = {"cursor": body["next_cursor"]}
    assert seen == stored[::-1]
    assert pages == -(-23 // limit)


def test_a_last_page_that_is_full_has_no_next_one(api):
    store_many(api, 4)
    first = api.get("/grains", limit=2).json()
    second = api.get("/grains", limit=2, cursor=first["next_cursor"]).json()
    assert (second["count"], second["next_cursor"]) == (2, None)


@pytest.mark.parametrize("status", Grain.Status.values)
def test_it_lists_by_status(api, status):
    kept, *_ = store_many(api, 3)
    Grain.objects.filter(uuid=kept).update(status=status)
    found = [grain["id"] for grain in api.get("/grains", status=status).json()["grains"]]
    assert kept in found
    assert len(found) == (3 if status == "active" else 1)


@pytest.mark.parametrize("status", ["", "ACTIVE", "deleted", "active ", "active\0", "active' OR '1'='1", "é"])
def test_it_refuses_an_unknown_status(api, status):
    assert refused(api.get("/grains", status=status), 422, "invalid") == {"field": "status"}


@pytest.mark.either_database
@pytest.mark.parametrize(
    "limit", ["0", "201", "-1", "1.0", "1e1", " 1", "", "٣", "x", "9" * 5000, "0x10", "1_0", "\0", "+5", "²"]
)
def test_it_refuses_a_limit_that_is_no_number_from_1_to_200(api, limit):
    assert refused(api.get("/grains", limit=limit), 422, "invalid") == {"field": "limit"}


@pytest.mark.either_database
@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "x",
        "A" * 10,
        "A" * 12,
        "A" * 5000,
        "AAAAAAAAAA=",
        "AAAAAAAAAA!",
        "AAAAAAAAAA\0",
        "AAAA AAAAAA",
        "é" * 11,
        "_" * 11,
        base64.urlsafe_b64encode((2**63).to_bytes(8, "big")).decode().rstrip("="),
        ABSENT,
        "AAAAAAAAAA+",
        "AAAAAAAAAA/",
        "-1",
    ],
)
def test_it_refuses_what_is_no_cursor(api, cursor):
    assert refused(api.get("/grains", cursor=cursor), 422, "invalid") == {"field": "cursor"}


def test_a_made_up_cursor_shows_nothing_of_another_space(make_token, as_agent):
    owner, stranger = as_agent(make_token("anna", space="north")), as_agent(make_token("bert", space="south"))
    store_many(owner, 3)
    cursor = owner.get("/grains", limit=1).json()["next_cursor"]
    assert stranger.get("/grains", cursor=cursor).json() == {"grains": [], "count": 0, "next_cursor": None}


@pytest.mark.parametrize("query", ["colour=red", "Limit=1", "limit=1&limit=2", "status=active&status=active", "%00=1"])
def test_it_refuses_unknown_and_repeated_parameters(api, query):
    refused(api.get(f"/grains?{query}"), 422, "invalid")


@pytest.mark.parametrize("path", ["/store", "/store/batch"])
def test_a_write_takes_no_parameters(api, path):
    refused(api.post(f"{path}?colour=red", {"content": "x"}), 422, "invalid")


def test_one_grain_takes_no_parameters(api):
    grain = api.post("/store", {"content": "x"}).json()["grain_id"]
    refused(api.get(f"/grains/{grain}?fields=id"), 422, "invalid")


def test_two_thousand_parameters_are_a_bad_request(api):
    refused(api.get("/grains?" + "&".join(f"p{n}=1" for n in range(2000))), 400, "bad_request")
