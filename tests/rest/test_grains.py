"""GET /grains and GET /grains/{id}, pin, unpin and close"""

from __future__ import annotations

import base64

import pytest
from django.db import connection

from memory.grains import narrowing, select
from memory.grains.models import Grain
from tests.rest.routes import plain, refused


def store_many(api, count: int, start: int = 0) -> list[str]:
    found: list[str] = []
    for first in range(start, start + count, 100):
        some = [{"content": f"grain {n}"} for n in range(first, min(first + 100, start + count))]
        found += api.post("/store/batch", {"items": some}).json()["grain_ids"]
    return found


PARTICULARS = {
    "id", "content", "provenance", "decay_class", "confidence", "origin", "authority", "status", "valid_from",
    "valid_to", "time", "session", "speaker", "tags", "pinned", "recorded_at", "ordinal", "writer", "label",
    "corroborations", "digest", "enriched",
}  # fmt: skip
BELONGINGS = {"conduits", "found_by", "recalls", "transitions", "votes", "cluster", "lineage"}


def test_it_gives_one_grain_with_its_origin_and_writer(api):
    said = {
        "content": "Rain is wet", "provenance": "user_stated", "session": "s", "speaker": "Ada", "tags": ["weather"],
        "time": "2026-03-02T09:00:00+01:00", "valid_from": "2026-03-01T00:00:00Z", "valid_to": "2027-03-01T00:00:00Z",
    }  # fmt: skip
    stored = api.post("/store", {**said, "caller_id": "desk"}).json()
    grain = api.get(f"/grains/{stored['grain_id']}").json()
    assert set(grain) == PARTICULARS | BELONGINGS
    assert grain["recorded_at"].endswith("Z") and len(grain["digest"]) == 64
    expected = {
        "id": stored["grain_id"], "content": "Rain is wet", "provenance": "user_stated", "origin": "user_stated",
        "authority": "user_stated", "status": "active", "writer": "agent:alice", "label": "desk", "corroborations": 0,
        "session": "s", "ordinal": 0, "speaker": "Ada", "tags": ["weather"], "time": "2026-03-02T08:00:00.000000Z",
        "valid_from": "2026-03-01T00:00:00.000000Z", "valid_to": "2027-03-01T00:00:00.000000Z", "pinned": False,
        "decay_class": "working", "confidence": 1.0,
    }  # fmt: skip
    assert {name: grain[name] for name in expected} == expected
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


@pytest.mark.parametrize(
    "wrong",
    [
        "0", "null", "..", "%2e%2e", "%00", "a" * 3000, "%F0%9F%A6%8A", "%ff%fe", "{%s}", "urn:uuid:%s", "%s%%00",
        "%s%%0a", "%%20%s", "%s/", "%s.json", "1 OR 1=1", "'; DROP TABLE grains_grain; --", "${jndi:ldap://x}",
    ],
)  # fmt: skip
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


@pytest.mark.parametrize(
    "limit", ["0", "201", "-1", "1.0", "1e1", " 1", "", "٣", "x", "9" * 5000, "0x10", "1_0", "\0", "+5", "²"]
)
def test_it_refuses_a_limit_that_is_no_number_from_1_to_200(api, limit):
    assert refused(api.get("/grains", limit=limit), 422, "invalid") == {"field": "limit"}


@pytest.mark.parametrize(
    "cursor",
    [
        "", "x", "A" * 10, "A" * 12, "A" * 5000, "AAAAAAAAAA=", "AAAAAAAAAA!", "AAAAAAAAAA\0", "AAAA AAAAAA", "é" * 11,
        "_" * 11, base64.urlsafe_b64encode((2**63).to_bytes(8, "big")).decode().rstrip("="), ABSENT,
        "AAAAAAAAAA+", "AAAAAAAAAA/", "-1",
    ],
)  # fmt: skip
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


# Narrowed lists ------------------------------------------------------------------------------------

