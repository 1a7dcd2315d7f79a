"""Verbs on a grain's life: each with a way back, a reason, a line of history, an event and a link of the chain."""

from __future__ import annotations

import json

import pytest

from accounts.models import AuditEntry, Space
from accounts.principals import Principal, shell
from accounts.roles import ALLOWS
from accounts.verbs import RunningCall
from fluxcore.errors import Conflict, Forbidden, Invalid, NotFound, StepUpRequired
from fluxcore.models import Event
from memory.grains.lifecycle import purge as purging
from memory.grains.lifecycle import verbs
from memory.grains.models import Conduit, Grain, Tombstone, Transition
from memory.grains.pin import pin
from memory.grains.validity import close
from tests.grains.lifecycle.conftest import PLAIN


def person(space: Space, role: str = "owner", *, fresh: bool = True) -> Principal:
    assert role in ALLOWS
    return Principal(
        kind="user",
        name="olga",
        space=space.pk,
        chain=space.uuid.hex,
        capabilities=shell().capabilities,
        ceiling="user_stated",
        role=role,
        fresh=fresh,
    )


@pytest.mark.parametrize(
    ("there", "back", "between"),
    [
        (verbs.archive, verbs.restore, "archived"),
        (verbs.quarantine, verbs.release, "quarantined"),
        (verbs.delete, verbs.undelete, "pending_deletion"),
    ],
)
def test_there_and_back(life, there, back, between):
    grain = life.memory.store(PLAIN)
    gone = there(life.keeper, grain=grain, reason="in the way")
    assert (gone["before"], gone["status"], gone["changed"]) == ("active", between, True)
    assert life.status(grain) == between
    assert not there(life.keeper, grain=grain)["changed"], "the same again changes nothing"
    assert back(life.keeper, grain=grain)["status"] == life.status(grain) == "active"
    steps = [(one.before, one.after, one.why, one.actor, one.reason) for one in Transition.objects.order_by("id")]
    assert steps == [
        ("active", between, "by hand", "agent:keeper", "in the way"),
        (between, "active", "by hand", "agent:keeper", ""),
    ]
    kinds = Event.objects.filter(subject=grain).order_by("id").values_list("kind", flat=True)
    assert list(kinds) == ["grain.stored", f"grain.{between}", "grain.revived"]
    entry = AuditEntry.objects.get(action=f"grains.{there.__name__ if False else _name(there)}", reason="in the way")
    assert (entry.object, json.loads(entry.details)["to"]) == (grain, between)


def _name(verb) -> str:
    return {verbs.archive: "archive", verbs.quarantine: "quarantine", verbs.delete: "delete"}[verb]


def test_a_deletion_taken_back_leaves_the_grain_where_it_was(life):
    grain = life.memory.store(PLAIN)
    verbs.archive(shell(), grain=grain)
    verbs.delete(shell(), grain=grain)
    assert verbs.undelete(shell(), grain=grain)["status"] == life.status(grain) == "archived"


def test_what_does_not_fit_is_a_conflict(life):
    grain = life.memory.store(PLAIN)
    verbs.quarantine(shell(), grain=grain)
    with pytest.raises(Conflict, match="only possible for memories that are active or dormant"):
        verbs.archive(shell(), grain=grain)
    with pytest.raises(Conflict):
        verbs.restore(shell(), grain=grain)
    for nonsense in ("", "x", None, 7):
        with pytest.raises(Invalid):
            verbs.archive(shell(), grain=nonsense)
    with pytest.raises(NotFound):
        verbs.archive(shell(), grain="0b2f6c0e-8f0c-4d7c-9f0f-3c1f7c2f9d11")


def test_promotion_takes_along_what_leads_to_the_grain_and_demotion_brings_it_back(life):
    grain = life.memory.store("Zoe plays the cello in Basel")
    assert set(Conduit.objects.values_list("decay_class", flat=True)) == {0}
    found = verbs.promote(life.keeper, grain=grain)
    assert (found["before"], found["decay_class"], found["status"]) == ("working", "core", "active")
    assert Grain.objects.get().decay_class == 1
    assert set(Conduit.objects.values_list("decay_class", flat=True)) == {1}
    verbs.demote(life.keeper, grain=grain)
    assert set(Conduit.objects.values_list("decay_class", flat=True)) == {0}
    kinds = set(Event.objects.filter(subject=grain).values_list("kind", flat=True))
    assert {"grain.promoted", "grain.demoted"} <= kinds


def test_the_next_answer_knows(life):
    grain, other = life.memory.store("the kettle whistles"), life.memory.store("the kettle is red")
    assert len(life.memory.texts("kettle")) == 2
    verbs.quarantine(shell(), grain=grain)
    assert life.memory.texts("kettle") == ["the kettle is red"]
    verbs.delete(shell(), grain=other)
    assert life.memory.texts("kettle") == []
    verbs.release(shell(), grain=grain)
    assert life.memory.texts("kettle") == ["the kettle whistles"]
    verbs.archive(shell(), grain=grain)
    assert life.memory.texts("kettle") == ["the kettle whistles"], "last tier, and still found"


def test_what_a_person_decided_an_agent_does_not_take_back(life):
    grain = life.memory.store(PLAIN)
    verbs.delete(person(life.space), grain=grain)
    with pytest.raises(Forbidden, match="A person decided this"):
        verbs.undelete(life.keeper, grain=grain)
    verbs.undelete(person(life.space), grain=grain)
    verbs.quarantine(person(life.space), grain=grain)
    with pytest.raises(Forbidden):
        verbs.release(life.keeper, grain=grain)
    verbs.release(shell(), grain=grain)
    verbs.delete(life.keeper, grain=grain)
    assert verbs.undelete(life.keeper, grain=grain)["changed"], "its own word it may take back"


def test_no_token_purges(life):
    grain = life.memory.store(PLAIN)
    with pytest.raises(Forbidden):
        purging.purge(life.keeper, grain=grain, reason="now")
    assert Grain.objects.count() == 1
    assert AuditEntry.objects.filter(action="grains.purge", outcome="refused").count() == 1


def test_a_person_needs_the_role_a_fresh_code_and_a_reason(life):
    grain = life.memory.store(PLAIN)
    with pytest.raises(Forbidden):
        purging.purge(person(life.space, "operator"), grain=grain, reason="now")
    with pytest.raises(StepUpRequired):
        purging.purge(person(life.space, fresh=False), grain=grain, reason="now")
    with pytest.raises(Invalid, match="reason is required"):
        purging.purge(person(life.space), grain=grain, reason=" ")
    assert purging.purge(person(life.space), grain=grain, reason="asked to forget")["purged"]
    assert not Grain.objects.exists() and Tombstone.objects.get().actor == "user:olga"


def test_a_text_said_again_comes_back_and_its_history_says_why(life):
    grain = life.memory.store(PLAIN)
    verbs.archive(shell(), grain=grain)
    assert life.memory.store(PLAIN) == grain
    assert life.status(grain) == "active"
    last = Transition.objects.latest("id")
    assert (last.before, last.after, last.why, last.actor) == ("archived", "active", "said again", "agent:alice")


@pytest.mark.either_database
@pytest.mark.parametrize("verb", [verbs.archive, pin, close, purging.purge])
def test_the_shell_takes_its_turn_among_the_writers_of_the_grains_space(life, verb):
    """On PostgreSQL those of other lanes would write beside them, and a grain may go while something is tied to it."""
    grain = life.memory.store(PLAIN)
    call = RunningCall(shell(), "any", reason="trial")
    verb.__wrapped__(call, grain=grain)
    assert call.space == life.space.pk
