"""Trust levels: the most an agent may do; a lower level takes effect with the next request."""

from __future__ import annotations

import json
import re

import pytest

from accounts import agents, grants, tokens, trust
from accounts.capabilities import OPERATIONS
from accounts.models import Agent, AuditEntry
from accounts.principals import shell
from fluxcore.errors import AboveTrust, Forbidden, Invalid
from tests.docs.pages import table
from tests.docs.tables import API


def test_each_level_reaches_more_than_the_one_below():
    assert trust.LEVELS == ("untrusted", "sandboxed", "trusted", "privileged")
    for lower, higher in zip(trust.LEVELS, trust.LEVELS[1:], strict=False):
        assert trust.REACH[lower] < trust.REACH[higher]
    assert trust.REACH["privileged"] == OPERATIONS


def test_the_untrusted_only_read_and_the_sandboxed_write_nothing_others_rely_on():
    assert all(operation.endswith(".read") for operation in trust.REACH["untrusted"])
    assert not trust.REACH["sandboxed"] & {"grains.write", "bb.write", "artifacts.write"}


def test_the_first_agent_of_an_instance_is_within_what_is_usual(space):
    made = agents.create_agent(shell(), space="home", name="a", capabilities=list(agents.EVERYDAY_CAPABILITIES))
    assert made["trust"] == "trusted"


@pytest.mark.parametrize("operation", sorted(OPERATIONS))
@pytest.mark.parametrize("level", trust.LEVELS)
def test_an_agent_is_made_within_its_level_or_not_at_all(space, level, operation):
    def make():
        return agents.create_agent(shell(), space="home", name="a", capabilities=[operation], trust=level)

    if operation in trust.REACH[level]:
        assert make()["trust"] == level
    else:
        with pytest.raises(AboveTrust) as refusal:
            make()
        needed = refusal.value.details["needed"]
        assert operation in trust.REACH[needed]
        assert trust.LEVELS.index(needed) > trust.LEVELS.index(level)
        assert not Agent.objects.exists()


def test_lowered_it_clips_own_capabilities_and_grants_at_once_and_raised_it_gives_them_back(make_token, as_agent):
    token = make_token(capabilities=("grains.write", "grains.read"))
    grants.give(shell(), space="home", agent="alice", capability="metrics.read")
    api = as_agent(token)

    def statuses():
        store = api.post("/store", {"content": "x"}).status_code
        return store, api.get("/grains").status_code, api.get("/metrics").status_code

    assert statuses() == (200, 200, 200)
    agents.set_trust(shell(), space="home", name="alice", trust="sandboxed", reason="strange texts")
    assert statuses() == (403, 200, 403)
    assert tokens.authenticate(token).capabilities.texts == ("grains.read",)
    agents.set_trust(shell(), space="home", name="alice", trust="trusted")
    assert statuses() == (200, 200, 200)
    entry = AuditEntry.objects.filter(action="agents.set_trust").order_by("id")[0]
    assert (entry.reason, json.loads(entry.details)) == (
        "strange texts",
        {"name": "alice", "before": "privileged", "after": "sandboxed"},
    )


@pytest.mark.parametrize("level", ["", "Trusted", "root", None, 3, ["trusted"]])
def test_a_level_that_is_none_is_named(space, level):
    agents.create_agent(shell(), space="home", name="alice", capabilities=[])
    with pytest.raises(Invalid) as refusal:
        agents.set_trust(shell(), space="home", name="alice", trust=level)
    assert refusal.value.details["field"] == "trust"


def test_applying_keeps_the_level_unless_it_says_one(space):
    def apply(*wanted, **more):
        return agents.apply_agent(shell(), space="home", name="alice", capabilities=list(wanted), **more)

    assert apply("grains.read", trust="untrusted")["trust"] == "untrusted"
    with pytest.raises(AboveTrust):
        apply("grains.write")
    assert apply("health.read")["trust"] == "untrusted"
    raised = apply("grains.write", trust="trusted")
    assert (raised["trust"], raised["changed"]) == ("trusted", True)
    assert apply("grains.write", trust="trusted")["changed"] is False


def test_an_agent_cannot_raise_itself(principal):
    with pytest.raises(Forbidden):
        agents.set_trust(principal, space="home", name="alice", trust="privileged")


def test_the_documented_reach_of_each_level_is_the_real_one():
    reached: set[str] = set()
    for level, cell in table(API, "Authentication"):
        reached |= set(re.findall(r"`([a-z]+\.[a-z]+)`", cell)) if level != "`privileged`" else OPERATIONS
        assert reached == trust.REACH[level.strip("`")]
