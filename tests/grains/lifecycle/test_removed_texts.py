"""Gone is gone: what a person deleted or quarantined does not come back by storing the same text again."""

from __future__ import annotations

import importlib
import json

import pytest
from django.apps import apps

from accounts.models import AuditEntry
from accounts.principals import shell
from fluxcore.errors import Forbidden, IdempotencyKeyReused
from fluxcore.models import Event, IdempotencyKey
from fluxcore.writes import booth
from memory.extraction import extract
from memory.grains import store
from memory.grains.import_export import write_batch
from memory.grains.lifecycle import purge as purging
from memory.grains.lifecycle import transitions, verbs
from memory.grains.models import Grain, Removal, Transition
from tests.grains.conftest import Memory
from tests.grains.lifecycle.test_purge import everywhere
from tests.grains.lifecycle.test_verbs import person

TEXT = "the password of the cellar door is marzipan"
QUESTION = "what is the password of the cellar door"
REMOVE = {"quarantined": verbs.quarantine, "pending_deletion": verbs.delete}
UNDO = {"quarantined": verbs.release, "pending_deletion": verbs.undelete}
BOTH = pytest.mark.parametrize("status", list(REMOVE))


def stored(life, content=TEXT, who=None, **given):
    return store.store(who or life.memory.principal, content=content, **given)


@BOTH
def test_the_same_text_again_is_stored_with_the_same_status_and_the_answer_says_so(life, status):
    first = life.memory.store(TEXT)
    owner = person(life.space)
    REMOVE[status](owner, grain=first, reason="not true")
    other = Memory(agent="mallory")
    again = [
        stored(life),
        stored(life, session="another"),
        stored(life, who=other.principal, session="theirs"),
        stored(life, content=f"  {TEXT.replace(' ', '   ')}", session="spaced"),
        stored(life, provenance="external_source"),
        store.store_batch(life.memory.principal, items=[{"content": TEXT, "session": "batch"}])["results"][0],
        extract.extract(life.memory.principal, content=TEXT, session="extracted"),
        stored(life, who=life.keeper, session="kept"),
    ]
    assert [one["status"] for one in again] == [status] * len(again)
    assert all("A person" in one["reason"] and "not recalled" in one["reason"] for one in again)
    assert again[0]["grain_id"] == first
    assert {row.status for row in Grain.objects.all()} == {status}
    assert life.memory.texts(QUESTION) == []
    life.memory.drain()
    assert life.memory.texts(QUESTION) == []
    # The person is told: by the decision's own row, by an event, by the chain, in the history of each grain.
    told = Removal.objects.get()
    assert (told.actor, told.repeats, told.repeated_by) == (owner.actor, len(again), "agent:keeper")
    assert Event.objects.filter(kind="grain.blocked", data__status=status).count() == len(again)
    entries = AuditEntry.objects.filter(action__startswith="grains.store", actor="agent:mallory")
    assert json.loads(entries.get().details)["status"] == status
    steps = Transition.objects.filter(grain=life.number(again[1]["grain_id"]))
    assert [(one.before, one.after, one.actor) for one in steps] == [("active", status, owner.actor)]


@BOTH
def test_no_agent_takes_it_back_and_a_person_ends_it_for_every_grain_of_the_text(life, status):
    first = life.memory.store(TEXT)
    there = life.memory.store(TEXT, session="before")
    answer = REMOVE[status](shell(), grain=first)
    assert (answer["same_text"], life.status(there)) == (1, status), "what is there already follows"
    later = stored(life, session="later")["grain_id"]
    for grain in (first, there, later):
        with pytest.raises(Forbidden):
            UNDO[status](life.keeper, grain=grain)
    assert UNDO[status](shell(), grain=later)["same_text"] == 1, "what a person removed by hand stays until they say so"
    assert [life.status(grain) for grain in (first, there, later)] == [status, "active", "active"]
    assert not Removal.objects.exists()
    assert stored(life, session="free")["status"] == "stored"
    assert UNDO[status](shell(), grain=first)["status"] == "active"
    assert life.memory.texts(QUESTION) == [TEXT]


@BOTH
def test_only_a_higher_authority_brings_it_back(life, status):
    removed = life.memory.store(TEXT)
    user = life.memory.store("the boat is green", provenance="user_stated")
    for grain in (removed, user):
        REMOVE[status](shell(), grain=grain)
    assert stored(life, provenance="user_stated")["status"] == "stored"
    assert life.memory.texts(QUESTION) == [TEXT]
    assert stored(life, session="weaker")["status"] == status, "the decision about the lower ones is not over"
    for weak in ("user_stated", "ai_stated", "ai_inferred", "external_source"):
        answer = stored(life, content="the boat is green", provenance=weak, session="again")
        assert answer["status"] == status, weak


def test_what_an_agent_or_a_rule_decided_is_no_decision_of_a_person(life):
    deleted, hidden = life.memory.store(TEXT), life.memory.store("the boat is green")
    verbs.delete(life.keeper, grain=deleted)
    verbs.quarantine(life.keeper, grain=hidden)
    assert not Removal.objects.exists()
    assert stored(life)["status"] == "corroborated" and life.status(deleted) == "active"
    answer = stored(life, content="the boat is green")
    assert (answer["status"], answer["grain_id"]) == ("quarantined", hidden), "and it is not answered as findable"
    assert "A person" not in answer["reason"]
    assert stored(life, content="the boat is green", session="other")["status"] == "stored"


