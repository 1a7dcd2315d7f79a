"""Purge: gone for good, everywhere, on a person's word only, and what others taught stays as if it had never been."""

from __future__ import annotations

import json

import pytest
from django.apps import apps
from django.db import connection

from accounts.models import AuditEntry
from accounts.principals import shell
from fluxcore.models import Event, Job
from memory.arena import files
from memory.arena.cache import arena_cache
from memory.grains.lifecycle import purge as purging
from memory.grains.lifecycle import verbs
from memory.grains.lifecycle.quoted_queries import WITHHELD
from memory.grains.models import (
    Cluster,
    Conduit,
    Entry,
    Grain,
    JudgedQuestion,
    LastRecall,
    Member,
    Tombstone,
    Trace,
    TraceGrain,
    Transition,
    UsefulPair,
    Vector,
    Vote,
    VoteEffect,
)
from tests.grains.learning.test_apply import graph

SECRET = "Quillfeather hides the brooch in Zanzibar"
OTHER = "the brooch is made of silver"


def everywhere(marker: str) -> list[str]:
    """Tables of ours that hold a text, in any column."""
    found = []
    with connection.cursor() as cursor:
        for model in apps.get_models():
            table = model._meta.db_table
            cursor.execute(f"SELECT * FROM {table}")
            if any(marker.lower() in str(value).lower() for row in cursor.fetchall() for value in row):
                found.append(table)
    return found


def purge(grain: str) -> dict:
    return purging.purge(shell(), grain=grain, reason="asked to forget")


@pytest.fixture
def known(life):
    """A grain that everything hangs on: asked for, judged, linked, clustered, moved."""
    grain, other = life.memory.store(SECRET), life.memory.store(OTHER)
    life.memory.drain()
    for query in ("where does Quillfeather hide the brooch", "what is the brooch made of"):
        answer = life.memory.ask(query)
        life.memory.vote(answer["trace_id"], grain, True)
        life.memory.vote(answer["trace_id"], other, True)
        life.memory.drain()
    life.rounds("notice")
    from fluxcore import clock

    cluster = Cluster.objects.create(
        space=life.space,
        layer=0,
        name="zanzibar, brooch",
        terms=["zanzibar", "brooch"],
        made_at=clock.now(),
        changed_at=clock.now(),
    )
    Member.objects.create(space=life.space, cluster=cluster, grain_id=life.number(grain))
    verbs.archive(shell(), grain=grain, reason="aside")
    return grain


def test_after_it_no_table_holds_a_word_that_only_it_said(life, known):
    assert {"grains_grain", "grains_entry", "grains_trace", "grains_judged", "grains_cluster"} <= set(
        everywhere("zanzibar") + everywhere("quillfeather")
    )
    answer = purge(known)
    assert answer["purged"] and answer["votes"] == 2
    assert everywhere("zanzibar") == everywhere("quillfeather") == []
    assert everywhere(known) + everywhere(known.replace("-", "")), "that there was one is not forgotten"
    assert Grain.objects.get().text == OTHER
    assert Cluster.objects.get().name == "brooch"
    assert life.memory.texts("where is the brooch") == [OTHER]
    life.memory.drain()
    assert Job.objects.get(kind="grains.scrub").state == "done", "the file is rewritten"


def test_nothing_that_belonged_to_it_is_left_whatever_table_it_is_in(life, known):
    number = life.number(known)
    purge(known)
    for relation in Grain._meta.get_fields(include_hidden=True):
        if relation.auto_created and not relation.concrete:
            left = relation.related_model._base_manager.filter(**{relation.field.name: number})
            assert not left.exists(), relation.related_model
    assert not Vector.objects.filter(grain=number).exists() and not TraceGrain.objects.filter(grain=number).exists()
    assert not LastRecall.objects.filter(grain=number).exists() and not Transition.objects.exists()
    assert not UsefulPair.objects.exists()
    for entry in Entry.objects.all():
        assert Conduit.objects.filter(from_entry=entry).exists(), entry


def test_a_tombstone_a_link_of_the_chain_and_events_tell_of_it_without_a_text(life, known):
    """Weakness 19: there a tombstone could never be left."""
    purge(known)
    left = Tombstone.objects.get()
    assert (str(left.uuid), left.origin, left.votes) == (known, "ai_stated", 2)
    entry = AuditEntry.objects.get(action="grains.purge")
    assert (entry.object, entry.reason) == (known, "asked to forget")
    assert set(json.loads(entry.details)) == {"links", "votes"}
    assert Event.objects.get(kind="grain.purged").subject == known