TALK = [
    {"content": "When is the release?", "session": "standup", "speaker": "Ada", "time": "2026-03-02T09:00:00Z"},
    {"content": "Next Friday", "session": "standup", "speaker": "Bo", "time": "2026-03-02T09:00:20Z",
     "tags": ["release"]},
    {"content": "Ada asked about the release", "speaker": "Bo", "tags": ["release", "gossip"],
     "provenance": "external_source"},
    {"content": "Lunch?", "session": "standup at noon", "speaker": "Ada Lovelace", "time": "2026-03-02T12:00:00Z"},
    {"content": "Said by nobody in particular", "provenance": "user_stated"},
]  # fmt: skip


@pytest.fixture
def talk(api):
    """The number of each grain's line above, by its id."""
    ids = api.post("/store/batch", {"items": TALK}).json()["grain_ids"]
    return {grain: place for place, grain in enumerate(ids)}


def lines(api, talk, **query):
    answer = api.get("/grains", **query)
    assert answer.status_code == 200, answer.content
    return [talk[grain["id"]] for grain in answer.json()["grains"]]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"session": "standup"}, [1, 0]),
        ({"session": "stand"}, []),
        ({"speaker": "Ada"}, [0]),
        ({"speaker": "ada"}, []),
        ({"speaker": "Ada Lovelace"}, [3]),
        ({"speaker": "Bo"}, [2, 1]),
        ({"tag": "release"}, [2, 1]),
        ({"tag": "gossip"}, [2]),
        ({"tag": "Release"}, []),
        ({"origin": "external_source"}, [2]),
        ({"origin": "user_confirmed"}, []),
        ({"writer": "agent:alice"}, [4, 3, 2, 1, 0]),
        ({"writer": "alice"}, []),
        ({"pinned": "false"}, [4, 3, 2, 1, 0]),
        ({"pinned": "true"}, []),
        ({"until": "2026-03-02T09:00:20Z"}, [0]),
        ({"since": "2026-03-02T09:00:20Z", "until": "2026-03-02T13:00:00+01:00"}, [1]),
        ({"since": "2026-03-02T12:00:00Z", "until": "2026-03-02T12:00:00.000001Z"}, [3]),
        ({"since": "2026-03-03T00:00:00Z"}, [4, 2]),
        ({"session": "standup", "speaker": "Bo"}, [1]),
        ({"session": "standup", "tag": "gossip"}, []),
        ({"tag": "release", "speaker": "Bo", "origin": "ai_stated"}, [1]),
    ],
    ids=str,
)
def test_a_list_is_narrowed(api, talk, query, found):
    assert lines(api, talk, **query) == found


def test_what_is_pinned_is_listed_and_what_is_not(api, talk):
    first = next(iter(talk))
    Grain.objects.filter(uuid=first).update(pinned=True)
    assert lines(api, talk, pinned="true") == [0]
    assert lines(api, talk, pinned="false") == [4, 3, 2, 1]


def test_what_was_said_at_no_known_time_counts_by_when_it_was_recorded(api, talk):
    Grain.objects.filter(said_at=None).update(recorded_at="2026-03-02T10:00:00Z")
    assert lines(api, talk, since="2026-03-02T09:30:00Z", until="2026-03-02T11:00:00Z") == [4, 2]


def test_a_narrowed_list_has_one_status_too(api, talk):
    Grain.objects.filter(text="Next Friday").update(status="dormant")
    assert lines(api, talk, session="standup") == [0]
    assert lines(api, talk, session="standup", status="dormant") == [1]
    assert lines(api, talk, tag="release", status="dormant") == [1]


NARROWINGS = [{"session": "long"}, {"speaker": "Ada"}, {"tag": "odd"}, {"origin": "user_stated"}, {"pinned": "true"}]


