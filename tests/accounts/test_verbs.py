"""Verbs: authorised first, written with their audit entry, once per idempotency key."""

from __future__ import annotations

import json

import pytest

from accounts import verbs
from accounts.audit import verify
from accounts.capabilities import parsed
from accounts.models import AuditEntry
from accounts.principals import Principal, shell
from accounts.verbs import selector, verb
from fluxcore.errors import Conflict, Forbidden, IdempotencyKeyReused, Invalid, OriginAboveCeiling
from fluxcore.models import Event, IdempotencyKey
from fluxcore.writes import limits
from fluxcore.writes.preconditions import Precondition

pytestmark = pytest.mark.django_db


@pytest.fixture
def made():
    """Verbs made by a test are not left in the registry."""
    before = dict(verbs.REGISTRY)
    yield
    verbs.REGISTRY.clear()
    verbs.REGISTRY.update(before)


@pytest.fixture
def agent():
    return Principal(
        kind="agent",
        name="alice",
        space=1,
        chain="a" * 32,
        ceiling="ai_stated",
        capabilities=parsed(("grains.write", "memory.read:notes/*")),
    )


def entries(**where):
    return list(AuditEntry.objects.filter(**where).order_by("id"))


@pytest.fixture
def note(made):
    """A verb that counts its runs."""
    runs = []

    @verb("test.note", needs="grains.write")
    def call(act, *, text="x", fail=None):
        runs.append("body")
        if fail == "body":
            raise Invalid

        def change():
            runs.append("change")
            if fail == "change":
                raise Invalid
            act.record("object", text=text)
            act.event("test.noted", "object", {"n": 1})
            return {"text": text, "runs": runs.count("change")}

        return change

    call.runs = runs
    return call


def test_it_answers_and_leaves_an_entry_and_an_event(note, agent):
    assert note(agent, text="y", reason="because") == {"text": "y", "runs": 1}
    (entry,) = entries()
    assert (entry.chain, entry.actor, entry.action, entry.object) == ("a" * 32, "agent:alice", "test.note", "object")
    assert (entry.outcome, entry.reason, json.loads(entry.details)) == ("done", "because", {"text": "y"})
    event = Event.objects.get()
    assert (event.space, event.actor, event.kind) == (1, "agent:alice", "test.noted")


def test_who_may_not_is_refused_before_anything_else_happens(note, agent):
    nobody = Principal(kind="agent", name="bob", space=1, chain="a" * 32, capabilities=parsed(()), ceiling="ai_stated")
    with pytest.raises(Forbidden) as refusal:
        note(nobody, idempotency_key="not even checked \n")
    assert refusal.value.details["missing"] == "grains.write"
    assert note.runs == []
    (entry,) = entries()
    assert (entry.actor, entry.action, entry.outcome) == ("agent:bob", "test.note", "refused")
    assert json.loads(entry.details) == {"missing": "grains.write"}


def test_a_target_narrows_what_is_asked_for(made, agent):
    @verb("test.read", needs="memory.read", target=lambda arguments: arguments["key"])
    def call(act, *, key):
        return lambda: key

    assert call(agent, key="notes/a") == "notes/a"
    with pytest.raises(Forbidden):
        call(agent, key="secrets/a")
    assert [entry.object for entry in entries(outcome="refused")] == ["secrets/a"]


@pytest.mark.parametrize("target", ["a\nb", "a\0b", "half \ud800", "\x1b[31mred", "x" * 5000])
def test_a_hostile_target_is_refused_and_recorded_like_any_other(made, agent, target):
    @verb("test.read", needs="memory.read", target=lambda arguments: arguments["key"])
    def call(act, *, key):
        return lambda: key

    with pytest.raises(Forbidden):
        call(agent, key=target)
    (entry,) = entries()
    assert entry.object.isprintable()
    assert len(entry.object) <= 200
    assert verify("a" * 32).sound


def test_a_verb_that_records_nothing_is_recorded_anyway(made, agent):
    @verb("test.quiet", needs="grains.write")
    def call(act):
        return lambda: "done"

    call(agent, reason="why")
    (entry,) = entries()
    assert (entry.action, entry.object, entry.outcome, entry.reason) == ("test.quiet", "", "done", "why")


@pytest.mark.parametrize("where", ["body", "change"])
def test_what_fails_leaves_nothing(note, agent, where):
    with pytest.raises(Invalid):
        note(agent, fail=where, idempotency_key="k")
    assert entries() == []
    assert not Event.objects.exists()
    assert not IdempotencyKey.objects.exists()


def test_a_refusal_found_only_in_the_body_is_on_the_chain_too(made, agent):
    @verb("test.claim", needs="grains.write")
    def call(act):
        raise OriginAboveCeiling(ceiling="ai_stated")

    with pytest.raises(OriginAboveCeiling):
        call(agent)
    (entry,) = entries()
    assert (entry.outcome, entry.action) == ("refused", "test.claim")
    assert json.loads(entry.details) == {"code": "origin_above_ceiling", "ceiling": "ai_stated"}


def test_the_same_key_answers_the_same_and_runs_once(note, agent):
    first = note(agent, text="y", idempotency_key="k")
    again = [note(agent, text="y", idempotency_key="k") for _ in range(3)]
    assert again == [first] * 3
    assert note.runs == ["body", "change"]
    assert len(entries()) == Event.objects.count() == 1


