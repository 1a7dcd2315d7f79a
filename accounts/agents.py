"""Verbs on spaces and agents: create, change, suspend."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction

from accounts import capabilities as caps
from accounts import effective_capabilities, grants, tool_groups
from accounts import trust as trust_levels
from accounts.models import Agent, Space
from accounts.names import check_name
from accounts.principals import find_space
from accounts.tokens import find_agent
from accounts.verbs import Change, RunningCall, verb
from fluxcore import clock
from fluxcore.errors import AboveParent, Conflict, Invalid

# Capabilities of the first agent of a new instance: all of its memory, no administration.
EVERYDAY_CAPABILITIES = (
    "grains.read",
    "grains.write",
    "grains.feedback",
    "memory.read:*",
    "memory.write:*",
    "bb.read:*",
    "bb.write:*",
    "artifacts.read:*",
    "artifacts.write:*",
    "artifacts.propose:*",
    "transcript.read:*",
    "transcript.write:*",
    "health.read",
)


@verb("spaces.create", needs="instance.manage")
def create_space(call: RunningCall, *, name: str) -> Change:
    check_name(name, what="a space")

    def change() -> dict[str, Any]:
        try:
            with transaction.atomic():
                space = Space.objects.create(name=name, created_at=clock.now())
        except IntegrityError:
            raise Conflict(f"There is already a space named {name!r}. Choose another name.", space=name) from None
        call.record(str(space.uuid), name=name)
        return describe_space(space)

    return change


@verb("agents.create", needs="accounts.manage")
def create_agent(
    call: RunningCall,
    *,
    space: str,
    name: str,
    capabilities: list[str],
    trust: str | None = None,
    parent: str | None = None,
) -> Change:
    """Create an agent. Default trust level: trusted, or its parent's if that is lower."""
    check_name(name, what="an agent")
    wanted = caps.check(capabilities)
    owner_space = find_space(space, call.principal)
    above = _find_parent(owner_space, parent)
    level = _checked_trust(trust, above)
    effective_capabilities.check(level, above, wanted)

    def change() -> dict[str, Any]:
        try:
            with transaction.atomic():
                agent = Agent.objects.create(
                    space=owner_space, name=name, capabilities=wanted, trust=level, parent=above, created_at=clock.now()
                )
        except IntegrityError:
            raise Conflict(
                f"There is already an agent named {name!r} in space {space!r}. Choose another name.", agent=name
            ) from None
        call.record(
            str(agent.uuid), chain=owner_space.uuid.hex, name=name, capabilities=wanted, trust=level, **_child_of(above)
        )
        return describe_agent(agent)

    return change


@verb("agents.apply", needs="accounts.manage")
def apply_agent(
    call: RunningCall,
    *,
    space: str,
    name: str,
    capabilities: list[str],
    trust: str | None = None,
    parent: str | None = None,
    instead_of: list[str] | None = None,
) -> Change:
    """Set the capabilities of an agent, creating it if it is new. The trust level is kept unless it is given.

    With `instead_of`, only if these are still its capabilities, so that concurrent changes are not undone.
    """
    check_name(name, what="an agent")
    wanted = caps.check(capabilities)
    owner_space = find_space(space, call.principal)
    known = Agent.objects.select_related("parent").filter(space=owner_space, name=name).first()
    if known is not None and parent is not None and (known.parent is None or known.parent.name != parent):
        raise Conflict(
            f"The parent of an agent cannot be changed; {name!r} was created without the parent {parent!r}.", agent=name
        )
    above = known.parent if known is not None else _find_parent(owner_space, parent)
    level = _checked_trust(trust or (known.trust if known is not None else None), above)
    effective_capabilities.check(level, above, wanted)

    def change() -> dict[str, Any]:
        agent, created = Agent.objects.get_or_create(
            space=owner_space,
            name=name,
            defaults={"capabilities": wanted, "trust": level, "parent": above, "created_at": clock.now()},
        )
        if not created:
            # Read it again under a lock: trust level or capabilities may have changed since the first read.
            agent = Agent.objects.select_for_update(of=("self",)).select_related("space", "parent").get(pk=agent.pk)
        old, old_trust = agent.capabilities, agent.trust
        kept = level if created or trust is not None else old_trust
        if instead_of is not None and old != instead_of:
            raise Conflict(
                "The capabilities have changed since you opened the form. Reload it and try again.",
                agent=name,
                now=old,
            )
        effective_capabilities.check(kept, agent.parent, wanted)
        changed = created or (old, old_trust) != (wanted, kept)
        if changed and not created:
            Agent.objects.filter(pk=agent.pk).update(capabilities=wanted, trust=kept)
            agent.capabilities, agent.trust = wanted, kept
        extra = {"trust": kept} if created or old_trust != kept else {}
        call.record(
            str(agent.uuid),
            chain=owner_space.uuid.hex,
            name=name,
            before=[] if created else old,
            after=wanted,
            **extra,
            **(_child_of(above) if created else {}),
        )
        return {**describe_agent(agent), "created": created, "changed": changed}

    return change


