"""Parents of agents: an agent never has a capability that an ancestor lacks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from accounts import agents, effective_capabilities, grants, tokens
from accounts.models import Agent, AuditEntry
from accounts.principals import shell
from fluxcore.errors import AboveParent, Conflict, Invalid, NotFound, Unauthenticated

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
READ, WRITE = "memory.read:notes/*", "memory.write:notes/*"


def narrow(name, *capabilities):
    agents.apply_agent(shell(), space="home", name=name, capabilities=list(capabilities))


def holds(token):
    return tokens.authenticate(token).capabilities


@pytest.fixture
def child(make_token):
    """A child that may all its parent may."""
    make_token("parent", capabilities=("memory.read", "memory.write:notes/**", "grains.read"))
    return make_token("child", capabilities=("memory.read:*", WRITE, "grains.read"), parent="parent")


def test_it_is_made_with_no_more_than_its_parent_holds(child):
    for capability in ("grains.write", "memory.write", "memory.write:*", "memory.write:other/*", "memory.write:**"):
        with pytest.raises(AboveParent, match="capability escalation denied") as refusal:
            agents.create_agent(shell(), space="home", name="x", capabilities=[capability], parent="parent")
        assert refusal.value.details == {"capability": capability, "parent": "parent"}
    assert not Agent.objects.filter(name="x").exists()
    entry = AuditEntry.objects.filter(action="agents.create", outcome="refused")
    assert entry.count() == 5


def test_it_holds_less_as_soon_as_its_parent_does(child, as_agent):
    api = as_agent(child)
    assert api.get("/grains").status_code == 200
    narrow("parent", "memory.read:notes/a*")
    held = holds(child)
    assert held.allow("memory.read", "notes/ab")
    assert not held.allow("memory.read", "notes/b")
    assert not held.allow("memory.read")
    assert not held.allow("memory.write", "notes/ab")
    assert api.get("/grains").status_code == 403
    assert held.texts == ("memory.read:notes/a*",)


def test_where_two_globs_only_overlap_it_holds_what_they_share(make_token):
    make_token("parent", capabilities=("memory.read:*/b",))
    token = make_token("child", capabilities=(), parent="parent")
    Agent.objects.filter(name="child").update(capabilities=["memory.read:a/*"])
    held = holds(token)
    assert held.allow("memory.read", "a/b")
    assert not held.allow("memory.read", "a/c")
    assert not held.allow("memory.read", "c/b")


def test_a_parents_lowered_trust_and_revoked_or_expired_grants_reach_it(make_token):
    with time_machine.travel(NOON, tick=False) as moved:
        make_token("parent", capabilities=(), trust="trusted")
        token = make_token("child", capabilities=(), parent="parent", trust="trusted")

        def give(agent, **more):
            return grants.give(shell(), space="home", agent=agent, capability="grains.write", **more)

        with pytest.raises(AboveParent):
            give("child")
        give("parent", expires_at="2026-11-16T13:00:00Z")
        give("child")
        assert holds(token).allow("grains.write")
        agents.set_trust(shell(), space="home", name="parent", trust="sandboxed")
        assert not holds(token).allow("grains.write")
        agents.set_trust(shell(), space="home", name="parent", trust="trusted")
        assert holds(token).allow("grains.write")
        moved.shift(timedelta(hours=1))
        assert not holds(token).allow("grains.write")
        again = give("parent")
        assert holds(token).allow("grains.write")
        grants.revoke(shell(), grant=again["id"])
        assert not holds(token).allow("grains.write")


def test_a_stopped_parent_stops_it(child, as_agent):
    agents.switch_agent(shell(), space="home", name="parent", active=False)
    with pytest.raises(Unauthenticated):
        tokens.authenticate(child)
    assert as_agent(child).get("/grains").status_code == 401
    agents.switch_agent(shell(), space="home", name="parent", active=True)
    assert as_agent(child).get("/grains").status_code == 200


def test_the_whole_line_counts(make_token):
    line = ["a", "b", "c", "d", "e"]
    tokens_of = {
        name: make_token(name, capabilities=(READ, "grains.read"), parent=above)
        for above, name in zip([None, *line], line, strict=False)
    }
    narrow("b", "grains.read")
    assert [holds(tokens_of[name]).allow("memory.read", "notes/x") for name in line] == [True] + [False] * 4
    assert all(holds(token).allow("grains.read") for token in tokens_of.values())
    agents.switch_agent(shell(), space="home", name="a", active=False)
    for token in tokens_of.values():
        with pytest.raises(Unauthenticated):
            tokens.authenticate(token)


def test_a_line_has_an_end(make_token):
    above = None
    for name in "abcde":
        make_token(name, capabilities=(), parent=above)
        above = name
    with pytest.raises(Invalid) as refusal:
        agents.create_agent(shell(), space="home", name="f", capabilities=[], parent="e")
    assert refusal.value.details["field"] == "parent"


def test_a_circle_made_behind_our_back_lets_nobody_in(make_token):
    make_token("a", capabilities=())
    token = make_token("b", capabilities=(), parent="a")
    Agent.objects.filter(name="a").update(parent=Agent.objects.get(name="b"))
    with pytest.raises(Unauthenticated):
        tokens.authenticate(token)
    assert effective_capabilities.capabilities_of(Agent.objects.get(name="a")).texts == ()


@pytest.mark.parametrize(("ancestors", "statements"), [(0, 1), (1, 2), (4, 5)])
def test_it_costs_a_statement_for_each_ancestor(make_token, django_assert_num_queries, ancestors, statements):
    above = None
    for name in "abcde"[: ancestors + 1]:
        token = make_token(name, capabilities=("grains.read",), parent=above)
        grants.give(shell(), space="home", agent=name, capability="health.read")
        above = name
    tokens.authenticate(token)
    with django_assert_num_queries(statements):
        assert holds(token).texts == ("grains.read", "health.read")


def test_it_is_trusted_no_further_than_its_parent(space):
    agents.create_agent(shell(), space="home", name="parent", capabilities=[], trust="sandboxed")
    with pytest.raises(AboveParent):
        agents.create_agent(shell(), space="home", name="x", capabilities=[], parent="parent", trust="trusted")
    made = agents.create_agent(shell(), space="home", name="child", capabilities=[], parent="parent")
    assert (made["trust"], made["parent"]) == ("sandboxed", "parent")
    with pytest.raises(AboveParent):
        agents.set_trust(shell(), space="home", name="child", trust="privileged")
    agents.create_agent(shell(), space="home", name="big", capabilities=[], trust="privileged")
    assert agents.create_agent(shell(), space="home", name="c", capabilities=[], parent="big")["trust"] == "trusted"


def test_its_parent_is_of_its_space_and_for_life(make_token, child):
    make_token("stranger", space="elsewhere")
    make_token("other")
    with pytest.raises(NotFound):
        agents.create_agent(shell(), space="home", name="x", capabilities=[], parent="stranger")
    for parent in ("other", "nobody"):
        with pytest.raises(Conflict, match="cannot be changed"):
            agents.apply_agent(shell(), space="home", name="child", capabilities=[], parent=parent)
    kept = agents.apply_agent(shell(), space="home", name="child", capabilities=["grains.read"], parent="parent")
    assert kept["parent"] == "parent"
    assert agents.apply_agent(shell(), space="home", name="child", capabilities=[])["parent"] == "parent"


def test_a_stopped_agent_holds_nothing_to_pass_on(space):
    agents.create_agent(shell(), space="home", name="parent", capabilities=["grains.read"])
    agents.switch_agent(shell(), space="home", name="parent", active=False)
    assert effective_capabilities.capabilities_of(Agent.objects.get(name="parent")).texts == ()
    with pytest.raises(AboveParent):
        agents.create_agent(shell(), space="home", name="child", capabilities=["grains.read"], parent="parent")


def test_what_is_held_is_listed_in_the_words_it_was_given_in(make_token):
    make_token("parent", capabilities=("memory.read", "bb.read:*"))
    token = make_token("child", capabilities=("memory.read:*", "bb.read"), parent="parent")
    assert holds(token).texts == ("bb.read", "memory.read:*")