def test_the_same_key_for_something_else_is_a_conflict(note, made, agent):
    note(agent, text="y", idempotency_key="k")
    with pytest.raises(IdempotencyKeyReused):
        note(agent, text="z", idempotency_key="k")
    with pytest.raises(IdempotencyKeyReused):
        note(agent, text="y", idempotency_key="k", precondition=Precondition(expected_version=3))

    @verb("test.other", needs="grains.write")
    def other(act, *, text):
        return lambda: text

    with pytest.raises(IdempotencyKeyReused):
        other(agent, text="y", idempotency_key="k")


def test_a_key_is_the_agents_own(note, agent):
    from dataclasses import replace

    note(agent, idempotency_key="k")
    note(replace(agent, name="bob"), idempotency_key="k")
    note(replace(agent, chain="b" * 32), idempotency_key="k")
    assert note.runs.count("change") == 3


def test_a_label_is_shown_and_is_not_the_caller(note, agent):
    note(agent.labelled("night shift"), idempotency_key="k")
    note(agent.labelled("day shift"), idempotency_key="k")
    (entry,) = entries()
    assert (entry.actor, json.loads(entry.details)["label"]) == ("agent:alice", "night shift")


@pytest.mark.parametrize("key", ["", "x" * 129, "a\nb", "ü"])
def test_a_bad_key_is_refused(note, agent, key):
    with pytest.raises(Invalid):
        note(agent, idempotency_key=key)
    assert note.runs == []


@pytest.mark.parametrize("reason", ["x" * 501, 7, None, ["because"]])
def test_a_bad_reason_is_refused(note, agent, reason):
    with pytest.raises(Invalid):
        note(agent, reason=reason)
    assert entries() == []


@pytest.mark.parametrize("reason", ["two\nlines", "a\0b", "half \ud800", "\x1b]0;title\x07", "\u2028", "x" * 500])
def test_any_reason_is_kept_as_one_readable_line(note, agent, reason):
    note(agent, reason=reason)
    (entry,) = entries()
    assert entry.reason.isprintable()
    assert len(entry.reason) <= 500
    assert verify("a" * 32).sound


def test_verbs_that_call_verbs_share_one_fate(note, made, agent):
    @verb("test.twice", needs="grains.write")
    def twice(act, *, fail=False):
        def change():
            note(act.principal, text="one")
            if fail:
                raise Conflict
            act.record("outer")
            return note(act.principal, text="two")

        return change

    with pytest.raises(Conflict):
        twice(agent, fail=True)
    assert entries() == []
    twice(agent)
    assert [entry.action for entry in entries()] == ["test.note", "test.twice", "test.note"]
    assert verify("a" * 32).entries == 3


def test_tickets_of_failed_and_repeated_writes_are_given_back(made, agent, monkeypatch):
    given = []
    monkeypatch.setattr(limits.Ticket, "give_back", lambda ticket: given.append(ticket.cost))

    @verb("test.limited", needs="grains.write")
    def call(act, *, cost, fail=False):
        ticket = limits.ask("k", cost=cost, limit=100)
        act.tickets.append(ticket)

        def change():
            ticket.take()
            if fail:
                raise Invalid
            return "ok"

        return change

    call(agent, cost=1)
    assert given == []
    with pytest.raises(Invalid):
        call(agent, cost=2, fail=True)
    assert given == [2]
    call(agent, cost=3, idempotency_key="k")
    assert given == [2]


def test_a_repeated_write_is_answered_even_when_the_limit_is_reached(api):
    from fluxcore import config
    from fluxcore.models import LimitWindow

    first = api.post("/store", {"content": "x"}, headers={"Idempotency-Key": "k"})
    assert first.status_code == 200, first.content
    window = LimitWindow.objects.get()
    second = next(iter(window.counts))
    LimitWindow.objects.update(counts={second: config.Config().MAX_GRAINS_PER_MINUTE})
    assert api.post("/store", {"content": "y"}).status_code == 429
    again = api.post("/store", {"content": "x"}, headers={"Idempotency-Key": "k"})
    assert (again.status_code, again.json()) == (200, first.json())


def test_a_selector_is_authorised_and_writes_nothing(made, agent):
    @selector("test.look", needs="grains.write")
    def look(principal, *, at):
        return at

    @selector("test.peek", needs="grains.read")
    def peek(principal):
        raise AssertionError

    assert look(agent, at="x") == "x"
    assert entries() == []
    with pytest.raises(Forbidden):
        peek(agent)
    assert [entry.outcome for entry in entries()] == ["refused"]
    with pytest.raises(TypeError):
        look("alice", at="x")


def test_every_verb_needs_an_operation_somebody_could_hold():
    from accounts.authorise import FOR_EVERY_AGENT
    from accounts.capabilities import NEVER_FOR_AGENTS, OPERATIONS

    assert verbs.REGISTRY
    assert set(verbs.REGISTRY.values()) <= OPERATIONS | NEVER_FOR_AGENTS | FOR_EVERY_AGENT


def test_the_shell_acts_under_its_own_name(note):
    note(shell())
    (entry,) = entries()
    assert entry.chain == "instance"
    assert entry.actor.startswith("shell:")


def test_refusals_of_one_agent_do_not_fill_the_chain_without_end(as_agent, make_token, monkeypatch):
    from accounts.audit import chain

    monkeypatch.setattr(chain, "MAX_REFUSALS_PER_MINUTE", 3)
    reader = as_agent(make_token("reader", capabilities=("grains.read",)))
    statuses = [reader.post("/store", {"content": "no"}).status_code for _ in range(5)]
    assert statuses == [403, 403, 403, 429, 429]
    assert AuditEntry.objects.filter(actor="agent:reader", outcome="refused").count() == 3