@verb("agents.set_trust", needs="accounts.manage")
def set_trust(call: RunningCall, *, space: str, name: str, trust: str) -> Change:
    """Set the maximum trust level of an agent, which limits its capabilities from its next request."""
    agent = find_agent(space, name, call.principal)
    level = _checked_trust(trust_levels.check_level(trust), agent.parent)

    def change() -> dict[str, Any]:
        old = Agent.objects.values_list("trust", flat=True).get(pk=agent.pk)
        Agent.objects.filter(pk=agent.pk).update(trust=level)
        agent.trust = level
        call.record(str(agent.uuid), chain=agent.space.uuid.hex, name=name, before=old, after=level)
        return {**describe_agent(agent), "changed": old != level}

    return change


@verb("agents.set_must_rate", needs="accounts.manage")
def set_must_rate(call: RunningCall, *, space: str, name: str, must_rate: bool) -> Change:
    """Set whether missing feedback blocks further recalls of the agent, or only gives a reminder."""
    if not isinstance(must_rate, bool):
        raise Invalid("must_rate must be true or false.", field="must_rate")
    agent = find_agent(space, name, call.principal)

    def change() -> dict[str, Any]:
        changed = Agent.objects.filter(pk=agent.pk).exclude(must_rate=must_rate).update(must_rate=must_rate)
        agent.must_rate = must_rate
        call.record(str(agent.uuid), chain=agent.space.uuid.hex, name=name, must_rate=must_rate)
        return {**describe_agent(agent), "changed": bool(changed)}

    return change


@verb("agents.set_tools", needs="accounts.manage")
def set_tools(call: RunningCall, *, space: str, name: str, tools: list[str]) -> Change:
    """Set the groups of MCP tools an agent sees in addition to the default ones. Its capabilities do not change."""
    wanted = tool_groups.check(tools)
    agent = find_agent(space, name, call.principal)

    def change() -> dict[str, Any]:
        old = Agent.objects.values_list("tools", flat=True).get(pk=agent.pk)
        Agent.objects.filter(pk=agent.pk).update(tools=wanted)
        agent.tools = wanted
        call.record(str(agent.uuid), chain=agent.space.uuid.hex, name=name, before=old, after=wanted)
        return {**describe_agent(agent), "changed": old != wanted}

    return change


@verb("agents.switch", needs="accounts.manage")
def switch_agent(call: RunningCall, *, space: str, name: str, active: bool) -> Change:
    """Suspend or reactivate an agent with its tokens and the agents below it. Suspending revokes its grants."""
    agent = find_agent(space, name, call.principal)

    def change() -> dict[str, Any]:
        Agent.objects.filter(pk=agent.pk).update(active=active)
        agent.active = active
        revoked, declined = (0, 0) if active else grants.end_all(call, agent)
        ended: dict[str, Any] = {}
        if revoked or declined:
            ended = {"grants_revoked": revoked, "requests_declined": declined}
        call.record(str(agent.uuid), chain=agent.space.uuid.hex, name=name, active=active, **ended)
        return {**describe_agent(agent), "grants_revoked": revoked}

    return change


def _find_parent(owner_space: Space, name: str | None) -> Agent | None:
    if name is None:
        return None
    parent = find_agent(owner_space.name, name)
    if effective_capabilities.count_ancestors(parent) >= effective_capabilities.MAX_ANCESTORS:
        raise Invalid(
            "The chain of parents is too long: an agent can have at most "
            f"{effective_capabilities.MAX_ANCESTORS} agents above it.",
            field="parent",
        )
    return parent


def _checked_trust(trust: str | None, parent: Agent | None) -> str:
    """A valid trust level under that parent; by default `trusted`, or the parent's if that is lower."""
    rank = trust_levels.LEVELS.index
    if trust is None:
        default = Agent.Trust.TRUSTED.value
        return default if parent is None or rank(parent.trust) >= rank(default) else parent.trust
    level = trust_levels.check_level(trust)
    if parent is not None and rank(level) > rank(parent.trust):
        raise AboveParent(
            f"capability escalation denied: the trust level of its parent {parent.name} is {parent.trust}.",
            trust=level,
            parent=parent.name,
        )
    return level


def _child_of(parent: Agent | None) -> dict[str, str]:
    return {"parent": parent.name} if parent is not None else {}


def describe_space(space: Space) -> dict[str, Any]:
    return {"id": str(space.uuid), "name": space.name, "created_at": clock.rfc3339(space.created_at)}


def describe_agent(agent: Agent) -> dict[str, Any]:
    return {
        "id": str(agent.uuid),
        "name": agent.name,
        "space": agent.space.name,
        "capabilities": agent.capabilities,
        "trust": str(agent.trust),
        "parent": agent.parent.name if agent.parent is not None else None,
        "active": agent.active,
        "must_rate": agent.must_rate,
        "tools": agent.tools,
        "created_at": clock.rfc3339(agent.created_at),
    }
