"""Every message is recalled with its own speaker and time, whatever order jobs run in, and none after its removal."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fluxcore import clock
from fluxcore.models import Job
from fluxcore.work import worker
from memory.artifacts.models import FileChange, Message, Store
from memory.grains.models import Grain
from memory.passages import message_indexing, upkeep
from memory.passages.models import GrainSource, IndexedTranscript
from tests.passages.conftest import HeldJob, ask, ask_now, say

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.storage]

INDEX = "passages.index_messages"
FERRY = "Who pays for the ferry?"


def indexed() -> list[int]:
    return sorted(GrainSource.objects.filter(file=None, current=True).values_list("message", flat=True))


def recalled(api, query, **more):
    return sorted(grain["citation"]["message"] for grain in ask(api, query, **more)["grains"])


def test_messages_beyond_one_job_are_indexed_though_others_come_meanwhile(alice, monkeypatch):
    monkeypatch.setattr(message_indexing, "MESSAGES", 3)
    say(alice, *(f"Line {number} of the ferry." for number in range(7)))
    held = HeldJob(INDEX)
    say(alice, "Line 7 of the ferry.")
    held.finish()
    worker.drain()
    assert indexed() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert Grain.objects.filter(status="message").count() == 8


def test_messages_of_a_failed_job_are_indexed_by_the_next(alice):
    say(alice, "The ferry is white.")
    held = HeldJob(INDEX)
    say(alice, "The ferry is red.")
    held.fail()
    assert Job.objects.filter(kind=INDEX, state="done").count() == 1, "the newer job replaces it"
    worker.drain()
    assert indexed() == [1, 2]
    # A job that was given up too.
    say(alice, "The ferry is blue.")
    held = HeldJob(INDEX)
    Job.objects.filter(pk=held.run.job).update(state="parked")
    say(alice, "The ferry is green.")
    worker.drain()
    assert indexed() == [1, 2, 3, 4]


def test_messages_without_words_do_not_hold_up_the_others(alice, monkeypatch):
    monkeypatch.setattr(message_indexing, "MESSAGES", 2)
    say(alice, "", "", "", "The ferry is white.")
    worker.drain()
    assert indexed() == [4]


def test_a_message_popped_while_a_job_reads_it_stays_away(alice):
    say(alice, "The ferry is white.", "The ferry is red.")
    held = HeldJob(INDEX)
    alice.post("/stores/notes/messages/pop", {})
    worker.drain()  # the job of the removal, before the held one writes
    held.finish()
    worker.drain()
    assert indexed() == [1] and recalled(alice, "What colour is the ferry?") == [1]


def test_a_message_restored_while_a_job_reads_is_indexed(alice):
    say(alice, "The ferry is white.", "The ferry is red.")
    worker.drain()
    removal = alice.post("/stores/notes/messages/pop", {"count": 2}).json()["removal"]
    worker.drain()
    say(alice, "The ferry is blue.")
    held = HeldJob(INDEX)
    alice.post("/stores/notes/messages/restore", {"removal": removal})
    held.finish()
    worker.drain()
    assert indexed() == [1, 2, 3]
    assert GrainSource.objects.count() == 3, "the grains they had are theirs again"


def test_two_jobs_that_read_the_same_message_index_it_once(alice):
    say(alice, "The ferry is white.")
    first = HeldJob(INDEX)
    alice.post("/stores/notes/messages/pop", {})
    removal = Message.objects.values_list("removal", flat=True).get()
    alice.post("/stores/notes/messages/restore", {"removal": removal})
    second = HeldJob(INDEX)
    second.finish()
    first.finish()
    worker.drain()
    listed = alice.client.get("/stores/notes/passages?message=1", headers=alice._headers(None)).json()
    assert [one["content"] for one in listed["passages"]] == ["The ferry is white."]


def test_a_store_deleted_or_closed_while_a_job_reads_leaves_no_open_grain(alice):
    for key, change in (("deleted", {"deleted_at": clock.now()}), ("closed", {"recallable": False})):
        alice.post("/stores", {"key": key, "recallable": True})
        say(alice, "The ferry is white.", store=key)
        alice.write("ferry.md", "The ferry is red.", key)
        jobs = [HeldJob(INDEX), HeldJob("passages.index_file")]
        Store.objects.filter(key=key).update(**change)
        for one in jobs:
            one.finish()
    assert not Grain.objects.filter(valid_to=None).exists()


def test_two_speakers_with_the_same_words_are_two_results(alice):
    say(alice, "I will pay for the ferry.", name="Ada")
    say(alice, "I will pay for the ferry.", name="Bob")
    found = ask(alice, FERRY)["grains"]
    assert sorted((one["speaker"], one["citation"]["message"]) for one in found) == [("Ada", 1), ("Bob", 2)]


def test_the_same_words_said_again_are_one_result_with_the_time_of_its_message(alice):
    days = {1: "2026-03-01T00:00:00Z", 2: "2026-04-01T00:00:00Z", 3: "2026-05-01T00:00:00Z"}
    for at in days.values():
        say(alice, "I will pay for the ferry.", name="Ada", timestamp=at)
    (one,) = ask(alice, FERRY)["grains"]
    assert one["said"] == 3 and len(one["same"]) == 2
    assert one["time"].startswith(days[one["citation"]["message"]][:10])
    (april,) = ask(alice, FERRY, since=days[2], until=days[3])["grains"]
    assert april["citation"]["message"] == 2 and april["time"].startswith("2026-04-01")
    alice.post("/stores/notes/messages/pop", {"seqs": [2]})
    assert ask(alice, FERRY, since=days[2], until=days[3])["grains"] == []
    (left,) = ask(alice, FERRY)["grains"]
    assert left["said"] == 2


def test_removed_messages_and_a_deleted_store_are_gone_before_any_job_runs(alice):
    say(alice, "The ferry is white.", "The ferry is red.")
    assert recalled(alice, "What colour is the ferry?") == [1, 2]
    before, grain = clock.rfc3339(clock.now()), Grain.objects.get(text__contains="red")
    alice.post("/stores/notes/messages/pop", {})
    for moment in ({}, {"as_of": before}):
        found = ask_now(alice, "What colour is the ferry?", **moment)["grains"]
        assert [one["citation"]["message"] for one in found] == [1], moment
    assert alice.get(f"/grains/{grain.uuid}").status_code == 404
    listed = alice.client.get("/stores/notes/passages?message=2", headers=alice._headers(None)).json()
    assert listed["passages"] == []
    alice.delete("/stores/notes")
    for moment in ({}, {"as_of": before}):
        assert ask_now(alice, "What colour is the ferry?", **moment)["grains"] == []


def test_removed_messages_are_erased_when_they_can_come_back_no_more(alice, configure):
    configure(STORE_UNDELETE_DAYS=1)
    say(alice, "The ferry is white.", "The ferry is red.")
    worker.drain()
    alice.post("/stores/notes/messages/pop", {})
    worker.drain()
    upkeep.erase_removed(None)
    assert Grain.objects.count() == 2
    Message.objects.exclude(removal="").update(removed_at=clock.now() - timedelta(days=2))
    upkeep.erase_removed(None)
    assert list(Grain.objects.values_list("text", flat=True)) == ["The ferry is white."]
    alice.delete("/stores/notes")
    Store.objects.update(deleted_at=clock.now() - timedelta(days=2))
    upkeep.erase_removed(None)
    assert not Grain.objects.exists() and not GrainSource.objects.exists()
    Message.objects.all().delete()
    FileChange.objects.all().delete()
    Store.objects.all().delete()
    upkeep.erase_removed(None)
    assert not IndexedTranscript.objects.exists()
