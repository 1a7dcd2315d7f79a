"""Values of recallable keys are recalled with citations, within the caller's rights, and never when they are gone."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from fluxcore import clock
from fluxcore.work import worker
from memory.grains.models import Grain, Trace
from memory.keyvalue import expiry, expiry_clock
from memory.keyvalue.models import Item
from memory.passages import upkeep
from memory.passages.models import ValueSource
from tests.conftest import Api

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.storage]

OWN, SHARED = ("memory.read", "memory.write"), ("bb.read", "bb.write")
FERRY = "When does the ferry leave?"


@pytest.fixture
def with_recall(make_token):
    def make(*capabilities, name="alice", **more):
        return Api(
            make_token(name, capabilities=("grains.read", "grains.write", "grains.feedback", *capabilities), **more)
        )

    return make


@pytest.fixture
def alice(with_recall):
    made = with_recall(*OWN, *SHARED)
    assert made.put("/agents/alice/recallable", {}).json() == {"recallable": True, "prefixes": []}
    return made


def ask(api: Api, query: str = FERRY, **more: Any) -> list[dict[str, Any]]:
    worker.drain()
    answer = api.post("/retrieve", {"query": query, **more})
    assert answer.status_code == 200, answer.content
    grains: list[dict[str, Any]] = answer.json()["grains"]
    return grains


def write(api: Api, key: str, value: Any, place: str = "agents/alice", **more: Any) -> Any:
    answer = api.put(f"/{place}/kv/{key}", {"value": value, **more})
    assert answer.status_code == 200, answer.content
    return answer.json()


def cited(api: Api, query: str = FERRY, **more: Any) -> list[tuple[str, str, int]]:
    found = [one["citation"] for one in ask(api, query, **more) if one["kind"] == "value"]
    return [(one["place"], one["key"], one["version"]) for one in found]


def test_a_question_is_answered_from_a_value_before_and_after_a_write(alice):
    write(alice, "trips/ferry", "The ferry leaves at nine.")
    grain = ask(alice)[0]
    assert grain["content"] == "trips/ferry\nThe ferry leaves at nine."
    assert (grain["kind"], grain["status"], grain["session"]) == ("value", "active", None)
    assert grain["citation"] == {"place": "agents/alice", "key": "trips/ferry", "version": 1}
    before = clock.rfc3339(clock.now())
    write(alice, "trips/ferry", {"ferry": {"leaves": "at ten", "seats": 40, "stops": ["Aland", "Turku"], "late": None}})
    found = ask(alice)
    assert [one["content"] for one in found] == [
        "trips/ferry\nferry.leaves: at ten\nferry.stops: Aland\nferry.stops: Turku"
    ]
    assert cited(alice) == [("agents/alice", "trips/ferry", 2)]
    assert cited(alice, as_of=before) == [("agents/alice", "trips/ferry", 1)]
    assert cited(alice, kinds=["memory"]) == [] and len(cited(alice, kinds=["value"])) == 1
    assert cited(alice, tags=["agents/alice"]) and cited(alice, tags=["boards"]) == []
    # What comes back is the grain it was.
    write(alice, "trips/ferry", "The ferry leaves at nine.")
    assert [one["id"] for one in ask(alice)] == [grain["id"]] and cited(alice) == [("agents/alice", "trips/ferry", 3)]
    # Numbers alone are not indexed; a long text is split.
    write(alice, "trips/number", 17)
    write(alice, "trips/long", "\n\n".join(f"{number} " + "word and word " * 80 for number in range(5)))
    worker.drain()
    assert ValueSource.objects.filter(current=True).count() == 1 + 5


def test_only_named_prefixes_are_recalled_and_ending_removes_them(alice):
    assert alice.delete("/agents/alice/recallable").json() == {"recallable": False, "prefixes": []}
    write(alice, "notes/a", "The ferry leaves at nine.")
    write(alice, "secret/b", "The ferry leaves at ten.")
    assert cited(alice) == []
    notes = {"recallable": True, "prefixes": ["notes/"]}
    for _ in range(2):
        assert alice.put("/agents/alice/recallable", {"prefix": "notes/"}).json() == notes
    assert alice.get("/agents/alice/recallable").json() == notes
    assert cited(alice) == [("agents/alice", "notes/a", 1)]
    alice.put("/agents/alice/recallable", {"prefix": "secret/"})
    assert len(cited(alice)) == 2
    assert alice.client.delete(
        "/agents/alice/recallable", query_params={"prefix": "notes/"}, headers=alice._headers(None)
    ).json() == {"recallable": True, "prefixes": ["secret/"]}
    assert cited(alice) == [("agents/alice", "secret/b", 1)]
    alice.put("/agents/alice/recallable", {})
    refused = alice.client.delete(
        "/agents/alice/recallable", query_params={"prefix": "notes/"}, headers=alice._headers(None)
    )
    assert refused.status_code == 422 and refused.json()["code"] == "invalid"


def test_who_may_make_keys_recallable(with_recall):
    writer, part = with_recall(*OWN, *SHARED), with_recall("memory.write:notes/**", "bb.write:notes/**", name="part")
    for place in ("agents/part", "agents/alice", "boards/main"):
        assert part.put(f"/{place}/recallable", {}).status_code == 403, place
        assert part.delete(f"/{place}/recallable").status_code == 403, place
    assert writer.put("/agents/part/recallable", {}).status_code == 403
    assert writer.put("/boards/main/recallable", {}).status_code == 200
    assert writer.put("/boards/nowhere/recallable", {}).status_code == 404
    for bad in ({"prefix": ""}, {"prefix": 7}, {"prefix": "a\nb"}, {"prefix": "x" * 513}, {"other": 1}):
        answer = writer.put("/agents/alice/recallable", bad)
        assert answer.status_code == 422, (bad, answer.content)
    for number in range(50):
        assert writer.put("/agents/alice/recallable", {"prefix": f"{number}/"}).status_code == 200
    assert writer.put("/agents/alice/recallable", {"prefix": "more/"}).status_code == 422


def test_nobody_recalls_a_value_they_may_not_read(alice, with_recall):
    write(alice, "own", "The ferry leaves at nine.")
    alice.put("/boards/main/recallable", {})
    write(alice, "notes/a", "The ferry leaves at ten.", "boards/main")
    write(alice, "secret/b", "The ferry leaves at noon.", "boards/main")
    alice.post("/boards", {"board": "other"})
    alice.put("/boards/other/recallable", {})
    write(alice, "c", "The ferry leaves at night.", "boards/other")
    assert len(cited(alice)) == 4
    expected = {
        (): [],
        ("memory.read",): [],
        ("memory.read@alice",): ["own"],
        ("memory.read@*",): ["own"],
        ("bb.read",): ["c", "notes/a", "secret/b"],
        ("bb.read@other",): ["c"],
        ("bb.read:*", "memory.read@alice:*"): ["c", "notes/a", "own", "secret/b"],
        ("bb.read:notes/**",): ["notes/a"],
        ("bb.read@main:secret/*", "memory.read@alice:x/*"): ["secret/b"],
    }
    for number, (capabilities, keys) in enumerate(expected.items()):
        api = with_recall(*capabilities, name=f"agent{number}")
        assert len(cited(api, kinds=["value"])) == len(keys), capabilities
        assert sorted(key for _, key, _ in cited(api)) == keys, capabilities
        for grain in Grain.objects.all():
            source = Item.objects.get(pk=ValueSource.objects.get(grain=grain).item)
            assert api.get(f"/grains/{grain.uuid}").status_code == (200 if source.key in keys else 404)
    assert cited(with_recall(*OWN, *SHARED, name="stranger", space="office")) == []


def test_deleted_expired_and_cleared_values_are_gone_before_any_job_runs(alice, monkeypatch):
    for key in ("deleted", "expired", "kept"):
        write(alice, key, f"The ferry leaves at {key}.", **({"ttl_secs": 60} if key == "expired" else {}))
    assert len(cited(alice)) == 3
    before = clock.rfc3339(clock.now())
    alice.delete("/agents/alice/kv/deleted")
    steady = expiry_clock.steady
    monkeypatch.setattr(expiry_clock, "steady", lambda: steady() + 61)
    monkeypatch.setattr(worker, "drain", lambda: 0)  # no job runs
    for moment in ({}, {"as_of": before}):
        assert [key for _, key, _ in cited(alice, **moment)] == ["kept"], moment
    alice.delete("/agents/alice/recallable")
    assert cited(alice) == []


def test_an_expired_value_is_closed_by_the_sweep_and_erased_with_its_history(alice, monkeypatch, configure):
    write(alice, "expired", "The ferry leaves at nine.", ttl_secs=60)
    worker.drain()
    steady = expiry_clock.steady
    monkeypatch.setattr(expiry_clock, "steady", lambda: steady() + 61)
    from fluxcore.writes import booth

    booth.write(lambda: expiry.emit_expired(expiry_clock.current()))
    worker.drain()
    assert not ValueSource.objects.filter(current=True).exists() and Grain.objects.get().valid_to is not None
    upkeep.erase_removed(None)
    assert Grain.objects.exists()
    configure(KV_EXPIRY_GRACE_HOURS=0)
    booth.write(lambda: expiry.destroy(expiry_clock.current()))
    upkeep.erase_removed(None)
    assert not Grain.objects.exists() and not ValueSource.objects.exists()


def test_an_earlier_value_is_recalled_as_long_as_history_keeps_it(alice, configure):
    configure(KV_HISTORY_VERSIONS=1)
    write(alice, "ferry", "The ferry leaves at nine.")
    worker.drain()
    before = clock.rfc3339(clock.now())
    write(alice, "ferry", "The ferry leaves at ten.")
    assert cited(alice, as_of=before) == [("agents/alice", "ferry", 1)]
    write(alice, "ferry", "The ferry leaves at noon.")
    assert cited(alice, as_of=before) == []
    upkeep.erase_removed(None)
    assert sorted(Grain.objects.values_list("text", flat=True)) == [
        f"ferry\nThe ferry leaves at {time}." for time in ("noon", "ten")
    ]


def test_a_purge_leaves_nothing_of_any_version(alice):
    for time in ("nine", "xylophonic ten"):
        write(alice, "ferry", f"The ferry leaves at {time}.")
        assert cited(alice, "When does the ferry leave at xylophonic?")
    write(alice, "other", "The ferry is white.")
    worker.drain()
    answer = alice.client.delete(
        "/agents/alice/kv/ferry", query_params={"history": "forget"}, headers=alice._headers(None)
    )
    assert answer.status_code == 200, answer.content
    assert [key for _, key, _ in cited(alice)] == ["other"]
    assert [grain.text for grain in Grain.objects.all()] == ["other\nThe ferry is white."]
    assert ValueSource.objects.count() == 1
    assert not [trace for trace in Trace.objects.all() if "xylophonic" in trace.query]
    # What is written after the purge stays.
    write(alice, "ferry", "The ferry leaves at noon.")
    assert ("agents/alice", "ferry", 3) in cited(alice)


def test_a_deleted_board_takes_its_values_along(alice):
    alice.post("/boards", {"board": "scratch"})
    alice.put("/boards/scratch/recallable", {})
    write(alice, "a", "The ferry leaves at nine.", "boards/scratch")
    assert cited(alice) == [("boards/scratch", "a", 1)]
    alice.delete("/boards/scratch")
    assert cited(alice) == []
    upkeep.erase_removed(None)
    assert not Grain.objects.exists()


def test_provenance_is_never_above_the_writers(alice, with_recall):
    alice.put("/boards/main/recallable", {})
    low = with_recall(*SHARED, name="low", ceiling="external_source")
    write(low, "web", "The ferry costs nine euros.", "boards/main")

    def found(key):
        return next(
            one["provenance"] for one in ask(alice, "What does the ferry cost?") if one["citation"]["key"] == key
        )

    assert found("web") == "external_source"
    change = {"op": "append", "value": " It is white."}
    assert alice.post("/boards/main/kv/web", change).status_code == 200
    assert found("web") == "external_source"
    write(alice, "web", "The ferry costs ten euros.", "boards/main")
    assert found("web") == "ai_stated"
    assert alice.post("/boards/main/kv/web", {"op": "restore", "version": 1}).status_code == 200
    assert found("web") == "external_source"
    Item.objects.update(origin="")  # as before provenance was kept
    alice.delete("/boards/main/recallable")
    worker.drain()
    alice.put("/boards/main/recallable", {})
    assert found("web") == "unknown"
    assert ask(alice, "What does the ferry cost?", origin_floor="external_source") == []


def test_a_write_where_nothing_is_recallable_costs_no_statement(with_recall):
    api = with_recall(*OWN)
    write(api, "a", "one")

    def statements():
        with CaptureQueriesContext(
            connection,
        ) as seen:
            write(api, "a", "two")
        return [one["sql"] for one in seen]

    write(api, "a", "three")
    plain = statements()
    assert not any("passages" in sql or "recallable" in sql for sql in plain)
    api.put("/agents/alice/recallable", {"prefix": "notes/"})
    worker.drain()
    assert len(statements()) == len(plain)
    api.put("/agents/alice/recallable", {})
    worker.drain()
    assert len(statements()) > len(plain)
