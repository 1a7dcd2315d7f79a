"""GET /grains with filters"""

from __future__ import annotations

import pytest
from django.db import connection

from memory.grains import list_filters, select
from memory.grains.models import Grain
from tests.rest.routes import refused

TALK = [
    {"content": "When is the release?", "session": "standup", "speaker": "Ada", "time": "2026-03-02T09:00:00Z"},
    {
        "content": "Next Friday",
        "session": "standup",
        "speaker": "Bo",
        "time": "2026-03-02T09:00:20Z",
        "tags": ["release"],
    },
    {
        "content": "Ada asked about the release",
        "speaker": "Bo",
        "tags": ["release", "gossip"],
        "provenance": "external_source",
    },
    {"content": "Lunch?", "session": "standup at noon", "speaker": "Ada Lovelace", "time": "2026-03-02T12:00:00Z"},
    {"content": "Said by nobody in particular", "provenance": "user_stated"},
]


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
    monkeypatch.setattr(list_filters, "LOOKED_AT", looked_at)
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
    monkeypatch.setattr(list_filters, "LOOKED_AT", 2)
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
    narrow = list_filters.check_filters(query)
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


@pytest.mark.either_database
@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(
            (field, value)
            for field in ("session", "speaker", "tag", "writer")
            for value in ("", " ", "\0", "x\u200b", "a\nb", "x" * 200)
        ),
        *(("origin", value) for value in ("", "me", "USER_STATED", "user_stated ")),
        *(("pinned", value) for value in ("", "1", "True", "yes", "null")),
        *(
            (field, value)
            for field in ("since", "until")
            for value in (
                "",
                "yesterday",
                "2026-03-02",
                "2026-03-02T09:00:00",
                "1899-12-31T00:00:00Z",
                "2026-02-30T00:00:00Z",
            )
        ),
    ],
    ids=ascii,
)
def test_it_refuses_what_no_grain_could_have(api, field, value):
    assert refused(api.get("/grains", **{field: value}), 422, "invalid")["field"] == field


def test_a_time_that_ends_before_it_begins_is_refused(api):
    for until in ("2026-01-01T00:00:00Z", "2025-01-01T00:00:00Z"):
        refused(api.get("/grains", since="2026-01-01T00:00:00Z", until=until), 422, "invalid")