@pytest.fixture
def odd_ones(api):
    """Every third of thirty grains is odd in every way; the rest only stands between."""
    odd = {"session": "long", "speaker": "Ada", "tags": ["odd"], "provenance": "user_stated"}
    some = [{"content": f"grain {n}", **(odd if n % 3 == 0 else {})} for n in range(30)]
    ids = api.post("/store/batch", {"items": some}).json()["grain_ids"][::3]
    Grain.objects.filter(uuid__in=ids).update(pinned=True)
    return ids[::-1]


@pytest.mark.parametrize("query", NARROWINGS, ids=str)
@pytest.mark.parametrize("limit", [1, 3, 10])
@pytest.mark.parametrize("looked_at", [1, 4, 5_000])
def test_a_walk_meets_every_match_once_however_few_rows_a_page_looks_at(
    api, odd_ones, monkeypatch, query, limit, looked_at
):
    monkeypatch.setattr(narrowing, "LOOKED_AT", looked_at)
    seen, cursor, pages = [], {}, 0
    while cursor is not None:
        body = api.get("/grains", limit=limit, **query, **cursor).json()
        assert body["count"] == len(body["grains"]) <= min(limit, looked_at)
        seen += [grain["id"] for grain in body["grains"]]
        cursor = {"cursor": body["next_cursor"]} if body["next_cursor"] else None
        pages += 1
        assert pages < 40
    assert seen == odd_ones


def test_a_page_without_a_match_says_where_to_go_on(api, odd_ones, monkeypatch):
    monkeypatch.setattr(narrowing, "LOOKED_AT", 2)
    body = api.get("/grains", origin="user_stated").json()
    assert body["grains"] == [] and body["next_cursor"] is not None


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ({"session": "long"}, "grain_session"),
        ({"speaker": "Ada"}, "VIRTUAL TABLE INDEX"),
        ({"tag": "odd"}, "VIRTUAL TABLE INDEX"),
        ({"pinned": True}, "grain_pinned"),
        ({"origin": "user_stated"}, "grain_space_status"),
    ],
)
@pytest.mark.sqlite_only
def test_the_rows_to_look_at_are_found_through_an_index_in_its_order(space, query, index):
    narrow = narrowing.checked(query)
    window, values = narrow.window(space.pk, "active", 2**63 - 1)
    plan = " ".join(_plan(window, values))
    assert index in plan and "TEMP B-TREE" not in plan, plan
    conditions, more = narrow.conditions()
    whole = select._NARROWED.format(window=window, conditions=conditions)
    steps = [step for step in _plan(whole, [*values, space.pk, "active", *more, 51]) if step.startswith("SEARCH g ")]
    assert steps and all("INTEGER PRIMARY KEY" in step for step in steps), steps


def _plan(statement, values):
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {statement}", values)
        return [row[3] for row in cursor.fetchall()]


def test_a_filter_reaches_into_no_other_space(make_token, as_agent):
    owner, stranger = as_agent(make_token("anna", space="north")), as_agent(make_token("bert", space="south"))
    owner.post("/store", {"content": "x", "session": "s", "speaker": "Ada", "tags": ["t"]})
    for query in ({"session": "s"}, {"speaker": "Ada"}, {"tag": "t"}, {"writer": "agent:anna"}, {"pinned": "false"}):
        assert owner.get("/grains", **query).json()["count"] == 1
        assert stranger.get("/grains", **query).json() == {"grains": [], "count": 0, "next_cursor": None}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *((field, value) for field in ("session", "speaker", "tag", "writer")
          for value in ("", " ", "\0", "x\u200b", "a\nb", "x" * 200)),
        *(("origin", value) for value in ("", "me", "USER_STATED", "user_stated ")),
        *(("pinned", value) for value in ("", "1", "True", "yes", "null")),
        *((field, value) for field in ("since", "until")
          for value in ("", "yesterday", "2026-03-02", "2026-03-02T09:00:00", "1899-12-31T00:00:00Z",
                        "2026-02-30T00:00:00Z")),
    ],
    ids=ascii,
)  # fmt: skip
def test_it_refuses_what_no_grain_could_have(api, field, value):
    assert refused(api.get("/grains", **{field: value}), 422, "invalid")["field"] == field


