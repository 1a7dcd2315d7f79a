"""Traces: one for every recall, readable by whoever asked, small, kept for a while."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from accounts import agents, tokens
from accounts.principals import shell
from fluxcore import clock, config
from fluxcore.errors import NotFound
from fluxcore.models import Event
from fluxcore.writes import booth
from memory.engine.ranking.answer import MOST_MATCHED
from memory.grains.models import Grain, Relation, Trace
from memory.grains.sizes import MAX_K, MAX_NAME, MAX_TAG, MAX_VALUES
from memory.recall import explain, trace_budget, trace_retention, traces
from tests.concurrency.conftest import close_connection_after_commit
from tests.grains.conftest import Memory
from tests.instances import Instance

pytestmark = pytest.mark.storage


def in_a_thread(call: Callable[..., Any], *args: Any, **given: Any) -> Any:
    try:
        return call(*args, **given)
    finally:
        connection.close()


def why(memory: Memory, answer: dict[str, object]) -> dict[str, object]:
    return explain.explain_trace(memory.principal, uuid.UUID(str(answer["trace_id"])))


def test_a_trace_says_who_asked_what_and_which_words_answered(memory: Memory) -> None:
    memory.store("The ferry to Naxos leaves at nine")
    found = why(memory, memory.ask("When does the ferry leave?", k=3, tags=[]))
    assert (found["query"], found["asked_by"], found["k"]) == ("When does the ferry leave?", "agent:alice", 3)
    (grain,) = found["grains"]  # type: ignore[misc]
    assert {"ferri", "leav"} <= {word["term"] for word in grain["words"]}
    assert all(word["part"] > 0 for word in grain["words"])
    assert "shared words" in grain["says"]
    assert found["texts"] == {grain["grain_id"]: "The ferry to Naxos leaves at nine"}


def test_the_parts_of_a_score_are_named_and_speak_for_the_grain(memory: Memory) -> None:
    memory.store("The ferry to Naxos leaves at nine")
    memory.store("Bread is baked at six")
    memory.drain()
    best = why(memory, memory.ask("ferry to Naxos"))["grains"][0]  # type: ignore[index]
    parts = {part["name"]: part["part"] for part in best["parts"]}
    assert parts["words"] > 0
    assert all(part["called"] for part in best["parts"])


def test_the_way_through_conduits_can_be_drawn_again(memory: Memory) -> None:
    question = memory.store("What do you do for a living, Maria?", session="talk", speaker="Tom")
    answer = memory.store("I restore old clocks", session="talk", speaker="Maria")
    found = why(memory, memory.ask("What does Maria do for a living?"))
    walked = {grain["grain_id"]: grain["path"] for grain in found["grains"]}  # type: ignore[union-attr]
    step = walked[answer][-1]
    assert (step["from_grain"], step["to_grain"], step["relation"]) == (question, answer, Relation.NEXT)
    assert 0 < step["weight"] <= 1
    assert step["signal"] > 0


def test_an_answer_can_carry_its_explanation(memory: Memory) -> None:
    memory.store("The ferry to Naxos leaves at nine")
    assert "explanation" not in memory.ask("ferry")
    assert "(ferries)" in memory.ask("Ferries?", explain=True)["explanation"]["grains"][0]["says"].lower()


@pytest.mark.either_database
def test_a_typical_trace_has_two_kilobytes_at_most(memory: Memory) -> None:
    for number in range(40):
        memory.store(f"Meeting {number} with Maria Lopez about the harbour plan in Lisbon", session=f"s{number % 4}")
    memory.drain()
    memory.ask("What was decided about the harbour plan with Maria Lopez?")
    assert len(Trace.objects.get().body) <= 2_048


def test_a_page_as_a_question_has_a_trace_of_its_strongest_words(memory: Memory) -> None:
    """Every word of it with every grain would be megabytes, kept for each recall."""
    page = " ".join(f"harbour{number}" for number in range(300))
    memory.store(page)
    memory.store("harbour7 is closed")
    grains: Any = why(memory, memory.ask(page))["grains"]
    assert [len(grain["words"]) for grain in grains] == [MOST_MATCHED, 2]
    parts = [word["part"] for word in grains[0]["words"]]
    assert parts == sorted(parts, reverse=True)


_ASK = """
from accounts.models import Space
from accounts.principals import shell
from memory.recall import recall
recall.recall(shell(Space.objects.get(name="home")), query="asked at the very end")
"""


@pytest.mark.either_database
@pytest.mark.sqlite_only
def test_a_process_that_ends_by_itself_keeps_its_last_ones(made: Callable[..., Instance]) -> None:
    one = made(FLUX_BOOTH="thread")
    one.command("flux_space", "create", "home")
    one.command("shell", "-v", "0", "-c", _ASK)
    count = "from memory.grains.models import Trace; print(Trace.objects.get().query)"
    assert one.command("shell", "-v", "0", "-c", count).stdout.strip() == "asked at the very end"


def test_other_agents_do_not_read_it_unless_they_manage_the_grains(memory: Memory) -> None:
    answer, bob = memory.ask("my private question"), Memory(agent="bob")
    with pytest.raises(NotFound):
        why(bob, answer)
    capabilities = ["grains.read", "grains.manage"]
    agents.apply_agent(shell(), space="home", name="chief", capabilities=capabilities, trust="privileged")
    chief = tokens.authenticate(str(tokens.mint(shell(), space="home", agent="chief")["token"]))
    assert chief is not None
    assert explain.explain_trace(chief, uuid.UUID(answer["trace_id"]))["query"] == "my private question"
    with pytest.raises(NotFound):
        why(Memory("elsewhere"), answer)


def test_a_text_that_is_to_be_deleted_is_not_shown_by_an_old_trace(memory: Memory) -> None:
    grain = memory.store("The ferry to Naxos leaves at nine")
    answer = memory.ask("ferry")
    Grain.objects.filter(uuid=grain).update(status="pending_deletion")
    assert why(memory, answer)["texts"] == {}


def test_old_traces_go_and_of_very_many_only_the_newest_stay(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        memory.ask(f"question {number}")
    ages = {
        "question 0": timedelta(days=31),
        "question 1": timedelta(hours=2),
        "question 2": timedelta(hours=2),
        "question 3": timedelta(minutes=30),
        "question 4": timedelta(minutes=5),
        "question 5": timedelta(0),
    }
    for query, age in ages.items():
        Trace.objects.filter(query=query).update(at=clock.now() - age)
    assert booth.write(trace_retention.delete_expired) == 1
    few = config.Config(TRACE_RETENTION_COUNT=2)
    monkeypatch.setattr(config, "current", lambda: few)
    assert booth.write(trace_retention.delete_expired) == 2
    left = set(Trace.objects.values_list("query", flat=True))
    assert left == {"question 3", "question 4", "question 5"}  # the last hour stays whatever the number


def news() -> list[Event]:
    return list(Event.objects.filter(kind="grains.recalled").order_by("id"))


def test_a_recall_is_news_and_its_question_is_not(memory: Memory) -> None:
    memory.store("The ferry to Naxos leaves at nine")
    answer = memory.ask("swordfish ferry")
    (told,) = news()
    (found,) = told.data["recalls"]
    kept = Trace.objects.get()
    assert found == {
        "trace": answer["trace_id"],
        "actor": "agent:alice",
        "confidence": pytest.approx(kept.confidence, abs=1e-4),
        "hops": kept.hop_count,
        "fallback": answer["fallback_triggered"],
        "grains": 1,
        "rung": answer["rung"],
    }
    assert (told.space, told.actor, told.subject) == (memory.principal.space, "agent:alice", answer["trace_id"])
    assert told.packed is None
    assert "swordfish" not in str(told.data)


def test_recalls_kept_together_are_one_event_for_each_space(memory: Memory) -> None:
    asked = [memory.ask(query)["trace_id"] for query in ("one", "two")]
    asked += [Memory(agent="bob").ask("three")["trace_id"], Memory("elsewhere").ask("four")["trace_id"]]
    records = [*traces.load_traces([uuid.UUID(one) for one in asked]).values()]
    records.sort(key=lambda one: asked.index(str(one.id)))
    Event.objects.all().delete()
    Trace.objects.all().delete()
    booth.write(lambda: traces._insert(records, [traces._to_row(one) for one in records]))
    here, there = news()
    assert [one["trace"] for one in here.data["recalls"]] == asked[:3]
    assert [one["actor"] for one in here.data["recalls"]] == ["agent:alice", "agent:alice", "agent:bob"]
    assert (here.actor, here.subject) == ("", "")
    assert [one["trace"] for one in there.data["recalls"]] == asked[3:]
    assert here.space != there.space == Trace.objects.get(query="four").space_id


def test_news_of_recalls_go_with_the_traces_they_lead_to(memory: Memory) -> None:
    memory.store("A change stays in the log")
    for number in range(3):
        memory.ask(f"question {number}")
    for query, days in (("question 0", 40), ("question 1", 31)):
        moment = clock.now() - timedelta(days=days)
        Trace.objects.filter(query=query).update(at=moment)
        Event.objects.filter(subject=str(Trace.objects.get(query=query).uuid)).update(at=moment)
    Event.objects.exclude(kind="grains.recalled").update(at=clock.now() - timedelta(days=50))
    others = Event.objects.exclude(kind="grains.recalled").count()
    assert booth.write(trace_retention.delete_expired) == 2
    assert [told.subject for told in news()] == [str(Trace.objects.get().uuid)]
    assert Event.objects.exclude(kind="grains.recalled").count() == others
    Trace.objects.update(at=clock.now() - timedelta(days=31))
    Event.objects.update(at=clock.now() - timedelta(days=31))
    booth.write(trace_retention.delete_expired)
    assert news() == []


def test_what_is_said_about_an_answer_finds_its_trace_kept(memory, settings):
    """Or the worker might apply a vote before it can see which way the answer came."""
    memory.store("Mia moved to Lisbon in 2021")
    memory.drain()
    answer = memory.ask("Where did Mia move?")
    kept = Trace.objects.get(uuid=answer["trace_id"])
    trace = traces.load_traces([kept.uuid])[kept.uuid]
    Trace.objects.all().delete()
    with traces._lock:
        traces._queue[trace.id] = trace
    memory.vote(answer["trace_id"], answer["grains"][0]["id"], useful=True)
    assert Trace.objects.filter(uuid=trace.id).exists() and not traces._queue


def test_a_trace_that_is_on_its_way_is_waited_for(memory: Memory, settings: Any) -> None:
    """However long the database takes: who was given an answer may speak about it."""
    memory.store("Mia moved to Lisbon in 2021")
    memory.drain()
    settings.BOOTH = "thread"
    opened, busy = threading.Event(), threading.Event()
    booth.post(lambda: (busy.set(), opened.wait(60)))
    assert busy.wait(10)
    answer = memory.ask("Where did Mia move?")
    while traces._queue:  # until it is handed over, and cannot be committed
        time.sleep(0.01)
    with ThreadPoolExecutor(1) as pool:
        voted = pool.submit(in_a_thread, memory.vote, answer["trace_id"], answer["grains"][0]["id"], useful=True)
        with pytest.raises(TimeoutError):
            voted.result(timeout=4 * traces.BEHIND_SECONDS)
        opened.set()
        assert voted.result(timeout=60)["status"] == "recorded"
    assert Trace.objects.filter(uuid=answer["trace_id"]).exists() and not traces._in_flight
    booth.write(close_connection_after_commit)


def test_beyond_its_agents_hourly_bytes_a_trace_keeps_ids_and_scores(memory: Memory, configure: Any) -> None:
    grain = memory.store("The ferry to Naxos leaves at nine")
    memory.drain()
    whole = why(memory, memory.ask("When does the ferry leave?"))
    assert whole["reduced"] is False
    configure(MAX_TRACE_BYTES_PER_HOUR=0)
    answer = memory.ask("When does the ferry leave?" + " again" * 100, explain=True)
    assert answer["explanation"]["grains"][0]["parts"]  # the answer itself is whole
    traces.flush()
    kept = why(memory, answer)
    assert kept["reduced"] is True and "Only ids and scores" in str(kept["says"])
    assert [(one["grain_id"], one["score"]) for one in kept["grains"]] == [  # type: ignore[attr-defined]
        (grain, answer["grains"][0]["score"])
    ]
    assert (kept["features"], kept["weights"], kept["grains"][0]["parts"]) == ([], {}, [])  # type: ignore[index]
    assert len(str(kept["query"])) == 200
    row = Trace.objects.get(uuid=answer["trace_id"])
    assert len(row.body) < 400
    memory.vote(answer["trace_id"], grain, True)
    memory.drain()


@pytest.mark.either_database
def test_a_reduced_trace_is_small_whatever_was_asked_for(memory: Memory, configure: Any) -> None:
    for number in range(2 * MAX_K):
        memory.store(f"Harbour plan of {chr(ord('a') + number // 10) * 3}{chr(ord('k') + number % 10) * 3}")
    memory.drain()
    configure(MAX_TRACE_BYTES_PER_HOUR=0)
    tags = ["\U0001f98a" * MAX_TAG] * MAX_VALUES
    sessions = ["\U0001f98a" * MAX_NAME] * MAX_VALUES
    since, until = "2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z"
    query = "harbour plan " + "\U0001f98a" * 1_000
    narrow = memory.ask(query, k=MAX_K, tags=tags, sessions=sessions, since=since, until=until)
    wide = memory.ask(query, k=MAX_K, since=since, until=until)
    assert len(wide["grains"]) == MAX_K
    for answer in (narrow, wide):
        row = Trace.objects.get(uuid=answer["trace_id"])
        assert len(row.query.encode()) + len(row.body.encode()) <= 8_192
        assert set(why(memory, answer)["bounds"]) == {"since", "until"}  # type: ignore[call-overload]


def test_the_bytes_of_a_trace_are_those_of_utf_8(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    monkeypatch.setattr(trace_budget, "spend_bytes", lambda space, actor, size: counted.append(size) or True)
    memory.ask("\U0001f98a" * 900, tags=["\U0001f98a" * MAX_TAG])
    row = Trace.objects.get()
    assert counted == [len(row.query.encode()) + len(row.body.encode())]


def test_bytes_of_traces_are_counted_by_agent_and_hour(configure: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_budget, "_spent", {})
    configure(MAX_TRACE_BYTES_PER_HOUR=1000)
    assert [trace_budget.spend_bytes(1, "agent:a", 400) for _ in range(3)] == [True, True, False]
    assert trace_budget.spend_bytes(1, "agent:a", 200)  # what did not fit was not counted
    assert trace_budget.spend_bytes(2, "agent:a", 400) and trace_budget.spend_bytes(1, "agent:b", 400)
    monkeypatch.setattr(trace_budget, "HOUR", 0.0)
    assert trace_budget.spend_bytes(1, "agent:a", 400)