def test_what_votes_on_it_taught_others_is_unlearned_and_the_rest_stays(life):
    grain, other = life.memory.store(SECRET), life.memory.store(OTHER)
    life.memory.drain()
    answer = life.memory.ask("what is the brooch made of")
    life.memory.vote(answer["trace_id"], other, True)
    life.memory.drain()
    number = life.number(grain)
    untouched = [row for row in graph() if number not in row[2:4]]
    second = life.memory.ask("what is the brooch made of")
    life.memory.vote(second["trace_id"], grain, False)
    life.memory.drain()
    purge(grain)
    assert graph() == untouched
    assert Vote.objects.get().grain_id == life.number(other)
    assert not VoteEffect.objects.exclude(vote__grain=life.number(other)).exists()


def test_a_question_that_quotes_it_is_withheld_and_others_are_not(life, known):
    purge(known)
    queries = sorted(Trace.objects.values_list("query", flat=True))
    assert queries == [WITHHELD, "what is the brooch made of"]
    assert sorted(JudgedQuestion.objects.values_list("query", flat=True)) == queries
    withheld = JudgedQuestion.objects.get(query=WITHHELD)
    assert (bytes(withheld.terms), withheld.data) == (b"", None)


def test_running_arenas_forget_it_and_no_file_keeps_it(life, known, monkeypatch, settings, tmp_path):
    number = life.number(known)
    life.memory.ask("where is the brooch")
    arena_cache().write(life.space.pk)
    assert files.newest_generation(life.space.pk)
    purge(known)
    assert files.newest_generation(life.space.pk) == 0
    with arena_cache().arena(life.space.pk) as (arena, _):
        row = int(arena.row_of([number])[0])
        assert row < 0 or arena.index.column("status")[row] == 5
    arena_cache().write(life.space.pk)
    arena = files.open_newest(life.space.pk, "")
    assert number not in arena.index.column("id").tolist(), "the next file is made without it"
    files.remove_generations(life.space.pk)


def test_what_a_person_marked_is_purged_after_a_day_and_until_then_can_be_undone(life):
    grain, kept = life.memory.store(SECRET), life.memory.store(OTHER)
    marked = verbs.delete(shell(), grain=grain, reason="wrong person")
    assert marked["purged_after"] == "2026-11-17T12:00:00.000000Z"
    verbs.delete(shell(), grain=kept)
    life.pass_days(0.99)
    life.rounds("purge")
    assert Grain.objects.count() == 2
    verbs.undelete(shell(), grain=kept)
    life.pass_days(0.01)
    life.rounds("purge")
    assert Grain.objects.get().text == OTHER
    assert Tombstone.objects.get().actor == "worker"
    entry = AuditEntry.objects.get(action="grains.purge")
    assert (entry.object, json.loads(entry.details)["marked_by"]) == (grain, shell().actor)
    assert everywhere("quillfeather") == []


def test_what_an_agent_marked_waits_for_a_person_however_long(life):
    grain = life.memory.store(SECRET)
    assert verbs.delete(life.keeper, grain=grain)["purged_after"] is None
    life.pass_days(365)
    life.rounds("purge")
    assert life.status(grain) == "pending_deletion"
    assert life.memory.texts("where is the brooch") == []
    purge(grain)
    assert not Grain.objects.exists()


def test_many_are_purged_page_by_page(life, monkeypatch):
    monkeypatch.setattr(purging, "PAGE", 2)
    for number in range(5):
        verbs.delete(shell(), grain=life.memory.store(f"remark {number}"))
    life.pass_days(1)
    life.rounds("purge")
    assert not Grain.objects.exists() and Tombstone.objects.count() == 5
    assert Job.objects.filter(kind="grains.purge", state="done").count() == 3


def test_a_purged_grain_is_like_one_that_never_was(life, known):
    from fluxcore.errors import NotFound
    from memory.learning import feedback

    trace = life.memory.ask("what is the brooch made of")["trace_id"]
    purge(known)
    for call in (
        lambda: verbs.restore(shell(), grain=known),
        lambda: purge(known),
        lambda: feedback.feedback(life.memory.principal, trace_id=trace, missed=[known]),
    ):
        with pytest.raises(NotFound):
            call()
    assert life.memory.store(SECRET) != known, "said again, it is a new grain"