def test_an_agents_own_mark_does_not_outlive_a_persons_quarantine(life):
    marked, other = life.memory.store(TEXT, session="a"), life.memory.store(TEXT, session="b")
    verbs.delete(life.keeper, grain=marked)
    verbs.quarantine(shell(), grain=other)
    assert life.status(marked) == "pending_deletion"
    with pytest.raises(Forbidden):
        verbs.undelete(life.keeper, grain=marked)
    assert stored(life, session="a")["status"] == "quarantined", "said again, it is kept and still not recalled"
    with pytest.raises(Forbidden):
        verbs.release(life.keeper, grain=marked)


def test_what_a_rule_quarantined_is_a_persons_decision_once_they_decide_about_the_text(life):
    """Otherwise the rule would archive it after a while, and it would be found again."""
    by_rule, other = life.memory.store(TEXT, session="a"), life.memory.store(TEXT, session="b")
    row = Grain.objects.get(uuid=by_rule)
    step = transitions.PlannedTransition(row.pk, row.uuid, "active", "quarantined", "not useful")
    booth.write(lambda: transitions.apply_transitions(life.space.pk, [step], actor=transitions.WORKER))
    verbs.quarantine(shell(), grain=other)
    life.pass_days(400)
    life.rounds("age")
    assert [life.status(grain) for grain in (by_rule, other)] == ["quarantined", "quarantined"]
    assert life.memory.texts(QUESTION) == []


def test_a_decision_holds_in_its_own_space_only(life):
    verbs.delete(shell(), grain=life.memory.store(TEXT))
    assert stored(life, who=Memory(space="elsewhere").principal)["status"] == "stored"


def test_quarantined_then_deleted_then_undone_is_quarantined_again_with_its_copies(life):
    first, copy = life.memory.store(TEXT), life.memory.store(TEXT, session="copy")
    for verb in (verbs.quarantine, verbs.delete, verbs.undelete):
        verb(shell(), grain=first)
    assert [life.status(grain) for grain in (first, copy)] == ["quarantined", "quarantined"]
    verbs.release(shell(), grain=first)
    assert [life.status(grain) for grain in (first, copy)] == ["active", "active"]


def test_an_import_brings_nothing_back_that_a_person_removed(life):
    gone = life.memory.store(TEXT)
    verbs.quarantine(shell(), grain=gone)
    who = shell(life.space)
    items = [
        {"content": TEXT, "provenance": "ai_stated", "session": "file"},
        {"content": TEXT, "provenance": "ai_stated"},
        {"content": TEXT, "provenance": "user_stated"},
        {"content": "the boat is green"},
    ]
    foreseen = write_batch.preview_items(life.space.pk, *write_batch.check_items(items, ceiling=who.ceiling))
    taken = write_batch.import_grains(who, items=items, source="file")
    expected = ["refused", "there", "stored", "stored"]
    assert [one["status"] for one in taken] == [one["status"] for one in foreseen] == expected
    assert taken[0]["error"]["code"] == "conflict" and "A person removed" in taken[0]["error"]["message"]


def test_copies_are_purged_together_and_no_digest_is_left(life):
    """After that the text is like one that never was: it can be stored again."""
    first = life.memory.store(TEXT, idempotency_key="first")
    digest, asked = Grain.objects.get().digest, IdempotencyKey.objects.get().request
    verbs.delete(shell(), grain=first)
    life.pass_days(0.99)
    stored(life, session="shortly before")
    assert everywhere(digest)
    life.pass_days(0.01)
    life.rounds("purge")
    assert not Grain.objects.exists() and not Removal.objects.exists()
    assert everywhere(digest) == everywhere(asked) == everywhere("marzipan") == []
    with pytest.raises(IdempotencyKeyReused):  # a late retry does not store it again
        life.memory.store(TEXT, idempotency_key="first")
    assert stored(life)["status"] == "stored"


def test_a_purge_of_one_grain_keeps_the_decision_while_another_of_the_text_is_removed(life):
    first, copy = life.memory.store(TEXT), life.memory.store(TEXT, session="copy")
    verbs.quarantine(shell(), grain=first)
    purging.purge(shell(), grain=first, reason="forget it")
    assert stored(life, session="new")["status"] == "quarantined"
    for grain in [copy, *(str(row.uuid) for row in Grain.objects.exclude(uuid=copy))]:
        purging.purge(shell(), grain=grain, reason="forget it")
    assert not Removal.objects.exists()


def test_an_upgrade_finds_the_decisions_people_made_before(life):
    """The migration reads them from the history of grains; what an agent or a rule decided is none."""
    texts = ("one", "two", "three", "four")
    first, second, third, fourth = (life.memory.store(f"the {name} boats are green") for name in texts)
    verbs.delete(person(life.space), grain=first)
    verbs.quarantine(shell(), grain=second)
    verbs.quarantine(life.keeper, grain=third)
    verbs.quarantine(shell(), grain=fourth)
    verbs.release(shell(), grain=fourth)
    names = ("space_id", "digest", "status", "authority", "actor", "at", "lived")
    made = list(Removal.objects.order_by("digest").values_list(*names))
    assert len(made) == 2
    Removal.objects.all().delete()
    importlib.import_module("memory.grains.migrations.0011_removed_texts").fill(apps, None)
    assert list(Removal.objects.order_by("digest").values_list(*names)) == made
