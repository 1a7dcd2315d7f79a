"""Spaces and agents: made, changed and switched off by people and the shell."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction

from accounts import capabilities as caps
from accounts.models import Agent, Space
from accounts.names import check_name
from accounts.principals import find_space
from accounts.tokens import find_agent
from accounts.verbs import Act, Change, verb
from fluxcore import clock
from fluxcore.errors import Conflict

# What the first agent of a new instance may do: use its memory in every way, administer nothing.
EVERYDAY = (
    "grains.read", "grains.write", "grains.feedback", "memory.read:*", "memory.write:*", "bb.read:*", "bb.write:*",
    "artifacts.read:*", "artifacts.write:*", "artifacts.propose:*", "transcript.read:*", "transcript.write:*",
    "health.read",
)  # fmt: skip


@verb("spaces.create", needs="accounts.manage")
def create_space(act: Act, *, name: str) -> Change:
    check_name(name, what="a space")

    def change() -> dict[str, Any]:
        try:
            with transaction.atomic():
                space = Space.objects.create(name=name, created_at=clock.now())
        except IntegrityError:
            raise Conflict(f"There is already a space named {name!r}.", space=name) from None
        act.record(str(space.uuid), name=name)
        return describe_space(space)

    return change


@verb("agents.create", needs="accounts.manage")
def create_agent(act: Act, *, space: str, name: str, capabilities: list[str]) -> Change:
    check_name(name, what="an agent")
    wanted = caps.check(capabilities)
    home = find_space(space)

    def change() -> dict[str, Any]:
        try:
            with transaction.atomic():
                agent = Agent.objects.create(space=home, name=name, capabilities=wanted, created_at=clock.now())
        except IntegrityError:
            raise Conflict(f"There is already an agent {name!r} in space {space!r}.", agent=name) from None
        act.record(str(agent.uuid), chain=home.uuid.hex, name=name, capabilities=wanted)
        return describe_agent(agent)

    return change


@verb("agents.apply", needs="accounts.manage")
def apply_agent(act: Act, *, space: str, name: str, capabilities: list[str]) -> Change:
    """Make the agent hold exactly these capabilities, creating it if it is new."""
    check_name(name, what="an agent")
    wanted = caps.check(capabilities)
    home = find_space(space)

    def change() -> dict[str, Any]:
        agent, created = Agent.objects.get_or_create(
            space=home, name=name, defaults={"capabilities": wanted, "created_at": clock.now()}
        )
        before = agent.capabilities
        if not created and before != wanted:
            Agent.objects.filter(pk=agent.pk).update(capabilities=wanted)
            agent.capabilities = wanted
        act.record(str(agent.uuid), chain=home.uuid.hex, name=name, before=[] if created else before, after=wanted)
        return {**describe_agent(agent), "created": created, "changed": created or before != wanted}

    return change


@verb("agents.switch", needs="accounts.manage")
def switch_agent(act: Act, *, space: str, name: str, active: bool) -> Change:
    """Stop or resume all tokens of an agent at once."""
    agent = find_agent(space, name)

    def change() -> dict[str, Any]:
        Agent.objects.filter(pk=agent.pk).update(active=active)
        agent.active = active
        act.record(str(agent.uuid), chain=agent.space.uuid.hex, name=name, active=active)
        return describe_agent(agent)

    return change


def describe_space(space: Space) -> dict[str, Any]:
    return {"id": str(space.uuid), "name": space.name, "created_at": clock.rfc3339(space.created_at)}


def describe_agent(agent: Agent) -> dict[str, Any]:
    return {
        "id": str(agent.uuid),
        "name": agent.name,
        "space": agent.space.name,
        "capabilities": agent.capabilities,
        "active": agent.active,
        "created_at": clock.rfc3339(agent.created_at),
    }