def test_a_time_that_ends_before_it_begins_is_refused(api):
    for until in ("2026-01-01T00:00:00Z", "2025-01-01T00:00:00Z"):
        refused(api.get("/grains", since="2026-01-01T00:00:00Z", until=until), 422, "invalid")


# Pin, unpin, close ---------------------------------------------------------------------------------


@pytest.fixture
def keeper(make_token, as_agent):
    return as_agent(make_token("keeper", capabilities=("grains.read", "grains.write", "grains.manage")))


def test_a_grain_is_pinned_and_let_go(keeper):
    grain = keeper.post("/store", {"content": "x"}).json()["grain_id"]
    pinned = keeper.post(f"/grains/{grain}/pin", {"reason": "it matters"})
    assert pinned.json() == {"grain_id": grain, "pinned": True, "changed": True}
    assert keeper.post(f"/grains/{grain}/pin", {}).json()["changed"] is False
    assert keeper.get(f"/grains/{grain}").json()["pinned"] is True
    assert keeper.post(f"/grains/{grain}/unpin", {}).json() == {"grain_id": grain, "pinned": False, "changed": True}


def test_a_call_whose_address_says_it_all_needs_no_body(keeper):
    grain = keeper.post("/store", {"content": "x"}).json()["grain_id"]
    for act in ("pin", "unpin", "close"):
        answer = keeper.client.generic("POST", f"/grains/{grain}/{act}", headers=keeper._headers(None), content_type="")
        assert (answer.status_code, answer.json()["changed"]) == (200, True)


def test_a_grain_is_closed_at_a_moment(keeper):
    grain = keeper.post("/store", {"content": "x"}).json()["grain_id"]
    closed = keeper.post(f"/grains/{grain}/close", {"at": "2026-03-02T10:00:00+01:00", "reason": "moved out"})
    assert closed.json() == {"grain_id": grain, "valid_to": "2026-03-02T09:00:00.000000Z", "changed": True}
    assert keeper.get(f"/grains/{grain}").json()["valid_to"] == "2026-03-02T09:00:00.000000Z"
    again = keeper.post(f"/grains/{grain}/close", {"at": "2026-03-02T09:00:00Z"})
    assert again.json()["changed"] is False
    other = refused(keeper.post(f"/grains/{grain}/close", {"at": "2026-03-02T09:00:01Z"}), 409, "conflict")
    assert other == {"valid_to": "2026-03-02T09:00:00.000000Z"}


@pytest.mark.parametrize("at", ["", "now", 5, "2026-03-02", "2026-03-02T09:00:00", "1899-12-31T00:00:00Z", {}, True])
def test_an_end_is_a_time_with_an_offset(keeper, at):
    grain = keeper.post("/store", {"content": "x"}).json()["grain_id"]
    assert refused(keeper.post(f"/grains/{grain}/close", {"at": at}), 422, "invalid")["field"] == "at"


@pytest.mark.parametrize("act", ["pin", "unpin", "close"])
def test_acts_on_what_is_no_id_are_not_found(keeper, act):
    for wrong in ("0", "null", "%00", "a" * 3000, ABSENT, ABSENT.replace("-", "")):
        refused(keeper.post(f"/grains/{wrong}/{act}", {}), 404, "not_found")


@pytest.mark.parametrize("act", ["pin", "unpin", "close"])
def test_acts_take_no_unknown_field_and_keep_their_idempotency_key(keeper, act):
    grain = keeper.post("/store", {"content": "x"}).json()["grain_id"]
    refused(keeper.post(f"/grains/{grain}/{act}", {"colour": "red"}), 422, "invalid")
    first, second = (
        keeper.post(f"/grains/{grain}/{act}", {}, headers={"Idempotency-Key": act}).json() for _ in range(2)
    )
    assert first == second
