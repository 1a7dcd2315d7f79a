"""Lateral expansion: an answer nobody is sure of comes with what is typical of its cluster, and says of which."""

from __future__ import annotations

import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from fluxcore import clock, events
from fluxcore.writes import booth, write_locks
from memory.arena.changes import Changes
from memory.grains.models import ContextShift, Member
from memory.recall import engine_settings, explain
from tests.grains.clusters.test_touch import _cluster

pytestmark = pytest.mark.storage

TALK = [
    "Shall we plant the tomatoes?",
    "Yes, by the wall.",
    "It needs compost first.",
    "Then water it at dawn.",
    "And mulch it in June.",
    "Birds will come anyway.",
    "A net would keep them off.",
    "We have one in the shed.",
]


@pytest.fixture
def unsure(memory):
    """One conversation is a cluster; another one too."""
    for text in TALK:
        memory.store(text, session="garden")
    for number in range(8):
        memory.store(f"Ferry timetable, page {number}", session="ferry")
    memory.drain()
    _cluster(memory)
    return memory


def offered(memory, **given):
    return memory.ask("something about a shed", k=1, explain=True, **given)


def test_mates_are_offered_with_the_name_of_their_cluster(unsure, settings_of):
    settings_of(EXPANSION_CONFIDENCE_THRESHOLD=1.0, EXPANSION_MAX_CANDIDATES=6)
    answer = offered(unsure)
    named = {one["content"]: one["cluster"] for one in answer["expansion_candidates"]}
    taken = {text: name for text, name in named.items() if name}
    assert taken
    assert set(taken) <= set(TALK)
    cluster = Member.objects.get(grain__text=TALK[0]).cluster
    assert set(taken.values()) == {cluster.name}
    says = [one["says"] for one in answer["explanation"]["offered"] if one["cluster"]]
    assert says == [f"Typical of the cluster “{cluster.name}”, to which the answer belongs."] * len(taken)
    assert answer["grains"][0]["content"] not in named


def test_the_receipt_keeps_what_was_offered(unsure, settings_of):
    settings_of(EXPANSION_CONFIDENCE_THRESHOLD=1.0)
    answer = offered(unsure)
    kept = explain.explain_trace(unsure.principal, uuid.UUID(answer["trace_id"]))
    assert kept["offered"] == answer["explanation"]["offered"]
    assert {one["grain_id"] for one in kept["offered"]} <= set(kept["texts"])


def test_a_sure_answer_offers_nothing(unsure, settings_of):
    settings_of(EXPANSION_CONFIDENCE_THRESHOLD=0.0)
    answer = offered(unsure)
    assert answer["expansion_candidates"] == []
    assert answer["explanation"]["offered"] == []


def test_expansion_costs_no_statement(unsure, settings_of):
    counts = []
    for bound in (0.0, 1.0):
        settings_of(EXPANSION_CONFIDENCE_THRESHOLD=bound)
        offered(unsure)
        with CaptureQueriesContext(connection) as seen:
            answer = offered(unsure)
        counts.append(len(seen))
        assert bool(answer["expansion_candidates"]) == bool(bound)
    assert counts[0] == counts[1]


def test_bounds_hold_for_what_is_offered_too(unsure, settings_of):
    settings_of(EXPANSION_CONFIDENCE_THRESHOLD=1.0, EXPANSION_MAX_CANDIDATES=10)
    unsure.store("A shed, alone in its session.", session="elsewhere")
    answer = offered(unsure, sessions=["elsewhere"])
    assert answer["grains"]
    assert answer["expansion_candidates"] == []


def test_while_it_explores_more_is_offered_and_sooner(unsure, settings_of):
    settings_of(EXPANSION_CONFIDENCE_THRESHOLD=0.4, EXPANSION_MAX_CANDIDATES=2)
    usual, wider = engine_settings.current(), engine_settings.current(exploring=True)
    assert (wider.unsure, wider.expansion, wider.per_cluster) == (pytest.approx(0.6), 3, 3)
    assert (usual.unsure, usual.expansion) == (0.4, 2)
    settings_of(EXPANSION_CONFIDENCE_THRESHOLD=1.0, EXPANSION_MAX_CANDIDATES=2)
    assert len(offered(unsure)["expansion_candidates"]) == 2
    space = unsure.principal.space

    def begin() -> None:
        ContextShift.objects.create(space_id=space, judged=0, was=1, became=0, at=clock.now(), remaining=2)
        packed = Changes(exploring=True).pack()
        events.append("context.shifted", space=space, actor="test", subject="", packed=packed)

    booth.write(begin, lock=write_locks.lock_name(space))
    first = offered(unsure)
    assert len(first["expansion_candidates"]) == 3
    assert "related memories are offered" in first["explanation"]["says"]
    assert ContextShift.objects.get().remaining == 1
    offered(unsure)
    assert ContextShift.objects.get().remaining == 0
    assert len(offered(unsure)["expansion_candidates"]) == 2  # it is over, and the log said so
