"""Spaces and agents: create, change, suspend, each with its entry on the right chain."""

from __future__ import annotations

import json

import pytest

from accounts import agents
from accounts.models import Agent, AuditEntry, Space
from accounts.principals import find_space, shell
from fluxcore.errors import Conflict, Forbidden, Invalid, NotFound


def last():
    return AuditEntry.objects.order_by("-id")[0]


def test_a_space_is_made_once(db):
    made = agents.create_space(shell(), name="home", reason="first")
    assert made["name"] == "home"
    with pytest.raises(Conflict) as refusal:
        agents.create_space(shell(), name="home")
    assert refusal.value.details == {"space": "home"}
    assert Space.objects.count() == 1
    entry = last()
    assert (entry.chain, entry.action, entry.object) == ("instance", "spaces.create", made["id"])
    assert (entry.outcome, entry.reason, json.loads(entry.details)) == ("done", "first", {"name": "home"})


def test_an_agent_is_made_once_in_its_space(space):
    made = agents.create_agent(shell(), space="home", name="alice", capabilities=["grains.write", "grains.read"])
    assert made["capabilities"] == ["grains.read", "grains.write"]
    assert made["active"] is True
    with pytest.raises(Conflict):
        agents.create_agent(shell(), space="home", name="alice", capabilities=[])
    assert (last().chain, last().object) == (space.uuid.hex, made["id"])


def test_two_spaces_may_each_have_an_agent_of_a_name(space):
    agents.create_space(shell(), name="away")
    for name in ("home", "away"):
        agents.create_agent(shell(), space=name, name="alice", capabilities=[])
    assert Agent.objects.filter(name="alice").count() == 2


@pytest.mark.parametrize("name", ["", "Alice", "-a", "a" * 65])
def test_bad_names_are_refused(space, name):
    for call in (
        lambda: agents.create_space(shell(), name=name),
        lambda: agents.create_agent(shell(), space="home", name=name, capabilities=[]),
        lambda: agents.apply_agent(shell(), space="home", name=name, capabilities=[]),
    ):
        with pytest.raises(Invalid):
            call()


def test_an_absent_space_is_named(db):
    with pytest.raises(NotFound) as refusal:
        agents.create_agent(shell(), space="nowhere", name="alice", capabilities=[])
    assert refusal.value.details == {"space": "nowhere"}
    with pytest.raises(NotFound):
        find_space("nowhere")
    with pytest.raises(NotFound):
        agents.switch_agent(shell(), space="nowhere", name="alice", active=False)


def test_applying_makes_and_then_changes_and_then_leaves_alone(space):
    def apply(*wanted):
        return agents.apply_agent(shell(), space="home", name="alice", capabilities=list(wanted))

    first = apply("grains.read")
    assert (first["created"], first["changed"]) == (True, True)
    second = apply("grains.write")
    assert (second["created"], second["changed"], second["capabilities"]) == (False, True, ["grains.write"])
    assert json.loads(last().details) == {"name": "alice", "before": ["grains.read"], "after": ["grains.write"]}
    third = apply("grains.write")
    assert (third["created"], third["changed"]) == (False, False)


def test_applying_what_is_not_allowed_changes_nothing(space):
    agents.apply_agent(shell(), space="home", name="alice", capabilities=["grains.read"])
    with pytest.raises(Invalid):
        agents.apply_agent(shell(), space="home", name="alice", capabilities=["grains.read", "purge"])
    assert Agent.objects.get().capabilities == ["grains.read"]


def test_an_agent_cannot_administer_even_itself(principal):
    for call in (
        lambda: agents.create_space(principal, name="mine"),
        lambda: agents.apply_agent(principal, space="home", name="alice", capabilities=["grains.manage"]),
        lambda: agents.switch_agent(principal, space="home", name="alice", active=True),
    ):
        with pytest.raises(Forbidden):
            call()
    assert not Space.objects.filter(name="mine").exists()
    assert Agent.objects.get().capabilities == ["grains.read", "grains.write"]
    assert AuditEntry.objects.filter(outcome="refused", actor="agent:alice").count() == 3


def test_what_the_first_agent_holds_is_valid_and_administers_nothing(space):
    made = agents.create_agent(shell(), space="home", name="a", capabilities=list(agents.EVERYDAY_CAPABILITIES))
    assert made["capabilities"] == sorted(agents.EVERYDAY_CAPABILITIES)
