"""Grants: never above trust level, parent or giver, and without effect as soon as they end."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from accounts import agents, audit, grants, roles, tokens
from accounts.models import AuditEntry, Grant, User
from accounts.principals import shell
from fluxcore import clock
from fluxcore.errors import AboveTrust, Conflict, Forbidden, Invalid, NotFound, StepUpRequired
from fluxcore.models import Event

pytestmark = pytest.mark.storage
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


def give(capability="grains.read", agent="alice", principal=None, **more):
    return grants.give(principal or shell(), space="home", agent=agent, capability=capability, **more)


def holds(token):
    return tokens.authenticate(token).capabilities.texts


@pytest.fixture
def person(space):
    def make(role, *, fresh=True, name="ada"):
        user, _ = User.objects.get_or_create(username=name)
        return roles.person_principal(user, fresh=fresh, space=space, role=role)

    return make


def entries(action):
    return list(AuditEntry.objects.filter(action=action).order_by("id"))


# Given and taken back ------------------------------------------------------------------------------


def test_it_holds_for_the_next_request_and_not_after_it_was_taken_back(make_token, as_agent):
    api = as_agent(make_token(capabilities=("grains.write",)))
    assert api.get("/grains").status_code == 403
    made = give()
    assert api.get("/grains").status_code == 200
    assert api.post("/store", {"content": "its own right stays"}).status_code == 200
    ended = grants.revoke(shell(), grant=made["id"])
    assert api.get("/grains").status_code == 403
    assert ended["revoked_at"] is not None
    assert ended["revoked_by"] == shell().actor


def test_a_scope_narrows_it(make_token):
    token = make_token(capabilities=())
    give("memory.write:notes/*")
    held = tokens.authenticate(token).capabilities
    assert held.allow("memory.write", "notes/a")
    assert not held.allow("memory.write", "plans/a")
    assert not held.allow("memory.write")


def test_it_ends_exactly_when_it_says_without_anybody_doing_anything(make_token):
    with time_machine.travel(NOON, tick=False) as moved:
        token = make_token(capabilities=())
        give(expires_at="2026-11-16T14:00:00+01:00")
        moved.shift(timedelta(minutes=59, seconds=59))
        assert holds(token) == ("grains.read",)
        moved.shift(1)
        assert holds(token) == ()
        assert Grant.objects.get().revoked_at is None


@pytest.mark.parametrize("fraction", [0, 1, 500_000])
def test_the_end_is_compared_to_the_microsecond(make_token, fraction):
    """Whole seconds are stored as a shorter text on SQLite."""
    end = NOON + timedelta(hours=1, microseconds=fraction)
    with time_machine.travel(NOON, tick=False) as moved:
        token = make_token(capabilities=())
        give(expires_at=clock.rfc3339(end))
        moved.move_to(end - timedelta(microseconds=1), tick=False)
        assert holds(token) == ("grains.read",)
        moved.move_to(end, tick=False)
        assert holds(token) == ()


def test_without_an_end_it_holds_until_it_is_taken_back(make_token):
    with time_machine.travel(NOON, tick=False) as moved:
        token = make_token(capabilities=())
        assert give()["expires_at"] is None
        moved.shift(timedelta(days=3650))
        assert holds(token) == ("grains.read",)


def test_grants_add_up_with_each_other_and_with_the_agents_own(make_token, django_assert_num_queries):
    token = make_token(capabilities=("grains.write",))
    for capability in ("grains.read", "memory.read:a", "memory.read:b"):
        give(capability)
    tokens.authenticate(token)
    with django_assert_num_queries(1):
        assert holds(token) == ("grains.read", "grains.write", "memory.read:a", "memory.read:b")


def test_one_agents_grant_is_nobody_elses(make_token):
    alice, bob = make_token(capabilities=()), make_token("bob", capabilities=())
    namesake = make_token(space="elsewhere", capabilities=())
    give()
    assert [holds(token) for token in (alice, bob, namesake)] == [("grains.read",), (), ()]


def test_a_grant_is_taken_back_once(make_token):
    make_token(capabilities=())
    made = give()
    grants.revoke(shell(), grant=made["id"])
    with pytest.raises(Conflict):
        grants.revoke(shell(), grant=made["id"])
    assert len(entries(grants.REVOKED)) == 1


def test_a_grant_that_has_run_out_cannot_be_taken_back(make_token):
    with time_machine.travel(NOON, tick=False) as moved:
        make_token(capabilities=())
        made = give(expires_at="2026-11-16T13:00:00Z")
        moved.shift(timedelta(hours=2))
        with pytest.raises(Conflict):
            grants.revoke(shell(), grant=made["id"])


def test_the_same_is_given_once_so_that_taking_it_back_takes_it_all(make_token):
    token = make_token(capabilities=())
    made = give()
    with pytest.raises(Conflict) as refusal:
        give(expires_at="2090-01-01T00:00:00Z")
    assert refusal.value.details["grant"] == made["id"]
    grants.revoke(shell(), grant=made["id"])
    assert holds(token) == ()
    give()
    assert holds(token) == ("grains.read",)


def test_there_is_a_largest_number_of_open_ones(make_token, monkeypatch):
    make_token(capabilities=())
    monkeypatch.setattr(grants, "MAX_OPEN", 2)
    give("memory.read:a")
    last = give("memory.read:b")
    with pytest.raises(Conflict, match="the maximum of"):
        give("memory.read:c")
    grants.revoke(shell(), grant=last["id"])
    give("memory.read:c")


# Never above ---------------------------------------------------------------------------------------


def test_it_is_refused_above_the_agents_trust(make_token):
    token = make_token(capabilities=(), trust="sandboxed")
    with pytest.raises(AboveTrust) as refusal:
        give("grains.write")
    assert refusal.value.details == {"capability": "grains.write", "trust": "sandboxed", "needed": "trusted"}
    assert not Grant.objects.exists()
    assert holds(token) == ()
    (entry,) = entries("grants.give")
    assert entry.outcome == "refused"


def test_an_operator_cannot_give_what_only_an_owner_may(person, make_token):
    make_token(capabilities=())
    with pytest.raises(Forbidden, match="do not have yourself"):
        give("graph.export", principal=person("operator"))
    assert not Grant.objects.exists()
    give("grains.write", principal=person("operator"))
    give("graph.export", principal=person("owner"))


def test_a_viewer_gives_nothing(person, make_token):
    make_token(capabilities=())
    with pytest.raises(Forbidden):
        give("grains.read", principal=person("viewer"))
    with pytest.raises(Forbidden):
        grants.revoke(person("viewer"), grant=give()["id"])


def test_a_person_gives_a_fresh_code_for_it(person, make_token):
    make_token(capabilities=())
    with pytest.raises(StepUpRequired):
        give(principal=person("owner", fresh=False))
    assert not Grant.objects.exists()


def test_an_agent_gives_nothing_not_even_to_itself(make_token):
    principal = tokens.authenticate(make_token(capabilities=("grains.read",)))
    with pytest.raises(Forbidden):
        give("grains.write", principal=principal)
    assert not Grant.objects.exists()


def test_another_spaces_agents_and_grants_are_not_there(person, make_token):
    make_token(space="elsewhere", capabilities=())
    made = grants.give(shell(), space="elsewhere", agent="alice", capability="grains.read")
    with pytest.raises(NotFound):
        grants.give(person("owner"), space="elsewhere", agent="alice", capability="grains.read")
    with pytest.raises(NotFound):
        grants.revoke(person("owner"), grant=made["id"])
    assert Grant.objects.get().revoked_at is None


@pytest.mark.either_database
@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"capability": "purge"}, "capabilities"),
        ({"capability": "grains.fly"}, "capabilities"),
        ({"capability": "grains.read:x"}, "capabilities"),
        ({"capability": ""}, "capabilities"),
        ({"capability": None}, "capabilities"),
        ({"capability": ["grains.read"]}, "capabilities"),
        ({"capability": "memory.read:"}, "pattern"),
        ({"capability": "memory.read:***"}, "pattern"),
        ({"capability": "memory.read:a\\"}, "pattern"),
        ({"capability": "memory.read:a\0b"}, "pattern"),
        ({"capability": "memory.read:a\nb"}, "capability"),
        ({"capability": "memory.read:\x1b[31mred"}, "capability"),
        ({"capability": "memory.read:\u202etxt"}, "capability"),
        ({"capability": "memory.read:\ud800"}, "capability"),
        ({"capability": "memory.read:" + "a" * 501}, "capability"),
        ({"capability": "memory.read:" + "a" * 600}, "capabilities"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        ({"expires_at": "2090-01-01T00:00:00"}, "expires_at"),
        ({"expires_at": "tomorrow"}, "expires_at"),
        ({"expires_at": ""}, "expires_at"),
        ({"expires_at": "9999-99-99T00:00:00Z"}, "expires_at"),
    ],
)
def test_bad_input_is_named(make_token, arguments, field):
    make_token(capabilities=())
    with pytest.raises(Invalid) as refusal:
        give(**{"capability": "grains.read", **arguments})
    assert refusal.value.details["field"] == field
    assert not Grant.objects.exists()


@pytest.mark.parametrize("number", ["", "x", "0" * 32 + "1", "'; --", "\0", "é" * 36])
def test_an_id_that_is_none_is_named(db, number):
    for call in (
        lambda: grants.revoke(shell(), grant=number),
        lambda: grants.accept(shell(), request=number),
        lambda: grants.decline(shell(), request=number),
    ):
        with pytest.raises(Invalid):
            call()


def test_an_id_nobody_has_is_not_found(db):
    number = "00000000-0000-4000-8000-000000000000"
    with pytest.raises(NotFound):
        grants.revoke(shell(), grant=number)
    with pytest.raises(NotFound):
        grants.accept(shell(), request=number)


# The end of an agent -------------------------------------------------------------------------------


def test_stopping_an_agent_takes_its_grants_back_in_the_same_commit(make_token):
    token = make_token(capabilities=("grains.write",))
    give()
    give("memory.read:a", expires_at="2090-01-01T00:00:00Z")
    stopped = agents.switch_agent(shell(), space="home", name="alice", active=False, reason="gone mad")
    assert stopped["grants_revoked"] == 2
    assert not Grant.objects.filter(revoked_at=None).exists()
    agents.switch_agent(shell(), space="home", name="alice", active=True)
    assert holds(token) == ("grains.write",)
    assert [entry.reason for entry in entries(grants.REVOKED)] == ["gone mad"] * 2


def test_a_stopped_agent_is_given_nothing(make_token):
    make_token(capabilities=())
    agents.switch_agent(shell(), space="home", name="alice", active=False)
    with pytest.raises(Conflict, match="suspended"):
        give()


def test_a_stop_that_is_not_written_down_takes_nothing_back(make_token, monkeypatch):
    token = make_token(capabilities=())
    give()

    def no_room(*args, **kwargs):
        raise RuntimeError("the chain cannot be written")

    monkeypatch.setattr(audit.chain, "_head_for_writing", no_room)
    with pytest.raises(RuntimeError):
        agents.switch_agent(shell(), space="home", name="alice", active=False)
    monkeypatch.undo()
    assert holds(token) == ("grains.read",)


# Who did it ----------------------------------------------------------------------------------------


def test_it_is_on_the_chain_of_the_agents_space_by_the_names_readers_look_for(make_token, space):
    make_token(capabilities=())
    made = give(expires_at="2090-01-01T00:00:00Z", reason="month end")
    grants.revoke(shell(), grant=made["id"], reason="done")
    (granted,), (revoked,) = entries("capability_granted"), entries("capability_revoked")
    for entry, reason in ((granted, "month end"), (revoked, "done")):
        assert (entry.chain, entry.object, entry.reason) == (space.uuid.hex, made["id"], reason)
        assert (entry.actor, entry.outcome) == (shell().actor, "done")
    assert json.loads(granted.details) == {
        "verb": "grants.give",
        "agent": "alice",
        "capability": "grains.read",
        "expires_at": "2090-01-01T00:00:00.000000Z",
    }
    assert json.loads(revoked.details) == {"verb": "grants.revoke", "agent": "alice", "capability": "grains.read"}
    assert audit.verify(space.uuid.hex).sound
    row = Grant.objects.get()
    assert (row.granted_by, row.reason) == (shell().actor, "month end")


def test_followers_of_the_space_hear_of_it(make_token, space):
    make_token(capabilities=())
    grants.revoke(shell(), grant=give()["id"])
    kinds = Event.objects.filter(kind__startswith="grant.").order_by("id").values_list("kind", "space")
    assert list(kinds) == [("grant.given", space.pk), ("grant.revoked", space.pk)]


def test_a_repeat_under_one_key_gives_once(make_token):
    make_token(capabilities=())
    assert give(idempotency_key="k") == give(idempotency_key="k")
    assert Grant.objects.count() == 1
