"""Transcripts: messages in order, whatever they hold; removal with undo; search."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fluxcore import clock
from fluxcore.models import Event
from memory.artifacts import upkeep
from memory.artifacts.models import Message, Store
from tests.rest.routes import refused

pytestmark = [pytest.mark.django_db, pytest.mark.storage]

TOOL_CALL = {
    "role": "assistant",
    "content": [{"type": "text", "text": "Looking it up."}, {"type": "image", "data": "AAAA"}],
    "tool_calls": [{"id": "c1", "function": {"name": "find_birds", "arguments": '{"place": "Köln"}'}}],
    "attachments": [{"path": "birds.csv"}],
}


def say(api, *texts, **more):
    messages = [{"role": "user", "content": text} for text in texts]
    return api.post("/stores/notes/messages", {"messages": messages, **more})


def said(api, **query):
    page = api.get("/stores/notes/messages", **query).json()
    return [one["message"].get("content") for one in page["messages"]]


def test_messages_come_back_as_they_were(alice):
    answer = alice.post("/stores/notes/messages", {"messages": [TOOL_CALL, {"role": "tool", "content": "12.50"}]})
    assert answer.json() == {"seqs": [1, 2], "count": 2, "total": 2}
    page = alice.get("/stores/notes/messages").json()
    assert page["messages"][0]["message"] == TOOL_CALL
    assert [(one["seq"], one["role"], one["by"]) for one in page["messages"]] == [
        (1, "assistant", "agent:alice"),
        (2, "tool", "agent:alice"),
    ]


def test_session_speaker_and_time(alice):
    alice.post(
        "/stores/notes/messages",
        {
            "messages": [
                {"role": "user", "name": "Ada", "content": "x", "timestamp": "2026-03-01T10:00:00+01:00"},
                {"role": "user", "content": "y", "created_at": 1_700_000_000},
            ],
            "session": "monday",
            "speaker": "Bob",
        },
    )
    first, second = alice.get("/stores/notes/messages", session="monday").json()["messages"]
    assert (first["speaker"], first["said_at"], first["session"]) == ("Ada", "2026-03-01T09:00:00.000000Z", "monday")
    assert (second["speaker"], second["said_at"]) == ("Bob", "2023-11-14T22:13:20.000000Z")
    assert alice.get("/stores/notes/messages", session="tuesday").json()["count"] == 0


def test_reading_by_number_and_in_windows(alice):
    say(alice, *"abcdef")
    assert said(alice, limit=2) == ["e", "f"]
    assert said(alice, before=3) == ["a", "b"]
    page = alice.get("/stores/notes/messages", after=0, limit=4).json()
    assert page["next_after"] == 4 and page["total"] == 6
    assert said(alice, after=4) == ["e", "f"]
    assert alice.get("/stores/notes/messages", after=4).json()["next_after"] is None


def test_removed_messages_come_back_at_their_places(alice, configure):
    say(alice, "a", "b", "c")
    popped = alice.post("/stores/notes/messages/pop", {"count": 2}).json()
    assert [one["message"]["content"] for one in popped["messages"]] == ["b", "c"] and popped["total"] == 1
    say(alice, "d")
    assert said(alice) == ["a", "d"]
    restored = alice.post("/stores/notes/messages/restore", {"removal": popped["removal"]}).json()
    assert restored == {"count": 2, "total": 4}
    assert said(alice) == ["a", "b", "c", "d"]
    cleared = alice.post("/stores/notes/messages/clear", {}).json()
    assert (cleared["count"], cleared["total"], said(alice)) == (4, 0, [])
    assert say(alice, "e").json()["seqs"] == [5]
    configure(STORE_UNDELETE_DAYS=1)
    Message.objects.exclude(removal="").update(removed_at=clock.now() - timedelta(days=2))
    upkeep.sweep(None)
    refused(alice.post("/stores/notes/messages/restore", {"removal": cleared["removal"]}), 404, "not_found")
    store = Store.objects.get()
    assert (store.messages, store.message_bytes) == (1, Message.objects.get().size)


def test_events_name_the_store_by_its_id(alice):
    alice.post("/stores/notes/messages", {"messages": [{"role": "user", "content": "hello"}]})
    alice.post("/stores/notes/messages/pop", {})
    alice.write("a.md", "x")
    alice.client.delete("/stores/notes/files/a.md", headers=alice._headers(None))
    store = str(Store.objects.get().uuid)
    found = Event.objects.filter(subject=f"stores/{store}").order_by("id")
    kinds = ["store.created", "messages.appended", "messages.removed", "file.written", "file.deleted"]
    assert [event.kind for event in found] == kinds and {event.data["store"] for event in found} == {store}


def test_search_looks_into_parts_and_tool_calls(alice):
    alice.post("/stores/notes/messages", {"messages": [TOOL_CALL]})
    say(alice, "Straße", "100% sure_")
    for query, count in (
        ("KÖLN", 1),
        ("find_birds", 1),
        ("looking", 1),
        ("STRASSE", 1),
        ("100%", 1),
        ("e_", 1),
        ("%%", 0),
    ):
        assert alice.get("/stores/notes/messages", query=query).json()["count"] == count, query


def test_a_repeated_append_is_one(alice):
    key = {"Idempotency-Key": "turn-1"}
    body = {"messages": [{"role": "user", "content": "once"}]}
    first = alice.post("/stores/notes/messages", body, headers=key).json()
    assert alice.post("/stores/notes/messages", body, headers=key).json() == first
    assert said(alice) == ["once"]


def test_transcripts_take_capabilities_of_their_own(alice, with_stores):
    say(alice, "secret")
    reader = with_stores("artifacts.read", name="reader")
    assert refused(reader.get("/stores/notes/messages"), 403, "forbidden")["missing"] == "transcript.read"
    scoped = with_stores("transcript.read:notes", name="scoped")
    assert said(scoped) == ["secret"]
    assert refused(say(scoped, "x"), 403, "forbidden")


def test_who_may_only_write_a_transcript_never_reads_it(alice, with_stores):
    """Removing and restoring messages tells their numbers and nothing they say."""
    say(alice, "secret one", "secret two")
    writer = with_stores("transcript.write:notes", name="writer")
    assert refused(writer.get("/stores/notes/messages"), 403, "forbidden")["missing"] == "transcript.read"
    for given in ({"count": 1000}, {"seqs": [1, 2]}):
        answer = writer.post("/stores/notes/messages/pop", given)
        popped = answer.json()
        assert (popped["seqs"], popped["messages"], popped["count"], popped["total"]) == ([1, 2], [], 2, 0)
        assert b"secret" not in answer.content
        restored = writer.post("/stores/notes/messages/restore", {"removal": popped["removal"]})
        assert restored.json() == {"count": 2, "total": 2}
    assert b"secret" not in writer.post("/stores/notes/messages/clear", {}).content
    both = with_stores("transcript.write:notes", "transcript.read:notes", name="both")
    say(alice, "secret three")
    popped = both.post("/stores/notes/messages/pop", {}).json()
    assert (popped["seqs"], popped["messages"][0]["message"]["content"]) == ([3], "secret three")


def test_the_log_of_the_store_has_changes_of_the_transcript(alice, with_stores):
    """With the label of the writer, and without what the messages say."""
    say(alice, "a", "b", actor="planner", reason="turn 1")
    removal = alice.post("/stores/notes/messages/pop", {"actor": "editor"}).json()["removal"]
    alice.post("/stores/notes/messages/restore", {"removal": removal, "actor": "undoer", "reason": "too early"})
    alice.post("/stores/notes/messages/clear", {"actor": "cleaner"})
    alice.post("/stores/notes/messages/clear", {})
    refused(say(with_stores("transcript.read", name="reader"), "x", actor="nobody"), 403, "forbidden")
    log = alice.tail()
    assert {(event["path"], event["version"], event["old_sha"], event["new_sha"]) for event in log} == {
        ("messages.json", 0, "", "")
    }
    assert [(event["op"], event["actor"], event["outcome"], event["reason"]) for event in log] == [
        ("append_messages", "planner", "done", "turn 1"),
        ("pop_messages", "editor", "done", ""),
        ("restore_messages", "undoer", "done", "too early"),
        ("clear_messages", "cleaner", "done", ""),
        ("clear_messages", "agent:alice", "noop", ""),
        ("append_messages", "nobody", "forbidden", ""),
    ]
    assert {event["principal"] for event in log[:5]} == {"agent:alice"}
    alice.post("/stores", {"key": "silent", "audit": False})
    alice.post("/stores/silent/messages", {"messages": [{"role": "user"}], "actor": "planner"})
    assert alice.tail("silent") == []
    assert alice.get("/stores/silent/messages").json()["messages"][0]["actor"] == "planner"


def test_too_large_messages_are_refused_whole(alice):
    assert refused(say(alice, "small", "x" * 300_000), 413, "too_large")["limit"] == 256 * 1024
    assert not Message.objects.exists()


def test_messages_are_removed_by_their_numbers(alice):
    say(alice, *"abcd")
    removed = alice.post("/stores/notes/messages/pop", {"seqs": [3, 1, 99]}).json()
    assert [one["message"]["content"] for one in removed["messages"]] == ["a", "c"]
    assert (removed["count"], removed["total"]) == (2, 2) and said(alice) == ["b", "d"]
    assert alice.post("/stores/notes/messages/pop", {"seqs": [1]}).json()["count"] == 0
    alice.post("/stores/notes/messages/restore", {"removal": removed["removal"]})
    assert said(alice) == ["a", "b", "c", "d"]
    for wrong in ({"seqs": [1], "count": 1}, {"seqs": []}, {"seqs": [-1]}, {"seqs": "1"}):
        refused(alice.post("/stores/notes/messages/pop", wrong), 422, "invalid")
